"""What the report reads of a finished study."""

import json

from notears_pfl.io.tables import write_table
from notears_pfl.report.findings import read_findings

from .toy import GROUPS, ROOT, SITES, toy_findings


class Named(dict):
    """Files or settings of a rule, by name or as attributes, as Snakemake gives them."""

    __getattr__ = dict.__getitem__


def test_every_network_and_fit_is_that_of_its_group_and_site_in_any_order_of_files(tmp_path):
    toy = toy_findings("timeseries")
    inputs = Named(networks=[], other_scale=[], fits=[], reports=[])
    for site in SITES:
        for group in GROUPS:
            path = tmp_path / f"group-{group}_site-{site}_relmat.tsv"
            write_table(toy.networks[group, site], path)
            sidecar = {"Group": group, "Site": site, "Subjects": len(inputs.networks)}
            path.with_suffix(".json").write_text(json.dumps(sidecar))
            inputs.networks.append(str(path))
    for group in reversed(GROUPS):
        path = tmp_path / f"group-{group}_fit.json"
        path.write_text(json.dumps({"Group": group}))
        inputs.fits.append(str(path))
    inputs["other_scale"] = inputs.networks
    for name, table in toy.tables.items():
        write_table(table, tmp_path / f"{name}.tsv", index=False)
        inputs[name] = str(tmp_path / f"{name}.tsv")
    config = {**toy.config, "rois": {**toy.config["rois"], "table": str(ROOT / "config/rois.tsv")}}
    params = Named(config=config, groups=GROUPS, sites=SITES, participants=[])

    found = read_findings(inputs, params)

    assert list(found.networks) == [(group, site) for group in GROUPS for site in SITES]
    for (group, site), sidecar in found.sidecars.items():
        assert (sidecar["Group"], sidecar["Site"]) == (group, site)
        assert sidecar["Subjects"] == 2 * SITES.index(site) + GROUPS.index(group)
    assert [found.fits[group]["Group"] for group in GROUPS] == list(GROUPS)
    assert not found.has_images
    assert list(found.rois.index) == list(toy.rois.index)
