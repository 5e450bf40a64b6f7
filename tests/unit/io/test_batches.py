"""Batches of subjects: one list per batch, nothing computed twice, nothing lost in silence."""

import json
from pathlib import Path

import pytest

from notears_pfl.errors import StorageError
from notears_pfl.io.batches import (
    FORCE,
    Batch,
    Files,
    ListedFiles,
    listed_files,
    read_list,
    remove_untrue_lists,
)
from notears_pfl.io.fingerprint import file_digest

from ..batch_lists import files_made, list_made

LIST = "results/batches/doubled/site-A_batch-1.tsv"
RAW = "results/batches/raw/site-A_batch-1.tsv"
SUBJECTS = ["1", "2", "3"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder with the raw file of each subject, its list, and a file that all share."""
    monkeypatch.chdir(tmp_path)
    files = files_made(SUBJECTS, {"number": "raw/sub-{subject}.txt"})
    for who, own in files.items():
        path = Path(own.number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(who[-1])
    list_made(files, RAW)
    Path("factor.txt").write_text("2")
    return tmp_path


def batch(subjects=SUBJECTS, **params):
    of_each = {kind: [f"{folder}/sub-{who}.txt" for who in subjects]
               for kind, folder in (("number", "raw"), ("double", "doubled"))}  # fmt: skip
    return Batch(
        {"factor": "factor.txt", "raw": [RAW]},
        {"subjects": subjects, "takes": {"number": of_each["number"]},
         "makes": {"double": of_each["double"]}, "each": {}, "code": "1"} | params,
        Path(LIST),
    )  # fmt: skip


def work(a_batch, breaks=None):
    """Double the number of every unfinished subject; give their names."""
    done = []
    for subject in a_batch.unfinished():
        if subject.name == breaks:
            raise OSError(28, "No space left on device")
        number, factor = (int(Path(subject.input[k]).read_text()) for k in ("number", "factor"))
        path = Path(subject.output.double)
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(factor * number))
        done.append(subject.name)
    return done


def test_a_batch_lists_every_file_that_it_made(here):
    assert work(batch()) == ["sub-1", "sub-2", "sub-3"]

    rows = read_list(LIST)
    assert [(row.participant, row.file, row.path) for row in rows] == [
        (f"sub-{who}", "double", f"doubled/sub-{who}.txt") for who in SUBJECTS
    ]
    assert [Path(row.path).read_text() for row in rows] == ["2", "4", "6"]


def test_subjects_that_are_up_to_date_are_not_computed_again(here):
    work(batch())
    before = Path(LIST).read_bytes()
    Path(LIST).unlink()

    assert work(batch()) == []
    assert Path(LIST).read_bytes() == before


def test_a_batch_that_broke_goes_on_where_it_stopped_and_was_never_listed(here):
    with pytest.raises(OSError, match="No space left"):
        work(batch(), breaks="sub-2")

    assert not Path(LIST).exists()
    assert work(batch()) == ["sub-2", "sub-3"]
    assert len(read_list(LIST)) == 3


def test_one_changed_file_computes_its_subject_alone(here):
    work(batch())
    Path("raw/sub-2.txt").write_text("9")
    list_made(files_made(SUBJECTS, {"number": "raw/sub-{subject}.txt"}), RAW)

    assert work(batch()) == ["sub-2"]
    assert Path("doubled/sub-2.txt").read_text() == "18"


@pytest.mark.parametrize("change", ["a setting", "the shared file"])
def test_what_all_subjects_depend_on_computes_all_again(here, change):
    work(batch())
    if change == "the shared file":
        Path("factor.txt").write_text("3")

    assert len(work(batch(code="2" if change == "a setting" else "1"))) == 3


def test_a_parameter_of_one_subject_computes_that_subject_again(here):
    work(batch(each={"tr": [2.0, 2.5, 2.0]}))

    assert work(batch(each={"tr": [2.0, 2.7, 2.0]})) == ["sub-2"]


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("5")])
def test_a_lost_or_altered_result_is_computed_again(here, harm):
    work(batch())
    harm(Path("doubled/sub-3.txt"))

    assert work(batch()) == ["sub-3"]
    assert Path("doubled/sub-3.txt").read_text() == "6"


def test_a_result_that_cannot_be_read_is_computed_again(here, monkeypatch):
    work(batch())

    def unreadable(path):
        if str(path) == "doubled/sub-2.txt" and not done:
            done.append(path)
            raise OSError(5, "Input/output error")
        return file_digest(path)

    done = []
    monkeypatch.setattr("notears_pfl.io.batches.file_digest", unreadable)
    assert work(batch()) == ["sub-2"]


def test_a_damaged_receipt_counts_for_nothing(here):
    work(batch())
    Path(LIST).with_name("sub-1.json").write_text("{")

    assert work(batch()) == ["sub-1"]


def test_subjects_move_to_another_batch_without_being_computed_again(here):
    work(batch())

    assert work(batch(["2"])) == []
    assert [row.participant for row in read_list(LIST)] == ["sub-2"]


def test_forced_jobs_compute_every_subject(here, monkeypatch):
    work(batch())
    monkeypatch.setenv(FORCE, "1")

    assert len(work(batch())) == 3


def test_an_input_that_is_not_the_listed_one_is_refused_by_name(here):
    Path("raw/sub-2.txt").write_text("7")

    with pytest.raises(
        StorageError, match=r"raw/sub-2.txt: is not the file that the workflow made"
    ):
        work(batch())


def test_a_rule_of_one_subject_gets_its_checked_files(here):
    subject = batch(["2"]).only()

    assert (subject.name, subject.input.number) == ("sub-2", "raw/sub-2.txt")
    Path("raw/sub-2.txt").write_text("7")
    with pytest.raises(StorageError, match=r"raw/sub-2.txt"):
        batch(["2"]).only()


def test_a_folder_of_files_is_an_input_like_a_file(here):
    Path("volumes").mkdir()
    Path("volumes/1").write_text("a")
    takes = {"number": ["raw/sub-1.txt"], "volumes": ["volumes"]}

    assert work(batch(["1"], takes=takes)) == ["sub-1"]
    assert work(batch(["1"], takes=takes)) == []
    Path("volumes/2").write_text("b")
    assert work(batch(["1"], takes=takes)) == ["sub-1"]


def test_readers_get_the_listed_files_in_their_own_order_and_no_others(here):
    numbers = ListedFiles([RAW], "number", ["sub-3", "sub-1"])

    assert dict(numbers) == {"sub-3": "raw/sub-3.txt", "sub-1": "raw/sub-1.txt"}
    Path("raw/sub-3.txt").write_text("4")
    assert numbers["sub-1"] == "raw/sub-1.txt"
    with pytest.raises(StorageError, match="Delete it and run again"):
        numbers["sub-3"]


def test_files_of_several_rules_go_to_their_participants(here):
    work(batch())
    files = {"before": ("raw", "number"), "after": ("doubled", "double")}

    found = listed_files({"raw": [RAW], "doubled": [LIST]}, files, ["sub-2"])

    assert found == {"sub-2": {"before": "raw/sub-2.txt", "after": "doubled/sub-2.txt"}}


def test_a_list_whose_files_are_gone_is_removed_and_the_file_named(here):
    work(batch())
    assert remove_untrue_lists("results/batches") == []

    Path("doubled/sub-1.txt").unlink()
    (line,) = remove_untrue_lists("results/batches")

    assert line.startswith("doubled/sub-1.txt: missing or changed")
    assert not Path(LIST).exists()
    assert Path(RAW).exists()


def test_all_files_but_one_can_be_named():
    assert Files({"a": "1", "b": "2"}).but("a") == ["2"]


def test_receipts_hold_no_times_and_no_absolute_paths(here):
    work(batch())

    receipt = Path(LIST).with_name("sub-1.json")
    first = receipt.read_bytes()
    receipt.unlink()
    work(batch())
    assert receipt.read_bytes() == first
    assert str(here) not in json.dumps(json.loads(first))
