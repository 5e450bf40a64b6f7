"""The figure of the phantom: what of the truth each stage keeps."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from notears_pfl.report.style import BLUE, GREEN, RC

QUANTITIES = {
    "network": "networks,\nwith\ndirection",
    "skeleton": "networks,\nwithout\ndirection",
    "overlap": "connections\nof all sites",
    "group only": "… of one\ngroup only",
    "site-specific": "connections\nof one site\nonly",
}
STAGES = {
    "true": ("from the true ROI series", GREEN, "D"),
    "preprocessed": ("from raw images, preprocessed", BLUE, "o"),
}
SCORES = {"precision": "precision", "recall": "recall", "f_score": "F-score"}


def truth_figure(truth: pd.DataFrame) -> Figure:
    """Draw precision, recall and F of every quantity; a point per group and site.

    ``truth`` has ``series`` (``true`` or ``preprocessed``), ``quantity`` and the scores.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(10.5, 3.8))
        for axis, (score, title) in zip(
            figure.subplots(1, 3, sharey=True), SCORES.items(), strict=True
        ):
            for offset, (stage, (label, colour, marker)) in zip(
                (-0.15, 0.15), STAGES.items(), strict=True
            ):
                for place, quantity in enumerate(QUANTITIES):
                    chosen = (truth["series"] == stage) & (truth["quantity"] == quantity)
                    values = truth.loc[chosen, score].dropna().to_numpy()
                    at = place + offset + np.linspace(-0.06, 0.06, max(len(values), 1))
                    axis.scatter(
                        at[: len(values)], values, color=colour, marker=marker, s=12, alpha=0.6,
                        label=label if place == 0 else None,
                    )  # fmt: skip
                    if len(values):
                        axis.hlines(
                            values.mean(), place + offset - 0.13, place + offset + 0.13,
                            color=colour, linewidth=2,
                        )  # fmt: skip
            axis.set_title(title)
            axis.set_xticks(range(len(QUANTITIES)), list(QUANTITIES.values()), fontsize=6)
            axis.set_ylim(0, 1.03)
            axis.grid(axis="y", linewidth=0.3)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure
