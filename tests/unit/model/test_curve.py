"""The curve of edges falls with the threshold and passes through the fit."""

from notears_pfl import NotearsPFL
from notears_pfl.model.curve import edge_curve


def test_the_curve_passes_through_the_fit_and_falls_with_the_threshold(samples):
    model = NotearsPFL(kappa=0.5).fit(samples)

    curve = {(point.threshold, point.factor): point.edges for point in edge_curve(
        model, thresholds=(0.05, 0.3, 1.1), factors=(0.5, 1.0)
    )}  # fmt: skip

    assert curve[0.3, 1.0] == tuple(model.adjacency_.sum(axis=(1, 2)))
    assert sum(curve[0.05, 1.0]) >= sum(curve[0.3, 1.0]) > sum(curve[1.1, 1.0]) > 0
    assert len(curve) == 6
    assert model.threshold == 0.3
