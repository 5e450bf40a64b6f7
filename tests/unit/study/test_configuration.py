"""Settings and tables that contradict each other are refused, all at once."""

import copy
from pathlib import Path

import pandas as pd
import pytest
import yaml

from notears_pfl.errors import ConfigError, PflError
from notears_pfl.io.schema import problems, read_schema
from notears_pfl.report.sections.methods_paragraph import references
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
        ("phantom.anatomy.deformation_mm", 5, "is 5, more than 0.1 of deformation_fwhm_mm, 45"),
        ("seed", "today", "'seed' is 'today'"),
        ("source.kind", "dicom", "'source.kind' is 'dicom'"),
        ("groups.controls", "MDD", "groups.patients and groups.controls are both 'MDD'"),
        ("groups.patients", 1, r"'groups.patients' is 1, but text was needed .*put it in quotes"),
        ("rois.n_selected", 57, r"rois.tsv: 56 regions are selected, but rois.n_selected .* is 57"),
        ("sites", "config/nowhere.tsv", "config/nowhere.tsv: no such table"),
        ("phantom.signal.band_hz", [0.01, 0.2], r"Nyquist frequency of site COI, 0.2 Hz .TR 2.5 s"),
        ("preproc.clean.band_hz", [0.01, 0.19], r"clean.band_hz reaches 0.19 Hz.*site HKH, 0.1852"),
        ("preproc.clean.strategy", "simple", "fMRIPrep's confounds, but source.kind is 'phantom'"),
        ("preproc.clean.strategy", "9P", "'preproc.clean.strategy' is '9P'"),
        ("preproc.clean.scrub.fd_mm", 0, "'preproc.clean.scrub.fd_mm' is 0"),
        ("phantom.network.weight_range", [0.8, 0.5], r"weight_range is \[0.8, 0.5\]: the first"),
        ("phantom.network.shared_edges", 1540, "specifies 1576 different edges.*at most 1540"),
    ],
)
def test_a_wrong_setting_is_refused(config, key, value, message):
    set_key(config, key, value)

    with pytest.raises(PflError, match=message):
        read_tables(config, SCHEMAS, "config.yaml")


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("index", range(116, 0, -1), r"rois.tsv row 1: index is 116, but 1 was expected"),
        ("x", ["left"] * 116, r"rois.tsv row 1: 'x' is 'left'"),
        ("abbreviation", ["INS.R"] * 116, r"abbreviation 'INS.R' appears in more than one row"),
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


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("source", None, "'source' is None: None is not of type 'object'"),
        ("source", ["phantom"], r"'source' is \['phantom'\]"),
        ("source", "phantom", "'source' is 'phantom'"),
        ("groups.controls", "mdd", "groups MDD, mdd differ only by case"),
        ("groups.controls", "HC\n", r"'groups.controls' is 'HC\\n': it does not match"),
        ("groups.controls", "H" * 300, "has 300 characters, but at most 64 are allowed"),
        ("source.dataset", {"COI": "a", "coi": "b"}, "source.dataset COI, coi differ only by case"),
        ("source.dataset", {"C" * 300: "a"}, "has 300 characters"),
        ("sites", "config", "config: cannot be read as a table .it is a folder"),
    ],
)
def test_names_and_sections_that_are_none(config, key, value, message):
    set_key(config, key, value)

    with pytest.raises(PflError, match=message):
        read_tables(config, SCHEMAS, "config.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("KUT", "coi", "sites.tsv: the sites COI, coi differ only by case"),
        ("KUT", "COI ", "row 2: 'site' is 'COI ': it does not match"),
        ("KUT", '"COI\n"', r"row 2: 'site' is 'COI\\n': it does not match"),
        ("KUT", "K" * 300, "row 2: .* has 300 characters, but at most 64 are allowed"),
        ("KUT", '"KUT', "sites.tsv: cannot be read as a table"),
        ("Kyoto", "Ky\u014dto\x00", "zero byte"),
    ],
)
def test_a_wrong_table_of_sites_is_refused(config, tmp_path, old, new, message):
    text = Path(config["sites"]).read_text()
    config["sites"] = str(tmp_path / "sites.tsv")
    (tmp_path / "sites.tsv").write_text(text.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(PflError, match=message):
        read_tables(config, SCHEMAS, "config.yaml")


@pytest.mark.parametrize("table", ["sites", "rois"])
@pytest.mark.parametrize(
    ("encoding", "reason"),
    [("latin-1", "line 1: byte 0xE9"), ("utf-16", "UTF-16"), (None, "empty")],
)
def test_a_table_in_another_encoding_is_refused(config, tmp_path, table, encoding, reason):
    path = tmp_path / f"{table}.tsv"
    path.write_bytes("sit\u00e9\tname\n".encode(encoding) if encoding else b"")
    set_key(config, {"sites": "sites", "rois": "rois.table"}[table], str(path))

    with pytest.raises(PflError, match=rf"{table}\.tsv: cannot be read as a table \(.*{reason}"):
        read_tables(config, SCHEMAS, "config.yaml")


def own_regions(config, tmp_path, change):
    """Make a study of the default's regions under another atlas's names, changed."""
    table = pd.read_csv(config["rois"]["table"], sep="\t")
    table = table.drop(columns=["aal_code", "aal_name", "selected", "index", "name"])
    sides = table["abbreviation"].str.extract(r"\.([LR])$")[0].fillna("M")
    table["abbreviation"] = [f"{side}H.{i}" for i, side in enumerate(sides)]
    config["rois"]["table"] = str(tmp_path / "own.tsv")
    change(table).to_csv(tmp_path / "own.tsv", sep="\t", index=False)
    return config


def test_a_short_table_selects_all_regions_and_needs_no_number_of_them(config, tmp_path):
    own_regions(config, tmp_path, lambda table: table.rename(columns={"lobe": "network"}))

    rois = read_tables(config, SCHEMAS, "config.yaml").rois

    assert rois["selected"].all()
    assert rois["index"].tolist() == list(range(1, 117))
    assert rois["name"].tolist() == rois.index.tolist()
    assert rois["lobe"].tolist() == rois["network"].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.assign(x=-table["x"]), r"left and right are swapped: \d+ regions .*"
                                                    r"such as LH.0 at x = 38.65 mm"),
        (lambda table: table.assign(code=[7, 7, *range(8, 122)]), "code 7 belongs to LH.0, RH.1"),
        (lambda table: table.drop(columns="lobe"), "a column 'lobe' or 'network' is needed"),
    ],
)  # fmt: skip
def test_a_table_of_another_atlas_that_contradicts_itself_is_refused(
    config, tmp_path, change, message
):
    with pytest.raises(PflError, match=message):
        read_tables(own_regions(config, tmp_path, change), SCHEMAS, "config.yaml")


def test_images_are_never_read_with_aal_for_the_table_of_another_atlas(config, tmp_path):
    set_key(config, "source", {"kind": "bids", "dataset": "data"} | config["source"])
    config["source"]["kind"] = "bids"
    own_regions(config, tmp_path, lambda table: table)

    with pytest.raises(ConfigError, match="has no column aal_code: it is the table of another"):
        read_tables(config, SCHEMAS, "config.yaml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config/atlases").glob("*.yaml")), ids=lambda p: p.stem
)
def test_the_ready_configurations_name_their_atlas_and_know_their_references(config, path):
    ready = yaml.safe_load(path.read_text())
    merged = config["rois"] | ready["rois"]

    compared = config["comparison"] | ready["comparison"]
    compared["granger"] = config["comparison"]["granger"] | compared["granger"]

    found = problems(
        config | {"rois": merged, "comparison": compared},
        read_schema(SCHEMAS / "config.schema.yaml"),
    )

    assert found == []
    assert merged["name"] == path.stem
    assert merged["citation"] in references()
    assert (ROOT / ready["comparison"]["connections"]).read_text() == "from\tto\n"
