"""The phantom's truth against what was found, per stage."""

from collections.abc import Mapping
from itertools import product

from notears_pfl.report.embed import Picture
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.report.tables import page_table
from notears_pfl.report.truth_figure import QUANTITIES, STAGES


def truth_section(findings: Findings, pictures: Mapping[str, Picture]) -> Section:
    """Scores averaged over groups and sites; only a phantom has a known truth."""
    title = "Truth of the phantom"
    if "truth" not in findings.tables:
        return Section(
            "truth", title, missing="The truth of this study is not known: it is not a phantom."
        )
    truth = findings.tables["truth"]
    scores = ["n_true", "n_found", "n_correct"]
    sums = truth.groupby(["quantity", "series"], sort=False)[scores].sum()
    means = truth.groupby(["quantity", "series"], sort=False)[["precision", "recall", "f_score"]]
    order = [key for key in product(QUANTITIES, STAGES) if key in sums.index]
    table = sums.join(means.mean()).loc[order].reset_index()
    table["quantity"] = table["quantity"].map(lambda name: QUANTITIES[name].replace("\n", " "))
    table["series"] = table["series"].map(lambda name: STAGES[name][0])
    return Section(
        "truth",
        title,
        {
            "picture": pictures["truth"],
            "cohort_picture": pictures.get("figure_cohort"),
            "scores": page_table(
                "truth",
                "What of the truth was found: counts summed, scores averaged, over groups and "
                "sites",
                table,
                {
                    "quantity": "result", "series": "learned", "n_true": "true",
                    "n_found": "found", "n_correct": "correct", "precision": "precision",
                    "recall": "recall", "f_score": "F-score",
                },
                {"precision": ".2f", "recall": ".2f", "f_score": ".2f"},
            ),
        },
    )  # fmt: skip
