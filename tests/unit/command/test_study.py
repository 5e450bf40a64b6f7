"""What ``study run`` says in the end, and ``study check`` of a study without networks."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.unit.command.test_new import PEOPLE, write_raw

from notears_pfl.cli import main
from notears_pfl.command import study
from notears_pfl.command.study import COHORT, run_study
from notears_pfl.command.workflow import DEFAULTS, REPORT, ROOT, STOPPED, starts_jobs, targets_of


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
    assert "1 of 1 subjects are included." in told
    assert f"{REPORT} (open it in a browser)" in told


def test_of_one_target_only_what_was_made_is_told(finished, capsys, monkeypatch):
    def remake(_):
        COHORT.write_text("participant_id\tincluded\nsub-01\tTrue\nsub-02\tFalse\n")
        return 0

    COHORT.unlink()
    monkeypatch.setattr(study, "run_snakemake", remake)
    run_study(DEFAULTS, "1", ["results/networks/README.tsv"])

    told = capsys.readouterr().out
    assert told == f"1 of 2 subjects are included. The others and the reasons: {COHORT}\n"


def test_all_cores_are_not_taken_for_the_target_all(finished):
    run_study(DEFAULTS, "all", ["preprocessing"])

    # The rules look for preprocessing without all among the options.
    assert finished == [["--cores=all", "preprocessing"]]


def test_options_that_make_nothing_have_no_targets():
    assert targets_of(["--cores", "1"]) == {"all"}
    assert targets_of(["--cores", "1", str(COHORT)]) == {str(COHORT)}
    assert targets_of(["--cores", "1", "--summary"]) == set()
    assert targets_of(["--no-option-of-snakemake"]) == set()


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        (["--cores", "1"], True), (["--cores", "1", "--until", "cohort"], True), (["-n"], False),
        (["--summary"], False), (["--unlock"], False), (["--no-option-of-snakemake"], True),
    ],
)  # fmt: skip
def test_options_say_whether_jobs_are_started(options, starts):
    assert starts_jobs(options) == starts


def test_unusable_series_are_named_and_nothing_is_started(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    people = [f"sub-{n}\tMAX_MUN\t{'MDD' if n % 2 else 'HC'}" for n in range(8)]
    people.append("sub-8\tMAX_MUN\tMDDD")
    (tmp_path / "people.tsv").write_text("\n".join(["participant_id\tsite\tgroup", *people]))
    shapes = {f"sub-{n}": (100, 116) for n in range(6)} | {"sub-8": (100, 116), "6": (116, 100)}
    np.savez("series.npz", **{name: np.zeros(shape) for name, shape in shapes.items()})
    (tmp_path / "mine.yaml").write_text(
        "source: {kind: timeseries, participants: people.tsv, series: series.npz}\n"
    )
    monkeypatch.setattr(study, "run_snakemake", lambda options: pytest.fail(str(options)))

    assert main(["study", "check", "mine.yaml"]) == 1

    told = capsys.readouterr().out
    assert "people.tsv: names keep only letters and digits: sites MAX_MUN → MAXMUN." in told
    assert "'MDDD': 1 subject (did you mean MDD?)" in told
    assert "people.tsv: 2 of 9 subjects cannot be used. Fix the problems below" in told
    assert "  sub-6: unnamed series have shape (116, 100)" in told
    assert "  sub-7: has no array in series.npz." in told


def test_problems_of_series_are_told_of_the_users_own_table(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    people = [f"{n}\tMAX\t{n % 2}" for n in range(8)]
    (tmp_path / "people.tsv").write_text("\n".join(["who\tsite\tgroup", *people]))
    for n in range(8):
        np.save(tmp_path / f"{n}.npy", np.zeros((100, 116) if n else (116, 100)))
    (tmp_path / "mine.yaml").write_text(
        "source: {kind: timeseries, participants: people.tsv, series: '{participant_id}.npy', "
        "id_column: who, group_values: {1: MDD, 0: HC}}\n"
    )

    assert main(["study", "check", "mine.yaml"]) == 1

    told = capsys.readouterr().out
    assert "people.tsv: 1 of 8 subjects cannot be used. Fix the problems below" in told
    assert "results/ingest" not in told


def test_with_exclude_unusable_series_are_named_and_the_check_goes_on(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    people = [f"{n}\tMAX\t{n % 2}" for n in range(8)]
    (tmp_path / "people.tsv").write_text("\n".join(["participant_id\tsite\tgroup", *people]))
    arrays = {str(n): np.zeros((100, 116) if n else (100, 90)) for n in range(8)}
    np.savez("series.npz", **arrays)
    settings = (
        "source: {kind: timeseries, participants: people.tsv, series: series.npz, "
        "group_values: {1: MDD, 0: HC}, on_problem: exclude}\n"
    )
    (tmp_path / "mine.yaml").write_text(settings)
    monkeypatch.setattr(study, "run_snakemake", lambda options: 0)

    assert main(["study", "check", "mine.yaml"]) == 0

    told = capsys.readouterr().out
    assert "people.tsv: 1 of 8 subjects cannot be used. They are excluded.\n  sub-0: un" in told
    assert "groups: patients MDD (group 1), controls HC (group 0)\n" in told
    assert "56 of 116 regions of config/rois.tsv are used: the paper's selection\n" in told
    assert "columns without names are taken in the order of that table" in told

    np.savez("series.npz", **{name: array[:, :90] for name, array in arrays.items()})
    assert main(["study", "check", "mine.yaml"]) == 1
    assert "8 of 8 subjects cannot be used. Nobody is left" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "is_locked", "said"),
    [
        (1, False, "The run stopped. Correct what is named above"),
        (1, True, ""),
        (STOPPED, False, "The run was stopped by a signal. To go on, give the same command"),
        (2, False, ""),
    ],
)
def test_a_run_that_fails_ends_with_the_next_step_unless_it_was_said(
    finished, capsys, monkeypatch, code, is_locked, said
):
    monkeypatch.setattr(study, "run_snakemake", lambda options: code)
    monkeypatch.setattr(study, "is_locked", lambda: is_locked)

    assert run_study(DEFAULTS, "1", []) == code

    told = capsys.readouterr().out
    assert told.startswith(said)
    assert bool(told) == bool(said)


def test_a_run_begins_with_what_its_groups_mean(finished, capsys):
    shutil.copytree(ROOT / "config", "config", dirs_exist_ok=True)
    Path("mine.yaml").write_text("source: {group_column: dx, group_values: {1: MDD, 2: HC}}\n")

    run_study(Path("mine.yaml"), "1", ["cohort"])

    assert capsys.readouterr().out == "groups: patients MDD (dx 1), controls HC (dx 2)\n"


def test_a_study_with_one_group_is_checked_for_preprocessing_alone(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_raw(tmp_path / "data", [person for person in PEOPLE if person[2] == "control"])
    shutil.copytree(ROOT / "config", tmp_path / "config")
    columns = "site_column: centre, group_column: dx"
    (tmp_path / "mine.yaml").write_text(
        f"source: {{kind: bids, dataset: {tmp_path}/data, {columns}}}\n"
        "groups: {patients: depr, controls: control}\n"
    )
    given = []
    monkeypatch.setattr(study, "run_snakemake", lambda options: given.append(options) or 0)

    assert main(["study", "check", "mine.yaml"]) == 1
    assert "no site has both groups" in (told := capsys.readouterr().out)
    assert "To check it for that: notears-pfl study check mine.yaml --preprocessing" in told

    assert main(["study", "check", "mine.yaml", "--preprocessing"]) == 0
    told = capsys.readouterr().out
    assert "4 subjects at 2 sites (source.kind: bids):\n  COI: 0 depr, 2 control\n" in told
    assert told.endswith("To run it: notears-pfl study run mine.yaml -- preprocessing\n")
    assert [options[-1] for options in given] == ["preprocessing"]
