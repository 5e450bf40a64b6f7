"""A departure from a schema is told in words, all of them at once."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from notears_pfl.errors import ConfigError, TableError
from notears_pfl.io.schema import check_config, read_checked_table, read_schema

ROOT = Path(__file__).parents[3]
SCHEMAS = sorted([*ROOT.glob("workflow/schemas/*.yaml"), *ROOT.glob("src/**/*.schema.yaml")])

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["smoothing", "kind"],
    "properties": {
        "kind": {"enum": ["phantom"], "description": "where the data come from"},
        "label": {"type": "string"},
        "smoothing": {
            "type": "object",
            "additionalProperties": False,
            "required": ["fwhm_mm"],
            "properties": {"fwhm_mm": {"type": "number", "minimum": 0, "description": "FWHM, mm"}},
        },
    },
}

ROW = {
    "type": "object",
    "additionalProperties": False,
    "required": ["site", "n_volumes", "repetition_time", "selected"],
    "properties": {
        "site": {"type": "string"},
        "n_volumes": {"type": "integer", "minimum": 1},
        "repetition_time": {"type": "number", "maximum": 10, "description": "TR, seconds"},
        "selected": {"type": "boolean"},
    },
}

HEADER = "site\tn_volumes\trepetition_time\tselected\n"


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_our_schemas_are_schemas(path):
    Draft202012Validator.check_schema(read_schema(path))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"kind": "phantom", "smoothing": {"fwhm_mm": -6}},
            r"'smoothing.fwhm_mm' is -6: .*minimum",
        ),
        ({"kind": "phantom", "smoothing": {"fwhm_mm": "6"}}, r"'smoothing.fwhm_mm' is '6'.*number"),
        ({"kind": "fantom", "smoothing": {"fwhm_mm": 6}}, r"'kind' is 'fantom': .*where the data"),
        ({"kind": "phantom", "smoothing": {"fwhm": 6, "fwhm_mm": 6}}, r"'fwhm' .* mean 'fwhm_mm'"),
        ({"kind": "phantom", "smoothing": {"fwhm_mm": 6}, "x": 1}, r"unknown key 'x'. Known: kind"),
        ({"kind": "phantom"}, r"'smoothing' is missing. Add it"),
        ({"kind": "phantom", "smoothing": {"fwhm_mm": 6}, "label": 1}, r"'label' is 1, .* quotes"),
        ({"kind": "phantom", "smoothing": {}}, r"'fwhm_mm' is missing under 'smoothing'"),
    ],
)
def test_a_bad_config_is_refused_with_file_value_and_remedy(config, message):
    with pytest.raises(ConfigError, match=r"^config\.yaml: .*" + message):
        check_config(config, SCHEMA, "config.yaml")


def test_every_problem_of_a_config_is_named_at_once():
    with pytest.raises(ConfigError) as caught:
        check_config({"kind": 3, "smoothing": {"fwhm_mm": -1}, "x": 1}, SCHEMA, "config.yaml")

    assert len(str(caught.value).splitlines()) == 3


def test_cells_take_the_type_of_their_column(tmp_path):
    path = tmp_path / "sites.tsv"
    path.write_text(HEADER + "COI\t240\t2.5\ttrue\nHKH\t107\t3\tfalse\n")

    table = read_checked_table(path, ROW, key="site")

    assert table.to_dict("list") == {
        "site": ["COI", "HKH"],
        "n_volumes": [240, 107],
        "repetition_time": [2.5, 3.0],
        "selected": [True, False],
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("COI\t240\t2500\ttrue\n", r"sites\.tsv row 1: 'repetition_time' is 2500.0: .*TR, seconds"),
        ("COI\tmany\t2.5\ttrue\n", r"row 1: 'n_volumes' is 'many'"),
        ("COI\t240\t2.5\tyes\n", r"row 1: 'selected' is 'yes'"),
        ("COI\t240\t2.5\ttrue\nCOI\t107\t2.7\ttrue\n", r"site 'COI' stands in more than one row"),
        ("", r"the table has no rows"),
    ],
)
def test_a_bad_row_is_named(tmp_path, rows, message):
    path = tmp_path / "sites.tsv"
    path.write_text(HEADER + rows)

    with pytest.raises(TableError, match=message):
        read_checked_table(path, ROW, key="site")


def test_missing_and_unknown_columns_are_named(tmp_path):
    path = tmp_path / "sites.tsv"
    path.write_text("site\tn_volume\nCOI\t240\n")

    with pytest.raises(TableError, match=r"'n_volume'.*'n_volumes'") as caught:
        read_checked_table(path, ROW, key="site")

    assert "'n_volumes', 'repetition_time', 'selected' are missing" in str(caught.value)


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(TableError, match=r"nowhere\.tsv: no such table"):
        read_checked_table(tmp_path / "nowhere.tsv", ROW, key="site")
