"""Only a phantom has a known truth, and it is compared with both kinds of estimates."""

import numpy as np

from notears_pfl.report.sections.phantom_truth import truth_figure, truth_section

from ..toy import texts, toy_findings, words


def test_only_a_phantom_has_a_truth(findings, pictures):
    scores = texts(truth_section(findings, pictures).content["scores"])
    other = truth_section(toy_findings("timeseries"), pictures)

    assert scores[0][2:] == ["20", "18", "16", "0.89", "0.80", "0.84"]
    assert "not a phantom" in other.missing


def test_the_truth_is_scored_for_both_stages():
    figure = truth_figure(toy_findings().tables["truth"])

    shown = words(figure)
    assert "from the true ROI series" in shown
    assert "from raw images, preprocessed" in shown
    heights = np.concatenate(
        [c.get_offsets()[:, 1] for c in figure.axes[1].collections if hasattr(c, "get_sizes")]
    )
    np.testing.assert_allclose(heights, 0.8)
