"""A departure from a schema is told in words, all of them at once."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from notears_pfl.errors import ConfigError, TableError
from notears_pfl.io.schema import check_config, problems, read_checked_table, read_schema

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


def test_of_merged_files_the_one_with_the_setting_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("kind: phantom\nsmoothing: {fwhm_mm: 6}\n")
    (tmp_path / "mine.yaml").write_text("smoothing: {fwhm_mm: -1}\n1x: 2\n")
    config = {"kind": 3, "smoothing": {"fwhm_mm": -1}, "1x": 2}

    with pytest.raises(ConfigError) as caught:
        check_config(config, SCHEMA, "mine.yaml + config/config.yaml")

    said = sorted(line.partition(":")[::2] for line in str(caught.value).splitlines())
    assert [file for file, _ in said] == ["config/config.yaml", "mine.yaml", "mine.yaml"]
    assert "unknown key '1x'" in str(said)


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
        ("COI\t240\t2.5\ttrue\nCOI\t107\t2.7\ttrue\n", r"site 'COI' appears in more than one row"),
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


def patterns(schema, place=""):
    """List the patterns of a schema that end where the text ends."""
    if isinstance(schema, dict):
        if str(schema.get("pattern", "")).endswith("$"):
            yield place, schema
        for key, below in schema.items():
            yield from patterns(below, f"{place}.{key}")
    elif isinstance(schema, list):
        for below in schema:
            yield from patterns(below, place)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_a_line_feed_is_no_part_of_a_name(path):
    sound = ["COI", "a b", "0" * 64]

    for _, schema in patterns(read_schema(path)):
        name = next(name for name in sound if not problems(name, schema))
        assert problems(f"{name}\n", schema)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_a_name_that_is_too_long_for_a_file_is_refused(path):
    names = [schema for _, schema in patterns(read_schema(path)) if "A-Za-z" in schema["pattern"]]

    for schema in names:
        assert problems("A" * 300, schema)


def test_the_message_of_a_long_name_is_short():
    schema = {"properties": {"site": {"type": "string", "maxLength": 64}}}

    (message,) = problems({"site": "A" * 5000}, schema)

    assert "it has 5000 characters, but at most 64 are allowed. Shorten it." in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("volumes", "tr"), [("1_000", "2"), ("\u0663", "2"), ("9" * 30, "2"), ("240", "nan")]
)
def test_only_numbers_are_numbers(tmp_path, volumes, tr):
    path = tmp_path / "sites.tsv"
    path.write_text(HEADER + f"COI\t{volumes}\t{tr}\ttrue\n", encoding="utf-8")

    with pytest.raises(TableError, match="is not of type"):
        read_checked_table(path, ROW, key="site")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), r"'smoothing.fwhm_mm' is nan: every number must be finite"),
        (float("inf"), r"'smoothing.fwhm_mm' is inf: every number must be finite"),
        (0x1 << 40_000, r"'smoothing.fwhm_mm' is a number beyond 2\^63"),
        ("x" * 10_000, r"text may have at most 4096 characters"),
        ({None: 1}, r"is .*: .* is not of type 'number'"),
    ],
    ids=["nan", "inf", "40000 bits", "10000 characters", "key"],
)
def test_values_that_no_setting_can_have(value, reason):
    config = {"kind": "phantom", "smoothing": {"fwhm_mm": value}}

    with pytest.raises(ConfigError, match=reason):
        check_config(config, SCHEMA, "config.yaml")


def test_keys_that_are_no_text_are_named():
    with pytest.raises(ConfigError, match=r"unknown key '1'.*unknown key 'None'"):
        check_config({1: 2, None: 3, "kind": "phantom", "smoothing": {}}, SCHEMA, "config.yaml")


def test_a_fraction_counts_nothing():
    assert problems(10.0, {"type": "integer"})
    assert not problems(10, {"type": "integer"})


def test_settings_without_end_are_refused():
    endless = {}
    endless["kind"] = endless

    with pytest.raises(ConfigError, match="at most 40 levels"):
        check_config(endless, SCHEMA, "config.yaml")
