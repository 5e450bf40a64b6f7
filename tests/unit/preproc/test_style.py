"""A style gives its values, and any setting that is spelled out stands."""

from pathlib import Path

import pytest
import yaml

from notears_pfl.preproc.clean import CleanOptions, clean_options
from notears_pfl.preproc.run import RunOptions, run_options
from notears_pfl.preproc.smooth import SmoothOptions, smooth_options


@pytest.fixture
def settings():
    return {
        "style": "dparsf",
        "drop_volumes": 10,
        "slice_timing": True,
        "motion_from": "style",
        "resample": {"voxel_mm": 3, "order": 2},
        "smooth": {"fwhm_mm": "style", "kernel": "style"},
        "clean": {
            "order": "style",
            "band_hz": [0.01, 0.08],
            "scrub": {"fd_mm": "none", "std_dvars": "none", "min_segment": 1},
            "min_degrees_of_freedom": 1,
        },
    }


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("dparsf", ("slice_timed", 6, "spm", "dparsf")),
        ("modern", ("raw", 0, "gaussian", "simultaneous")),
    ],
)
def test_settings_left_to_the_style_take_its_values(settings, style, expected):
    settings["style"] = style

    found = (
        run_options(settings).motion_from,
        smooth_options(settings).fwhm_mm,
        smooth_options(settings).kernel,
        clean_options(settings).order,
    )

    assert found == expected


def test_a_setting_that_is_spelled_out_stands(settings):
    settings |= {"style": "modern", "motion_from": "slice_timed"}
    settings["clean"]["order"] = "dparsf"
    settings["smooth"]["fwhm_mm"] = 8

    assert run_options(settings).motion_from == "slice_timed"
    assert clean_options(settings).order == "dparsf"
    assert smooth_options(settings).kernel == "gaussian"
    assert smooth_options(settings).fwhm_mm == 8


def test_the_options_have_the_defaults_of_the_configuration():
    config = Path(__file__).parents[3] / "config/config.yaml"
    settings = yaml.safe_load(config.read_text())["preproc"]

    assert run_options(settings) == RunOptions()
    assert smooth_options(settings) == SmoothOptions()
    assert clean_options(settings) == CleanOptions()
