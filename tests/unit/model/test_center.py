"""The centre ends where numbers cease."""

import numpy as np
import pytest

from notears_pfl.errors import InputError
from notears_pfl.model.acyclicity import LogDeterminant, TraceExponential
from notears_pfl.model.center import AcyclicCenter
from notears_pfl.model.penalties import L1

ACYCLICITIES = pytest.mark.parametrize("acyclicity", [LogDeterminant(), TraceExponential()])


class OnlyAtTheStart:
    """An h that is defined once: every step leaves its domain."""

    asked = False

    def evaluate(self, Z, s):
        """Answer the first question."""
        first, self.asked = not self.asked, True
        return (np.zeros(len(Z)), np.zeros(Z.shape)) if first else None


def center_of(acyclicity):
    """Give a centre of two sites with four ROIs, in the first stage of the path."""
    center = AcyclicCenter([L1(0.1)], acyclicity, (2, 4, 4), steps=1)
    center.enter_stage(c=1.0, s=1.0)
    return center


@ACYCLICITIES
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_blocks_that_are_not_finite_are_refused(acyclicity, value):
    with pytest.raises(InputError, match=r"must be finite; found .* in T\. Look for a site"):
        center_of(acyclicity).update(np.full((1, 2, 4, 4), value), 0.05, np.ones(4))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_step_that_leaves_the_domain_at_every_size_is_refused():
    with pytest.raises(InputError, match=r"must be finite; found .* in τ\. Look for a site"):
        center_of(OnlyAtTheStart()).update(np.ones((1, 2, 4, 4)), 0.05, np.ones(4))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_stage_does_not_begin_with_networks_that_are_not_finite():
    center = AcyclicCenter([L1(0.1)], LogDeterminant(), (2, 4, 4), steps=1)
    center._Z = np.full((2, 4, 4), np.nan)

    with pytest.raises(InputError, match=r"must be finite; found .* in Z\. Look for a site"):
        center.enter_stage(c=1.0, s=1.0)
