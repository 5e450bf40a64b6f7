"""What ``study run`` says in the end, and ``study check`` of a study without networks."""

import pytest

from notears_pfl.command import study
from notears_pfl.command.study import COHORT, run_study
from notears_pfl.command.workflow import DEFAULTS, REPORT, targets_of


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """Give a folder with the results of an earlier run; Snakemake does what a test says."""
    monkeypatch.chdir(tmp_path)
    for path in (DEFAULTS, COHORT, REPORT):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("participant_id\tincluded\nsub-01\tTrue\n")
    given = []
    monkeypatch.setattr(study, "run_snakemake", lambda options: given.append(options) or 0)
    return given


@pytest.mark.parametrize(
    "further", [["-n"], ["preprocessing"], ["simulation", "--use-conda"], ["--unlock"]]
)
def test_a_run_that_is_not_the_study_says_nothing_of_earlier_results(finished, capsys, further):
    assert run_study(DEFAULTS, "1", further) == 0

    assert capsys.readouterr().out == ""
    assert finished[0][-len(further) :] == further


@pytest.mark.parametrize("further", [[], ["--use-conda"], ["all", "--keep-going"]])
def test_a_run_of_the_study_ends_with_its_subjects_and_its_report(finished, capsys, further):
    run_study(DEFAULTS, "1", further)

    told = capsys.readouterr().out
    assert "1 of 1 subjects are in the networks." in told
    assert f"{REPORT} (open it in a browser)" in told


def test_of_one_target_only_what_was_made_is_told(finished, capsys, monkeypatch):
    def remake(_):
        COHORT.write_text("participant_id\tincluded\nsub-01\tTrue\nsub-02\tFalse\n")
        return 0

    COHORT.unlink()
    monkeypatch.setattr(study, "run_snakemake", remake)
    run_study(DEFAULTS, "1", ["results/networks/README.tsv"])

    told = capsys.readouterr().out
    assert told == f"1 of 2 subjects are in the networks. The others and the reasons: {COHORT}\n"


def test_options_that_make_nothing_have_no_targets():
    assert targets_of(["--cores", "1"]) == {"all"}
    assert targets_of(["--cores", "1", str(COHORT)]) == {str(COHORT)}
    assert targets_of(["--cores", "1", "--summary"]) == set()
