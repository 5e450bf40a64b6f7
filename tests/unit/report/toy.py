"""A small made-up study, with every table that the report reads, of any number of subjects."""

import base64
import io
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import yaml
from PIL import Image

from notears_pfl.analysis import chance
from notears_pfl.analysis.counts import connection_counts
from notears_pfl.analysis.degree import degree_totals, degrees, top_degrees
from notears_pfl.analysis.edges import edge_table
from notears_pfl.analysis.judged import (
    judged_counts,
    judged_degrees,
    judged_overlap,
    judged_site_specific,
    judged_top,
    judged_totals,
)
from notears_pfl.analysis.overlap import overlapping_connections, site_specific_connections
from notears_pfl.cohort.balance import balance_table
from notears_pfl.cohort.table_one import flow_table, table_one
from notears_pfl.evidence.bootstrap import Bootstraps
from notears_pfl.evidence.comparison import compare
from notears_pfl.evidence.significance import Draws, summarise, weight_test
from notears_pfl.io.images import write_arrays
from notears_pfl.report.findings import Findings, selected_rois
from notears_pfl.report.page import embed_picture
from notears_pfl.report.registration_drawing import REGISTRATIONS
from notears_pfl.report.sections.run_provenance import Origin
from notears_pfl.report.study_page import figure_captions

ROOT = Path(__file__).parents[3]
GROUPS, SITES = ("MDD", "HC"), ("COI", "KUT", "HUH")
LIMITS = {
    "max_mean_fd_mm": 0.5, "max_share_fd_above": 0.5, "min_volumes": 60,
    "min_bold_t1w_agreement": 0.02,
}  # fmt: skip


AAL = {"family": "AAL", "name": "AAL116", "title": "the AAL atlas", "citation": "tzourio2002aal",
       "space": "MNIColin27"}  # fmt: skip
SURROGATE = AAL | {
    "family": "surrogate", "space": "MNI152NLin2009aSym",
    "title": "a surrogate parcellation around the coordinates of the AAL atlas",
}  # fmt: skip
ATLASES = {"phantom": SURROGATE, "timeseries": AAL, "bids": AAL, "fmriprep": AAL, "srpbs": AAL}


def toy_rois():
    return selected_rois(pd.read_csv(ROOT / "config/rois.tsv", sep="\t"))


def toy_networks(rois, seed=0, sites=SITES, times=1):
    """Give networks that share ten edges, differ by group in three and by site in two.

    ``times`` multiplies these numbers.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rois))

    def draw(n):
        pairs = (sorted(rng.choice(len(rois), 2, replace=False)) for _ in range(n))
        return [(order[i], order[j], rng.choice([-1, 1]) * rng.uniform(0.4, 0.9)) for i, j in pairs]

    shared, networks = draw(10 * times), {}
    for group in GROUPS:
        own = draw(3 * times)
        for site in sites:
            weights = np.zeros((len(rois), len(rois)))
            for i, j, weight in [*shared, *own, *draw(2 * times)]:
                weights[i, j] = weight
            networks[group, site] = pd.DataFrame(weights, index=rois.index, columns=rois.index)
    return networks


def toy_cohort(n_per_cell=4, seed=0, sites=SITES):
    """Give the cohort's table: one subject failed, one moved too much, the others are in."""
    rng = np.random.default_rng(seed)
    rows = [
        {"participant_id": f"sub-{s}{g}{i:03d}", "site": s, "group": g}
        for s in sites
        for g in GROUPS
        for i in range(1, n_per_cell + 1)
    ]
    cohort = pd.DataFrame(rows)
    n = len(cohort)
    cohort["age"] = rng.integers(20, 60, n)
    cohort["sex"] = rng.choice(["F", "M"], n)
    cohort["n_volumes"] = 230.0
    cohort["mean_fd_mm"] = rng.uniform(0.1, 0.4, n)
    cohort["share_fd_above"] = rng.uniform(0, 0.3, n)
    cohort["mean_dvars_percent"] = rng.uniform(1, 2, n)
    cohort["median_tsnr"] = rng.uniform(40, 80, n)
    cohort["bold_t1w_agreement"] = rng.uniform(0.6, 0.9, n)
    cohort["template_agreement"] = rng.uniform(0.9, 0.95, n)
    cohort["degrees_of_freedom"] = 60.0
    cohort["failure"] = None
    cohort["not_enrolled"] = None
    cohort["exclusion"] = None
    cohort.loc[1, "mean_fd_mm"] = 0.71
    cohort.loc[1, "exclusion"] = "motion: mean FD 0.71 > 0.5 mm"
    quality = cohort.columns[cohort.columns.get_loc("n_volumes") :]
    cohort.loc[n - 1, quality] = None
    cohort.loc[n - 1, "failure"] = "sub-9_bold.nii.gz: only 4 volumes <b>"
    cohort.loc[n - 1, "exclusion"] = "failed: sub-9_bold.nii.gz: only 4 volumes <b>"
    cohort["included"] = cohort["exclusion"].isna()
    cohort["split"] = np.where(cohort["included"], "discovery", None)
    cohort.loc[cohort["included"] & cohort["participant_id"].str.endswith("3"), "split"] = (
        "validation"
    )
    return cohort


def toy_evidence(networks, rois, sites=SITES):
    """Give the tables of the evidence, as if labels were permuted twenty times."""
    rng = np.random.default_rng(3)
    weights = chance.stacked_networks(networks, GROUPS, sites, 0)
    found = weights != 0
    tested = np.triu(found.any(axis=(0, 1)) | found.any(axis=(0, 1)).T, k=1)
    differences = rng.normal(scale=0.05, size=(21, tested.sum()))
    # The first tested connection differs between the groups.
    differences[0, 0] = 0.6
    draws = [compare(rng.permuted(found, axis=0)) for _ in range(20)]
    drawn = [compare(found), *draws]
    permuted = summarise(
        tested,
        weight_test(differences, 20 * differences),
        Draws(
            np.arange(21),
            np.array([(f.sites[0] - f.sites[1])[tested] for f in drawn]),
            np.array([f.degree[0] - f.degree[1] for f in drawn]),
            np.array([f.counts for f in drawn]),
        ),
    )
    n_sites = found.sum(axis=1)
    resampled = Bootstraps(
        np.arange(1, 11),
        9 * found.astype(int) + found.swapaxes(2, 3),
        8 * (n_sites == len(sites)),
        7 * (found & (n_sites == 1)[:, None]),
        np.array([compare(found).degree] * 10),
    )
    study = chance.Compared(weights, GROUPS, sites, list(rois.index), permuted, resampled)
    replicated = edge_table(networks, 0).rename(columns={"weight": "weight_discovery"})
    replicated = replicated.assign(
        weight_validation=0.9 * replicated["weight_discovery"], found=replicated.index % 2 == 0
    )
    summary = pd.DataFrame(
        [
            {"group": g, "site": s, "edges": 15, "found": 8, "found_by_chance": 0.2,
             "same_sign": 14, "same_sign_by_chance": 7.5, "in_interval": 12}
            for g in GROUPS for s in sites
        ]
    )  # fmt: skip
    return {
        "evidence_connections": chance.connection_table(study, replicated),
        "evidence_counts": chance.count_table(study, 1e-6),
        "evidence_tested": chance.tested_table(study, weight_test(differences, 20 * differences)),
        "evidence_replication": summary,
        "evidence_degree": chance.degree_table(study),
        "evidence_site_specific": chance.site_specific_table(study),
        "evidence_draws": chance.count_draws(study),
        "evidence_replicated": replicated,
    }


def toy_tables(n_per_cell=4, sites=SITES, times=1):
    """Give every table of results, as read from its file."""
    rois, cohort = toy_rois(), toy_cohort(n_per_cell, sites=sites)
    described = ["age", "sex", "mean_fd_mm"]
    networks = toy_networks(rois, 0, sites, times)
    edges = edge_table(networks, 0)
    degree = degrees(edges, GROUPS, sites, rois.index)
    top = top_degrees(degree, 10)
    audit = pd.DataFrame(
        [
            {
                "group": g, "site": s, "edges": 15, "var_sortability": 0.9, "r2_sortability": 0.7,
                "sort_and_regress_edges": 30, "also_by_sort_and_regress": 11,
                "other_scale_edges": 14, "common_connections": 12, "same_direction": 9,
                "share_same_direction": 0.75,
            }
            for g in GROUPS
            for s in sites
        ]
    )  # fmt: skip
    evidence = toy_evidence(networks, rois, sites)
    counts = connection_counts(edges, GROUPS, sites)
    overlap = overlapping_connections(edges, GROUPS, sites)
    alone = site_specific_connections(edges)
    totals = degree_totals(degree, top, GROUPS)
    blank = cohort.fillna({"failure": "", "not_enrolled": "", "exclusion": "", "split": ""})
    return {
        "rois": rois,
        "cohort": cohort,
        "networks": networks,
        "other_networks": toy_networks(rois, 0, sites, times),
        "edges": edges,
        "flow": flow_table(blank),
        "table_one": table_one(cohort[cohort["included"]], GROUPS, described),
        "balance": balance_table(blank, GROUPS, sites, described),
        "degree": judged_degrees(degree, evidence["evidence_degree"]),
        "degree_top": judged_top(top, evidence["evidence_degree"]),
        "degree_totals": judged_totals(totals, evidence["evidence_counts"]),
        "overlap": judged_overlap(overlap, evidence["evidence_connections"]),
        "site_specific": judged_site_specific(alone, evidence["evidence_site_specific"]),
        "counts": judged_counts(counts, evidence["evidence_counts"]),
        "scale_audit": audit,
        **evidence,
    }


def toy_findings(kind="phantom", n_per_cell=4, sites=SITES, times=1, **changes):
    """Give the findings of the made-up study, as read from a finished run."""
    tables = toy_tables(n_per_cell, sites, times)
    cohort, networks = tables["cohort"], tables.pop("networks")
    pairs = tables.pop("edges")[["from", "to"]].drop_duplicates(ignore_index=True)
    tables["edge_motion"] = pairs.assign(n=22, r=0.12, p=0.6)
    tables["edge_motion"].loc[0, ["r", "p"]] = 0.61, 0.002
    rois, other = tables.pop("rois"), tables.pop("other_networks")
    methods = {
        "drop_volumes": "The first 10 volumes were left out.",
        "regress": "The residuals of a regression on 24 nuisance regressors (the Friston 24 of "
        "head motion), constant and trend were kept.",
    }
    reports = {}
    for name, failure in zip(cohort["participant_id"], cohort["failure"], strict=True):
        failed = {"status": "failed", "reason": failure}
        reports[name] = failed if failure else {"status": "ok", "n_volumes": 230}
        if kind == "phantom" and not failure:
            reports[name]["methods"] = methods
    fit = {
        "Scale": "subject", "SiteOrder": list(sites), "EdgesChangedByReverseSiteOrder": None,
        "Settings": {"penalty": "edgewise", "lambda1": "auto", "lambda2": "auto", "kappa": "auto",
                     "threshold": 0.3},
        "Parameters": {"lambda1": 0.1, "lambda2": 0.2, "kappa": 0.5}, "Converged": True,
        "Rounds": 412, "Doubts": [],
        "Certificate": {"primal_residual": 1e-5, "dual_residual": 2e-5, "path_residual": 1e-3,
                        "h": 1e-4, "acyclic_threshold": 0.05, "objective": 12.5, "start": "path"},
    }  # fmt: skip
    sidecar = {"Subjects": 3, "Samples": 690, "EffectiveSamples": 97.3, "Ties": 0.02,
               "UnclearDirections": 1}  # fmt: skip
    sidecars = dict.fromkeys(networks, sidecar)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["source"]["kind"] = kind
    parts = {
        "kind": kind, "groups": GROUPS, "sites": sites, "rois": rois, "tables": tables,
        "networks": networks, "other_scale": other, "fits": dict.fromkeys(GROUPS, fit),
        "sidecars": sidecars, "reports": reports, "config": config, "atlas": ATLASES[kind],
    }  # fmt: skip
    if kind == "phantom":
        truth = [
            {"series": s, "quantity": q, "group": g, "site": "COI", "n_true": 10, "n_found": 9,
             "n_correct": 8, "precision": 8 / 9, "recall": 0.8, "f_score": 16 / 19}
            for s in ("preprocessed", "true")
            for q in ("network", "skeleton", "overlap", "group only", "site-specific")
            for g in GROUPS
        ]  # fmt: skip
        parts["tables"] = {**tables, "truth": pd.DataFrame(truth)}
        parts["true_networks"] = networks
    return Findings(**{**parts, **changes})


def blank_pictures(findings):
    """Give an embedded picture, one grey pixel each, for every figure of the page."""
    names = ["cohort_flow", "cohort_motion", "overlap", "degree", "truth", "figure_cohort"]
    names += ["evidence", "balance"]
    names += [f"site_specific_group-{group}" for group in findings.groups]
    names += [
        f"network_group-{g}_site-{s}_{kind}"
        for g, s in findings.networks
        for kind in ("brain", "circle", "matrix")
    ]
    pixel = io.BytesIO()
    Image.new("RGB", (1, 1), "grey").save(pixel, "PNG")
    captions = figure_captions(findings)
    return {name: embed_picture(pixel, name, captions[name]) for name in names}


def toy_slices():
    """Give slices that are bright on the left (sagittal ones: at the back), with outlines."""
    slices = {}
    for plane, shape in (
        ("axial", (3, 21, 17)),
        ("coronal", (3, 18, 17)),
        ("sagittal", (3, 18, 21)),
    ):
        image, outline = np.full(shape, 40, np.uint8), np.zeros(shape, np.uint8)
        image[:, :, : shape[2] // 2] = 200
        outline[:, 2, 3:-3], outline[:, 8, 5:-5] = 1, 2
        slices |= {plane: image, f"{plane}_outline": outline, f"{plane}_mm": np.array([-9.0, 0, 9])}
    return slices


def write_toy_slices(folder, cohort):
    """Write the slices of all subjects as a run leaves them: empty from the step that failed on."""
    files = {}
    for name, failure in zip(cohort["participant_id"], cohort["failure"], strict=True):
        files[name] = {kind: [str(folder / f"{name}_{kind}.npz")] for kind in REGISTRATIONS}
        for kind, (path,) in files[name].items():
            if failure and kind == "bold":
                Path(path).touch()
            else:
                write_arrays(toy_slices(), path)
    return files


def toy_origin():
    costs = {"rule": ["cohort"], "jobs": [1], "wall_s": [2.0], "cpu_s": [1.5], "memory_mb": [90.0]}
    return Origin("snakemake --cores 4", {"config/sites.tsv": "0" * 64}, pd.DataFrame(costs))


def texts(table):
    """Give the text of every cell of a table."""
    return [[str(cell.text) for cell in row] for row in table.rows]


def words(figure):
    """Give all text of a figure."""
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def svg_elements(svg, name, kind=None):
    """Give the elements of a drawing by name, and by class if one is given."""
    found = ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{name}")
    return [element for element in found if kind is None or element.get("class") == kind]


def svg_words(svg):
    """Give all text of a drawing."""
    return "\n".join(element.text for element in svg_elements(svg, "text"))


def svg_images(svg):
    """Decode the images in a drawing."""
    coded = [image.get("href").partition("base64,")[2] for image in svg_elements(svg, "image")]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one)))) for one in coded]
