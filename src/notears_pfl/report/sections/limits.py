"""Limits, plainly said."""

from collections.abc import Iterator

from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section


def limits_section(findings: Findings, compared: bool) -> Section:
    """Say what to know before believing; ``compared``: whether the comparison was run."""
    return Section("limits", "Limits", {"limits": list(_limits(findings, compared))})


def _limits(findings: Findings, compared: bool) -> Iterator[tuple[str, str]]:
    audit = findings.tables["scale_audit"]
    same, common = audit["same_direction"].sum(), audit["common_connections"].sum()
    scale = {"subject": "one factor per subject", "roi": "unit variance of every region"}
    yield (
        "Directions rest on scale",
        f"This study used {scale[findings.config['network']['scale']]}. With the other choice, "
        f"{same} of the {common} connections that both have, over all networks, point the same "
        "way. Connections without direction depend on it much less.",
    )
    yield (
        "Dependence is not cause",
        "An edge says that a linear model without cycles explains the data best with it. Unseen "
        "common causes, slow blood flow and feedback loops all break the step from there to a "
        "cause.",
    )
    yield (
        "Volumes are not independent",
        "Neighbouring volumes of a scan are alike. The fit counts them as samples; the effective "
        "numbers, which are much smaller, stand in the table of fits.",
    )
    yield (
        "What federation discloses",
        "Sites give away weights, never samples. But one round of weights is enough for the "
        "centre to reconstruct a site's covariance between regions.",
    )
    yield (
        "Draws overlap",
        "The comparison draws the same validation subjects again and again. A test that takes "
        "the draws for independent makes p-values too small; the permutation test does not."
        if compared
        else "The comparison with other methods draws the same validation subjects again and "
        "again, so that its draws are not independent. It was not run here.",
    )
    if findings.has_surrogate_atlas:
        yield (
            "A surrogate atlas",
            "The regions were grown around the published coordinates of the AAL atlas. They are "
            "not the AAL atlas, whose licence does not let us ship it.",
        )
    if findings.kind == "phantom":
        yield (
            "A phantom",
            "These people do not exist. The networks were made up and the scans computed; nothing "
            "here says anything about depression.",
        )
    if findings.kind == "timeseries":
        yield (
            "Preprocessing was not ours",
            "The study began at ready ROI series. How they were made, and how well, this report "
            "cannot say.",
        )
