"""Results are known by what they were made from."""

import pytest

from notears_pfl.io.provenance import departures, write_record

SETTINGS = {"seed": 1, "sizes": (3, 4), "estimator": {"kappa": "auto"}}


@pytest.fixture
def made(tmp_path):
    """Write the record of results that were made from one table."""
    (tmp_path / "cohort.tsv").write_text("a\n")
    write_record(SETTINGS, [tmp_path / "cohort.tsv"], tmp_path / "record.json")
    return tmp_path


def test_nothing_departs_while_settings_and_sources_are_the_same(made):
    assert departures(SETTINGS, made / "record.json") == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({**SETTINGS, "seed": 2}, ["seed"]),
        ({**SETTINGS, "estimator": {"kappa": 1}}, ["estimator"]),
        ({**SETTINGS, "presence": "all"}, ["presence"]),
        ({"seed": 1, "estimator": {"kappa": "auto"}}, ["sizes"]),
    ],
)
def test_settings_that_changed_are_named(made, changed, named):
    assert departures(changed, made / "record.json") == named


def test_a_source_that_changed_or_vanished_is_named(made):
    source = made / "cohort.tsv"

    source.write_text("b\n")
    assert departures(SETTINGS, made / "record.json") == [str(source)]
    source.unlink()
    assert departures(SETTINGS, made / "record.json") == [str(source)]


def test_results_without_a_record_are_of_unknown_settings(made):
    (made / "record.json").unlink()

    assert "is missing" in departures(SETTINGS, made / "record.json")[0]
