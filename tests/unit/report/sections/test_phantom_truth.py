"""Only a phantom has a known truth, and it is compared with both kinds of estimates."""

import numpy as np

from notears_pfl.report.sections.phantom_truth import truth_figure, truth_section

from ..toy import texts, toy_findings, words


def test_scores_are_means_over_groups_and_sites(findings, pictures):
    scores = texts(truth_section(findings, pictures).content["scores"])

    assert scores[0][2:] == ["20", "18", "16", "0.89", "0.80", "0.84"]


def test_the_truth_is_scored_for_both_stages():
    figure = truth_figure(toy_findings().tables["truth"])

    shown = words(figure)
    assert "from the true ROI series" in shown
    assert "from raw images, preprocessed" in shown
    heights = np.concatenate(
        [c.get_offsets()[:, 1] for c in figure.axes[1].collections if hasattr(c, "get_sizes")]
    )
    np.testing.assert_allclose(heights, 0.8)
