"""Parts that are there only when their targets were run: the comparison and the simulations."""

from collections.abc import Mapping, Sequence

import pandas as pd

from notears_pfl.report.embed import Picture
from notears_pfl.report.page import Section
from notears_pfl.report.simulation_figures import DESIGN_LABELS, METHOD_LOOKS, METRIC_LABELS
from notears_pfl.report.tables import PageTable, page_table

NOT_RUN = (
    "Not run. `snakemake --cores all {target}` runs it, and `snakemake --cores all` then puts its "
    "results here."
)
OUTDATED = (
    "Results of an earlier run are there, but not of this study as it is now, so they are not "
    "shown. What has changed since: {changed}. `snakemake --cores all {target}` brings them up to "
    "date, and `snakemake --cores all` then puts them here."
)
MOST_NAMED = 5


def _missing(target: str, outdated: Sequence[str] | None) -> str:
    """Say why a target's results are not shown, and how to get them."""
    if not outdated:
        return NOT_RUN.format(target=target)
    more = len(outdated) - MOST_NAMED
    changed = ", ".join(outdated[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return OUTDATED.format(target=target, changed=changed)


def comparison_section(
    tests: pd.DataFrame | None,
    groups: tuple[str, str],
    pictures: Mapping[str, Picture],
    outdated: Sequence[str] | None = None,
) -> Section:
    """Proportion tests of every connection and method, and their figure."""
    title = "Comparison with other methods"
    if tests is None:
        return Section("comparison", title, missing=_missing("comparison", outdated))
    shown = tests.assign(
        connection=tests["from"] + " → " + tests["to"],
        interval=[
            # Signs as in the other columns, and no break within the interval.
            f"{low:+.2f}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high:+.2f}".replace("-", "−")
            for low, high in tests[["low", "high"]].to_numpy()
        ],
    )
    for group in groups:
        shown[group] = [f"{k}/{n}" for k, n in tests[[f"count_{group}", "n_draws"]].to_numpy()]
    titles = {
        "connection": "connection", "source": "tested because", "method": "method",
        groups[0]: f"{groups[0]}: draws", groups[1]: f"{groups[1]}: draws",
        "difference": "difference", "interval": "95 % interval",
        "p_permutation": "p, permutation", "q_permutation": "q, permutation",
        "p_z": "p, z-test of the paper",
    }  # fmt: skip
    formats = {"difference": "+.2f", "p_permutation": ".3g", "q_permutation": ".3g", "p_z": ".2g"}
    n_draws = int(tests["n_draws"].max())
    caption = f"Connections found in draws of validation subjects (n = {n_draws} draws)"
    table = page_table("proportions", caption, shown, titles, formats, interactive=True)
    notes = tests["note"].dropna().unique().tolist() if "note" in tests else []
    picture = pictures.get("figure_proportions")
    return Section("comparison", title, {"tests": table, "picture": picture, "notes": notes})


def simulations_section(
    wins: pd.DataFrame | None,
    cost: pd.DataFrame | None,
    pictures: Mapping[str, Picture],
    outdated: Sequence[str] | None = None,
) -> Section:
    """Figures of the experiments, who is best how often, and what it costs."""
    title = "Simulations"
    if wins is None or cost is None:
        return Section("simulations", title, missing=_missing("simulation", outdated))
    shown = [p for name, p in pictures.items() if name.startswith("simulation_")]
    content = {"tally": _tally(wins), "cost": _cost(cost), "pictures": shown}
    return Section("simulations", title, {**content, "n_runs": int(wins["runs"].min())})


def _tally(wins: pd.DataFrame) -> PageTable:
    counts = wins.groupby(["weights", "best", "metric"], sort=False).size()
    rows = pd.DataFrame(
        [
            {"design": label, "method": look[0]}
            | {metric: int(counts.get((design, method, metric), 0)) for metric in METRIC_LABELS}
            for design, label in DESIGN_LABELS.items()
            if design in wins["weights"].unique()
            for method, look in METHOD_LOOKS.items()
        ]
    )
    n_settings = len(wins[["experiment", "value"]].drop_duplicates())
    titles = {"design": "design", "method": "method", **METRIC_LABELS}
    caption = f"At how many of {n_settings} settings a method has the best mean"
    return page_table("simulation_wins", caption, rows, titles)


def _cost(cost: pd.DataFrame) -> PageTable:
    labels = {method: look[0] for method, look in METHOD_LOOKS.items()}
    keys = ["experiment", "value", "method"]
    # Not a pivot table: even unsorted it may change the order of the rows.
    seconds = cost.groupby(keys, sort=False)["cpu_seconds"].mean().unstack(sort=False)
    titles = {"experiment": "experiment", "value": "value", **labels}
    caption = "CPU seconds for all sites together, choice of the penalties included"
    return page_table(
        "simulation_cost", caption, seconds.reset_index(), titles, dict.fromkeys(labels, ".2f")
    )
