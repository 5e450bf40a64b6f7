"""Limits of what the results can show."""

from collections.abc import Iterator

from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Section


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
        "direction. The presence of a connection depends much less on scaling.",
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
    if findings.has_surrogate_atlas:
        yield (
            "A surrogate atlas",
            "The regions were grown around the published coordinates of the AAL atlas. They are "
            "not the AAL atlas itself, whose licence does not permit redistribution.",
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
