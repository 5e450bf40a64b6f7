"""The methods text says what was done, with the numbers that were used."""

import pytest

from notears_pfl.preproc.clean import CleanOptions
from notears_pfl.preproc.confounds import FRISTON_24
from notears_pfl.preproc.functional import FunctionalOptions, SmoothOptions
from notears_pfl.preproc.methods import anatomical_methods, clean_methods, functional_methods
from notears_pfl.preproc.normalise import NormaliseOptions

FIGURES = {"voxel_mm": 3.0, "slice_reference_time": 1.1875}


def test_the_paper_steps_are_told_with_their_numbers():
    told = functional_methods(FunctionalOptions(), SmoothOptions(), FIGURES, "AAL from aal.nii")

    assert told["drop_volumes"] == "The first 10 volumes were left out."
    assert "1.188 s" in told["slice_timing"]
    assert "6 mm FWHM (spm kernel, effectively 6.66 mm)" in told["smooth"]
    assert "the slice-timed volumes" in told["realign"]
    assert "AAL from aal.nii" in told["roi"]


def test_what_was_not_done_is_told_too():
    figures = {**FIGURES, "slice_reference_time": None}
    options = FunctionalOptions(motion_from="raw")

    told = functional_methods(options, SmoothOptions(fwhm_mm=0), figures, "AAL")

    assert told["slice_timing"] == "Slice timing was not corrected."
    assert told["smooth"] == "Data were not smoothed."
    assert "the volumes as acquired" in told["realign"]
    assert "without skull" in anatomical_methods(NormaliseOptions(), True)["brain"]


@pytest.mark.parametrize(
    ("order", "sentences"),
    [("dparsf", ["detrend", "regress", "filter"]), ("simultaneous", ["clean"])],
)
def test_the_order_of_cleaning_is_told(order, sentences):
    told = clean_methods(CleanOptions(order=order), [*FRISTON_24, "csf"])

    assert list(told) == sentences
    text = " ".join(told.values())
    assert "25 nuisance regressors (the Friston 24 of head motion, csf)" in text
    assert "0.01 to 0.08 Hz" in text
