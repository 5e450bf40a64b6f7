"""Settings and tables that contradict each other are refused, all at once."""

import copy
from pathlib import Path

import pandas as pd
import pytest
import yaml

from notears_pfl.errors import ConfigError, PflError
from notears_pfl.study.configuration import read_tables

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "workflow/schemas"
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


@pytest.fixture
def config():
    config = copy.deepcopy(DEFAULT)
    config["sites"] = str(ROOT / "config/sites.tsv")
    config["rois"]["table"] = str(ROOT / "config/rois.tsv")
    return config


def set_key(config, dotted, value):
    *parents, key = dotted.split(".")
    for parent in parents:
        config = config[parent]
    config[key] = value


def test_the_default_study_is_the_papers(config):
    study = read_tables(config, SCHEMAS, "config.yaml")

    assert study.sites.index.tolist() == ["COI", "KUT", "UTO", "HKH", "HUH"]
    assert study.sites["repetition_time"].tolist() == [2.5, 2.5, 2.5, 2.7, 2.0]
    assert len(study.rois) == 116
    assert study.rois["selected"].sum() == 56
    assert study.groups == ("MDD", "HC")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "phantom.anatomy.deformation_fwhm",
            45,
            "'deformation_fwhm' .* mean 'deformation_fwhm_mm'",
        ),
        ("phantom.anatomy.deformation_mm", 5, "is 5: more than 0.1 of deformation_fwhm_mm, 45"),
        ("seed", "today", "'seed' is 'today'"),
        ("source.kind", "dicom", "'source.kind' is 'dicom'"),
        ("groups.controls", "MDD", "groups.patients and groups.controls are both 'MDD'"),
        ("groups.patients", 1, r"'groups.patients' is 1, but text was needed .*put it in quotes"),
        ("rois.n_selected", 57, r"rois.tsv: 56 regions are selected, 57 are announced"),
        ("sites", "config/nowhere.tsv", "config/nowhere.tsv: no such table"),
        ("phantom.signal.band_hz", [0.01, 0.2], r"Nyquist frequency of site COI, 0.2 Hz .TR 2.5 s"),
        ("preproc.clean.band_hz", [0.01, 0.19], r"clean.band_hz reaches 0.19 Hz.*site HKH, 0.1852"),
        ("phantom.network.weight_range", [0.8, 0.5], r"weight_range is \[0.8, 0.5\]: the first"),
        ("phantom.network.shared_edges", 1540, "asks for 1576 different edges.*room for 1540"),
    ],
)
def test_a_wrong_setting_is_refused(config, key, value, message):
    set_key(config, key, value)

    with pytest.raises(PflError, match=message):
        read_tables(config, SCHEMAS, "config.yaml")


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("index", range(116, 0, -1), r"rois.tsv row 1: index is 116, 1 was needed"),
        ("x", ["left"] * 116, r"rois.tsv row 1: 'x' is 'left'"),
        ("abbreviation", ["INS.R"] * 116, r"abbreviation 'INS.R' stands in more than one row"),
    ],
)
def test_a_wrong_table_of_regions_is_refused(config, tmp_path, column, cells, message):
    table = pd.read_csv(config["rois"]["table"], sep="\t").assign(**{column: list(cells)})
    config["rois"]["table"] = str(tmp_path / "rois.tsv")
    table.replace({True: "true", False: "false"}).to_csv(
        tmp_path / "rois.tsv", sep="\t", index=False
    )

    with pytest.raises(PflError, match=message):
        read_tables(config, SCHEMAS, "config.yaml")


def test_every_mistake_between_the_tables_is_named_at_once(config):
    set_key(config, "groups.controls", "MDD")
    set_key(config, "rois.n_selected", 57)
    set_key(config, "phantom.signal.band_hz", [0.1, 0.01])

    with pytest.raises(ConfigError) as caught:
        read_tables(config, SCHEMAS, "config.yaml")

    assert len(str(caught.value).splitlines()) == 3
