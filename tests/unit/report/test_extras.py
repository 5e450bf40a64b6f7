"""The report shows the comparison and the simulations only where they are this study's."""

import pandas as pd
import pytest

from notears_pfl.io.provenance import write_record
from notears_pfl.io.tables import write_table
from notears_pfl.report.sections.extras import comparison_section, simulations_section
from notears_pfl.report.study_page import TARGETS, read_extras

SETTINGS = {"comparison": {"comparison.n_draws": 2, "seed": 1}, "simulation": {"seed": 1}}
COMPARED, SIMULATED = TARGETS["comparison"], TARGETS["simulation"]
PICTURES = ["results/compare/figure_proportions.png", "results/simulate/figure_sites.png"]


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Write results of both targets, of two draws whose networks have one edge each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cohort.tsv").write_text("a\n")
    network = {"set": ["MDD"], "method": ["pfl"]}
    edge = pd.DataFrame({**network, "from": ["A"], "to": ["B"]})
    for target in TARGETS.values():
        for path in target.tables.values():
            write_table(pd.DataFrame({"runs": [1]}), path, index=False)
    write_table(pd.DataFrame(network | {"draw": [1]}).loc[[0, 0]],
                COMPARED.tables["drawn_networks"], index=False)  # fmt: skip
    draws = [f"results/compare/draws/draw-{draw}_edges.tsv" for draw in (1, 2)]
    for path in draws:
        write_table(edge, path, index=False)
    write_record(SETTINGS["comparison"], ["cohort.tsv"], COMPARED.record)
    write_record(SETTINGS["simulation"], [], SIMULATED.record)
    return [*COMPARED.tables.values(), *SIMULATED.tables.values(), *draws, *PICTURES]


def test_results_of_this_study_are_shown(paths):
    extras = read_extras(paths, SETTINGS)

    assert extras.proportion_tests is not None
    assert extras.simulation_wins is not None
    assert extras.pictures == PICTURES
    assert extras.stability["share"].tolist() == [1.0]
    assert not extras.outdated


def test_a_comparison_with_other_settings_is_not_shown_and_what_changed_is_named(paths):
    settings = {**SETTINGS, "comparison": {"comparison.n_draws": 3, "seed": 1}}

    extras = read_extras(paths, settings)

    assert extras.proportion_tests is None
    assert extras.stability is None
    assert extras.simulation_wins is not None
    assert extras.pictures == PICTURES[1:]
    said = comparison_section(None, ("MDD", "HC"), {}, extras.outdated["comparison"]).missing
    assert "What has changed since: comparison.n_draws." in said
    assert "snakemake --cores all comparison" in said


def test_a_comparison_of_other_data_is_not_shown(paths, tmp_path):
    (tmp_path / "cohort.tsv").write_text("b\n")

    assert read_extras(paths, SETTINGS).outdated == {"comparison": ["cohort.tsv"]}


def test_simulations_with_other_settings_or_unknown_ones_are_not_shown(paths, tmp_path):
    other = read_extras(paths, {**SETTINGS, "simulation": {"seed": 2}})
    (tmp_path / SIMULATED.record).unlink()
    unknown = read_extras(paths, SETTINGS)

    for extras in (other, unknown):
        assert extras.simulation_wins is None
        assert extras.pictures == PICTURES[:1]
    assert "seed" in simulations_section(None, None, {}, other.outdated["simulation"]).missing
    assert "is missing" in unknown.outdated["simulation"][0]


def test_of_many_changes_the_first_are_named_and_the_others_counted():
    changed = [f"series-{i}.tsv" for i in range(40)]

    said = comparison_section(None, ("MDD", "HC"), {}, changed).missing

    assert "series-4.tsv and 35 more" in said
    assert "series-5" not in said
