"""AFNI is asked for the shift to our reference time."""

import numpy as np

from notears_pfl.preproc.engines.afni import tshift


def test_slice_timing_gets_the_reference_in_seconds(images):
    line = tshift(images["bold"], 2.0, np.array([0.0, 0.5, 1.0, 1.5]), 0.5).cmdline

    assert line.startswith("3dTshift -Fourier")
    assert "-TR 2s -tzero 0.5" in line
