"""Limits of what the results can show."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Section
from notears_pfl.roi.extract import space_caution


def limits_section(findings: Findings, compared: bool) -> Section:
    """List the limits of this study; ``compared``: whether the method comparison was run."""
    return Section("limits", "Limits", {"limits": list(_limits(findings, compared))})


def _limits(findings: Findings, compared: bool) -> Iterator[tuple[str, str]]:
    audit = findings.tables["scale_audit"]
    same, common = audit["same_direction"].sum(), audit["common_connections"].sum()
    scale = {"subject": "one scaling factor per subject", "roi": "unit variance of each region"}
    yield (
        "Directions depend on scaling",
        f"This study used {scale[findings.config['network']['scale']]}. With the other scaling, "
        f"{same} of the {common} connections found with both, over all networks, have the same "
        "direction. The last table under Networks says how many connections are found on the other "
        "scale at all.",
    )
    yield (
        "Dependence is not causation",
        "An edge means that a linear acyclic model explains the data best with it. Unobserved "
        "common causes, the slow haemodynamic response and feedback loops all rule out a direct "
        "causal interpretation.",
    )
    yield (
        "Volumes are not independent",
        "Consecutive volumes of a scan are correlated. The fit counts each as a sample; the much "
        "smaller effective numbers of samples are given under Provenance.",
    )
    included = findings.cohort.loc[findings.cohort["included"].astype(bool), "participant_id"]
    if any(findings.reports.get(name, {}).get("n_censored") for name in included):
        yield (
            "Scrubbing leaves gaps",
            "Volumes censored by scrubbing are missing from the series. Rows on either side of a "
            "gap look less alike than neighbours are, so effective numbers of samples are somewhat "
            "too large, and Granger's tests take the volume before a gap for the previous one.",
        )
    yield (
        "What federation discloses",
        "Sites share weights, never samples. But one round of weights is enough for the centre to "
        "reconstruct the covariance between regions at a site.",
    )
    yield (
        "Draws overlap",
        "The comparison with other methods draws repeatedly from the same validation subjects. "
        "Tests that assume independent draws give p-values that are too small; the permutation "
        "test does not."
        if compared
        else "The comparison with other methods draws repeatedly from the same validation "
        "subjects, so its draws are not independent. It was not run here.",
    )
    if findings.preprocessed_images:
        yield "Distortion and dropout", _distortion(findings)
    yield from _spaces(findings)
    if findings.has_surrogate_atlas:
        yield (
            "A surrogate atlas",
            f"The regions are {findings.atlas['title']}. They are not that atlas itself, whose "
            "image does not come with this workflow.",
        )
    if findings.kind == "phantom":
        yield (
            "A phantom",
            "These subjects do not exist: their networks and scans are simulated. Nothing here is "
            "evidence about depression.",
        )
    if findings.kind == "timeseries":
        yield (
            "Preprocessing was done elsewhere",
            "The study started from ROI time series. This report cannot assess how they were made.",
        )


def selection_caution(findings: Findings) -> str:
    """Caution where the regions are those that the paper selected for its study; "" elsewhere."""
    is_default = Path(findings.config["rois"]["table"]) == DEFAULT_REGIONS
    if findings.kind == "phantom" or not is_default or findings.left_out.empty:
        return ""
    n, n_out = len(findings.rois), len(findings.left_out)
    without = "" if CEREBELLUM in set(findings.rois["lobe"]) else ", without the cerebellum"
    return (
        f"{n} of {n + n_out} regions were used: the selection of a study of depression{without}. "
        f"Regions that matter to your study may be among the others: to choose, edit a copy of "
        f"{DEFAULT_REGIONS} (rois.table)."
    )


def _spaces(findings: Findings) -> Iterator[tuple[str, str]]:
    """Caution where the atlas and the images are not in the same space; none if no images."""
    spaces = {report["space"] for report in findings.reports.values() if "space" in report}
    for space in sorted(spaces - {findings.atlas["space"]}):
        caution = space_caution(findings.atlas["space"], space)
        yield "Space of atlas and images", caution


# The table of regions with the paper's selection.
DEFAULT_REGIONS = Path("config/rois.tsv")
CEREBELLUM = "Posterior Fossa"
# Regions in which air nearby distorts the field, and the share of a region's voxels without signal
# that counts.
EXPOSED_LOBES, LOST = ("Frontal", "Temporal"), 0.2


def _distortion(findings: Findings) -> str:
    by_whom = (
        "This report cannot tell whether fMRIPrep corrected distortion; see its own."
        if findings.kind == "fmriprep"
        else "No correction for distortion of the BOLD images was applied: near the sinuses and "
        "ear canals they may be millimetres off."
    )
    # Atlases without these lobes: all regions count.
    known_lobes = findings.rois["lobe"].isin(EXPOSED_LOBES)
    exposed = findings.rois.index[known_lobes if known_lobes.any() else slice(None)]
    included = findings.cohort.loc[findings.cohort["included"].astype(bool), "participant_id"]
    known = [r["dropout"] for name in included if "dropout" in (r := findings.reports[name])]
    lost = Counter(name for shares in known for name in exposed if shares[name] > LOST)
    affected = sum(any(shares[name] > LOST for name in exposed) for shares in known)
    most = ", ".join(f"{name} ({n})" for name, n in lost.most_common(5))
    return (
        f"{by_whom} {affected} of {len(known)} included subjects have lost the signal in more than "
        f"{LOST:.0%} of a selected {'frontal or temporal ' if known_lobes.any() else ''}region"
        + (f", most often in {most}." if most else ".")
    )
