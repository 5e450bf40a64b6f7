"""The page reads a finished study, and shows results of other targets only if they match it."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from notears_pfl.io.provenance import write_record
from notears_pfl.io.tables import write_table
from notears_pfl.report.page_parts import command_for
from notears_pfl.report.sections.method_comparison import comparison_section
from notears_pfl.report.sections.simulations import simulations_section
from notears_pfl.report.study_page import (
    TARGETS,
    Extras,
    read_benchmarks,
    read_extras,
    read_findings,
    study_page,
)

from .toy import AAL, GROUPS, ROOT, SITES, blank_pictures, toy_findings, toy_origin

SETTINGS = {"comparison": {"comparison.n_draws": 2, "seed": 1}, "simulation": {"seed": 1}}
COMPARED, SIMULATED = TARGETS["comparison"], TARGETS["simulation"]
PICTURES = ["results/compare/figure_proportions.png", "results/simulate/figure_sites.png"]


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
    params = Named(config=config, atlas=AAL, groups=GROUPS, sites=SITES, participants=[])

    found = read_findings(inputs, params)

    assert list(found.networks) == [(group, site) for group in GROUPS for site in SITES]
    for (group, site), sidecar in found.sidecars.items():
        assert (sidecar["Group"], sidecar["Site"]) == (group, site)
        assert sidecar["Subjects"] == 2 * SITES.index(site) + GROUPS.index(group)
    assert [found.fits[group]["Group"] for group in GROUPS] == list(GROUPS)
    assert not found.preprocessed_images
    assert list(found.rois.index) == list(toy.rois.index)


def test_benchmarks_are_summed_by_rule(tmp_path):
    (tmp_path / "anatomical").mkdir()
    head = "s\th:m:s\tmax_rss\tmax_vms\tcpu_time\n"
    for name, line in (
        ("anatomical/sub-1", "4.0\t0:00:04\t200.0\t1\t3.0\n"),
        ("anatomical/sub-2", "6.0\t0:00:06\t300.0\t1\t5.0\n"),
        ("cohort", "0.2\t0:00:00\t-\t-\t0\n"),
    ):
        (tmp_path / f"{name}.benchmark.tsv").write_text(head + line)

    costs = read_benchmarks(tmp_path).set_index("rule")

    assert costs.loc["anatomical"].tolist() == [2, 10.0, 8.0, 300.0]
    assert costs.loc["cohort", "jobs"] == 1


def test_no_benchmarks_are_no_error(tmp_path):
    assert read_benchmarks(tmp_path / "logs").empty


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Write results of both targets, of two draws whose networks have one edge each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cohort.tsv").write_text("a\n")
    network = {"set": ["MDD"], "method": ["pfl"]}
    edge = pd.DataFrame({**network, "from": ["A"], "to": ["B"]})
    for target in TARGETS.values():
        for path in target.tables.values():
            write_table(pd.DataFrame({"runs": [1]}), path, index=False)
    write_table(pd.DataFrame(network | {"draw": [1]}).loc[[0, 0]],
                COMPARED.tables["drawn_networks"], index=False)  # fmt: skip
    draws = [f"results/compare/draws/draw-{draw}_edges.tsv" for draw in (1, 2)]
    for path in draws:
        write_table(edge, path, index=False)
    write_record(SETTINGS["comparison"], ["cohort.tsv"], COMPARED.record)
    write_record(SETTINGS["simulation"], [], SIMULATED.record)
    return [*COMPARED.tables.values(), *SIMULATED.tables.values(), *draws, *PICTURES]


def test_results_of_this_study_are_shown(paths):
    extras = read_extras(paths, SETTINGS)

    assert extras.proportion_tests is not None
    assert extras.simulation_wins is not None
    assert extras.pictures == PICTURES
    assert extras.stability["share"].tolist() == [1.0]
    assert not extras.outdated


def test_a_comparison_with_other_settings_is_not_shown_and_what_changed_is_named(paths):
    settings = {**SETTINGS, "comparison": {"comparison.n_draws": 3, "seed": 1}}

    extras = read_extras(paths, settings)

    assert extras.proportion_tests is None
    assert extras.stability is None
    assert extras.simulation_wins is not None
    assert extras.pictures == PICTURES[1:]
    said = comparison_section(None, ("MDD", "HC"), {}, extras.outdated["comparison"]).missing
    assert "Changed since they were computed: comparison.n_draws." in said
    assert "snakemake comparison --cores all" in said


def test_a_comparison_of_other_data_is_not_shown(paths, tmp_path):
    (tmp_path / "cohort.tsv").write_text("b\n")

    assert read_extras(paths, SETTINGS).outdated == {"comparison": ["cohort.tsv"]}


def test_simulations_with_other_settings_or_unknown_ones_are_not_shown(paths, tmp_path):
    other = read_extras(paths, {**SETTINGS, "simulation": {"seed": 2}})
    (tmp_path / SIMULATED.record).unlink()
    unknown = read_extras(paths, SETTINGS)

    for extras in (other, unknown):
        assert extras.simulation_wins is None
        assert extras.pictures == PICTURES[:1]
    assert "seed" in simulations_section(None, None, {}, other.outdated["simulation"]).missing
    assert "is missing" in unknown.outdated["simulation"][0]


@pytest.mark.parametrize("kind", ["phantom", "timeseries"])
def test_sections_without_results_are_not_on_the_page(kind):
    study = toy_findings(kind)
    origin = replace(toy_origin(), command="snakemake --configfile mine.yaml --cores=all")

    page = study_page(study, blank_pictures(study), Extras(), origin).text

    assert ('href="#truth"' in page) == (kind == "phantom")
    assert 'href="#simulations"' not in page
    assert "<code>notears-pfl study run mine.yaml -- simulation</code>" in page


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", "snakemake simulation --cores all"),
        ("snakemake --cores 4", "snakemake simulation --cores all"),
        (
            "snakemake --snakefile S --configfile a.yaml --cores=all",
            "notears-pfl study run a.yaml -- simulation",
        ),
        ("snakemake --configfile=a.yaml all", "notears-pfl study run a.yaml -- simulation"),
        ("snakemake --configfile a.yaml all", "notears-pfl study run a.yaml -- simulation"),
        (
            "snakemake -s S --configfile a.yaml --directory D",
            "snakemake simulation --snakefile S --configfile a.yaml --directory D --cores all",
        ),
        (
            "snakemake -c 4 --config seed=3 -d D",
            "snakemake simulation --config seed=3 --directory D --cores all",
        ),
    ],
)
def test_commands_to_run_are_of_the_same_study(command, expected):
    assert command_for("simulation", command) == expected


def test_of_many_changes_the_first_are_named_and_the_others_counted():
    changed = [f"series-{i}.tsv" for i in range(40)]

    said = comparison_section(None, ("MDD", "HC"), {}, changed).missing

    assert "series-4.tsv and 35 more" in said
    assert "series-5" not in said
