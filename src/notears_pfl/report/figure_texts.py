"""What each figure of the page shows, in words: for the reader, and for who cannot see it."""

import re
from collections.abc import Iterable
from pathlib import Path

from notears_pfl.report.embed import Picture, embed_picture
from notears_pfl.report.findings import Findings

NETWORK = re.compile(r"network_group-(\w+)_site-(\w+)_(brain|circle|matrix)")
ALONE = re.compile(r"site_specific_group-(\w+)")
NETWORK_TEXTS = {
    "brain": (
        "Arrows between regions on a glass brain, from three sides",
        "Arrows go from region to region, thicker where the weight is larger; connections between "
        "the hemispheres show from above only. The regions of most arrows are named.",
    ),
    "circle": (
        "Arrows between regions on a circle, ordered by lobe, left hemisphere on the left",
        "Regions by lobe, each hemisphere on its side. Grey names: regions without a connection.",
    ),
    "matrix": (
        "Matrix of weights, from the row's region to the column's",
        "Weights from the row's region to the column's.",
    ),
}


def embed_figures(paths: Iterable[str], findings: Findings) -> dict[str, Picture]:
    """Embed the figures that have words, by the name of their file."""
    pictures = {}
    for path in paths:
        name = _name(path)
        alt, caption = figure_words(name, findings)
        pictures[name] = embed_picture(path, name, alt, caption)
    return pictures


def _name(path: str) -> str:
    """Name of a figure; those of the simulations have their folder's before."""
    stem = Path(path).stem
    return stem.replace("figure_", "simulation_") if "simulate" in Path(path).parts else stem


def figure_words(name: str, findings: Findings) -> tuple[str, str]:
    """Alternative text and caption of a figure."""
    if found := NETWORK.fullmatch(name):
        group, site, kind = found.groups()
        n, alt = findings.sidecars[group, site]["Subjects"], NETWORK_TEXTS[kind][0]
        return f"{alt}: {group} at {site}", (
            f"{group} at {site} (n = {n} discovery subjects). {NETWORK_TEXTS[kind][1]}"
        )
    if found := ALONE.fullmatch(name):
        group = found[1]
        alone = findings.tables["site_specific"]
        n = int((alone["group"] == group).sum())
        return (
            f"Connections of {group} that one site alone has, on a glass brain per site",
            f"{n} connections of {group} that exactly one of {len(findings.sites)} sites has "
            f"(n = {findings.n_subjects[group]} discovery subjects over all sites).",
        )
    return _single(findings)[name]


def _single(findings: Findings) -> dict[str, tuple[str, str]]:
    """Words of the figures that a study has one of."""
    cohort, groups, n_sites = findings.cohort, findings.groups, len(findings.sites)
    people, moved = (
        " and ".join(f"{(among['group'] == group).sum()} {group}" for group in groups)
        for among in (cohort, cohort[cohort.filter(["mean_fd_mm"]).notna().any(axis=1)])
    )
    discovery = " and ".join(f"{n} {group}" for group, n in findings.n_subjects.items())
    simulations = {
        f"simulation_{what}": (
            f"Four metrics of all methods against: {what}",
            f"Simulations: {what}. Points are means over runs; bars, smallest to largest.",
        )
        for what in ("variables", "sites", "perturbation")
    }
    return simulations | {
        "cohort_flow": (
            "Flow of subjects from the table of participants to the two halves, by group",
            "From the table of participants to the two halves of the study "
            f"(n = {people}), with the number at each site.",
        ),
        "cohort_motion": (
            "Mean framewise displacement and share of moved volumes of each subject",
            f"Head motion by site and group, of everyone whose motion is known (n = {moved}); "
            "lines are medians of those included, dashed lines the limits of the study.",
        ),
        "overlap": (
            f"Connections present at all sites, {groups[0]} left and {groups[1]} right, on a "
            "circle by lobe and on a glass brain",
            f"Connections that all {n_sites} sites have (n = {discovery} discovery subjects). "
            "Vermilion: in this group only; grey: in both groups.",
        ),
        "degree": (
            f"Degrees of the regions of highest degree, {groups[0]} against {groups[1]}",
            f"Degrees summed over {n_sites} sites (n = {discovery} discovery subjects); every "
            "region that is in the top list of either group.",
        ),
        "truth": (
            "Precision, recall and F-score of the learned networks against the truth",
            "A point is a group at a site (or a group, for connections of all sites); lines are "
            "means.",
        ),
        "figure_cohort": (
            "The phantom: a T1w head, a BOLD image per site, true networks, movement",
            "The phantom cohort: anatomy, scanners, true networks, and what movement does.",
        ),
        "figure_proportions": (
            "Proportion tests of the tested connections by method, with intervals",
            "How much more often each method finds a connection in patients than in controls.",
        ),
    }
