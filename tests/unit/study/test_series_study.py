"""Ready series are found by any name of their subject, and everyone without them is named."""

import numpy as np
import pandas as pd
import pytest

from notears_pfl.errors import CohortError, TableError
from notears_pfl.study.timeseries import read_series_study

from .derived_trees import ROIS, write_xcpd_run

GROUPS = ("1", "2")
OWN = ["S1-1-0001", "S1-2-0001", "0050003", "sub-04"]


@pytest.fixture
def source(tmp_path):
    rows = [f"{who}\t01\t{1 + i % 2}" for i, who in enumerate(OWN)]
    (tmp_path / "people.tsv").write_text("\n".join(["participant_id\tsite\tDX", *rows]))
    for name in ("S1-1-0001", "sub-S120001", "0050003", "sub-04"):
        (tmp_path / f"{name}_aal.1D").touch()
    return {
        "participants": str(tmp_path / "people.tsv"),
        "series": str(tmp_path / "{participant_id}_aal.1D"),
        "site_column": "site",
        "group_column": "DX",
    }


def test_files_are_found_by_the_tables_ids_and_by_those_of_bids(source, tmp_path):
    study = read_series_study(source, GROUPS)

    names = ("0050003", "S1-1-0001", "sub-04", "sub-S120001")
    assert study.files == {str(tmp_path / f"{name}_aal.1D") for name in names}
    assert study.names["sub-S110001"] == ["S1-1-0001", "sub-S110001", "S110001"]
    assert study.names["sub-04"] == ["sub-04", "04"]
    (notice,) = study.notices
    assert "subjects S1-1-0001 → sub-S110001, S1-2-0001 → sub-S120001." in notice


def test_labels_that_look_like_numbers_stay_as_they_are(source):
    participants = read_series_study(source, GROUPS).participants

    assert participants["site"].tolist() == ["01"] * 4
    assert participants["group"].tolist() == ["1", "2", "1", "2"]


def test_everyone_without_a_file_is_named_at_once(source, tmp_path):
    for name in ("S1-1-0001", "sub-04"):
        (tmp_path / f"{name}_aal.1D").unlink()

    with pytest.raises(CohortError) as refusal:
        read_series_study(source, GROUPS)

    head, *lines = str(refusal.value).splitlines()
    assert "2 of 4 subjects cannot be used" in head
    assert "source.on_problem" in head
    assert "S1-1-0001_aal.1D does not exist" in lines[0]
    assert lines[1].startswith("  sub-04: ")


def test_those_without_a_file_can_be_left_out(source, tmp_path):
    (tmp_path / "sub-04_aal.1D").unlink()

    study = read_series_study({**source, "on_problem": "exclude"}, GROUPS)

    assert len(study.files) == 3
    assert "sub-04" in study.names
    assert "1 of 4 subjects cannot be used. They are excluded." in study.notices[0]


@pytest.mark.parametrize("series", ["nowhere/{participant_id}.1D", "nowhere.npz"])
def test_series_that_nobody_has_are_an_error_of_the_settings(source, series):
    with pytest.raises(CohortError, match=r"none of the 4 subjects.*Correct source\.series"):
        read_series_study({**source, "series": series, "on_problem": "exclude"}, GROUPS)


def test_a_damaged_archive_of_all_is_one_error(source, tmp_path):
    archive = tmp_path / "all.npz"
    np.savez(archive, np.zeros(100))
    archive.write_bytes(archive.read_bytes()[:200])

    with pytest.raises(TableError, match=r"all\.npz: cannot be read .*copy it again"):
        read_series_study({**source, "series": str(archive)}, GROUPS)


def test_one_table_cannot_be_the_series_of_everyone(source):
    series = source["series"].replace("{participant_id}", "0050003")

    with pytest.raises(CohortError, match=r"must be an \.npz .* put \{participant_id\} into"):
        read_series_study({**source, "series": series}, GROUPS)


def test_a_blank_site_or_group_is_refused_by_name(source, tmp_path):
    people = (tmp_path / "people.tsv").read_text().replace("0050003\t01", "0050003\t")
    (tmp_path / "people.tsv").write_text(people)

    with pytest.raises(CohortError, match=r"no site or no group.*\n  site: 0050003$"):
        read_series_study(source, GROUPS)


def test_columns_of_the_table_can_name_the_files(source, tmp_path):
    rows = ["SUB,FILE_ID,site,DX,AGE", "7,Pitt_007,P,1,30", "8,Pitt_008,P,2,40"]
    (tmp_path / "people.csv").write_text("\n".join([*rows, "9,no_filename,P,2,50"]))
    for name in ("Pitt_007", "Pitt_008"):
        (tmp_path / f"{name}.1D").touch()
    own = source | {
        "participants": str(tmp_path / "people.csv"), "series": str(tmp_path / "{FILE_ID}.1D"),
        "id_column": "SUB", "columns": {"AGE": "age"}, "group_values": {1: "ASD", 2: "TC"},
        "on_problem": "exclude",
    }  # fmt: skip

    study = read_series_study(own, ("ASD", "TC"))

    assert study.participants["participant_id"].tolist() == ["sub-7", "sub-8"]
    assert study.participants["group"].tolist() == ["ASD", "TC"]
    assert study.participants["age"].tolist() == [30, 40]
    assert study.runs["sub-8"][0]["series"] == str(tmp_path / "Pitt_008.1D")
    reasons = study.enrolment.participants.set_index("participant_id")["not_enrolled"]
    assert "no_filename.1D does not exist" in reasons["sub-9"]
    with pytest.raises(CohortError, match=r"contains \{FILE\}, but the participants table has no"):
        read_series_study(own | {"series": str(tmp_path / "{FILE}.1D")}, ("ASD", "TC"))


def test_columns_with_blanks_and_hyphens_in_their_names_may_be_parts_of_paths(source, tmp_path):
    people = pd.read_csv(tmp_path / "people.tsv", sep="\t", dtype=str)
    files = people["participant_id"].replace("S1-2-0001", "sub-S120001")
    people = people.assign(**{"FILE ID": files, "at-las": "aal"})
    people.to_csv(tmp_path / "people.tsv", sep="\t", index=False)
    own = {"series": str(tmp_path / "{FILE ID}_{at-las}.1D"), "group_values": {"1": "1"}}

    assert len(read_series_study(source | own, GROUPS).files) == 4


def test_without_a_table_site_and_group_are_parts_of_the_files_names(source, tmp_path):
    del source["participants"]
    for name in ("S1-1-0001", "S1-2-0001", "S4-1-0001"):
        (tmp_path / f"ROI_{name}.mat").touch()
    own = source | {
        "series": str(tmp_path / "ROI_{participant_id}.mat"), "group_values": {1: "MDD", 2: "HC"},
        "id_pattern": r"(?P<site>S(?!4-)[0-9]+)-(?P<group>[12])-[0-9]+",
    }  # fmt: skip

    study = read_series_study(own, ("MDD", "HC"))

    assert study.participants["participant_id"].tolist() == ["sub-S110001", "sub-S120001"]
    assert study.participants["site"].tolist() == ["S1", "S1"]
    assert study.participants["group"].tolist() == ["MDD", "HC"]
    assert study.files == {str(tmp_path / f"ROI_S1-{group}-0001.mat") for group in (1, 2)}
    with pytest.raises(CohortError, match=r"3 files in .* and none of them an id that matches X"):
        read_series_study(own | {"id_pattern": "X"}, ("MDD", "HC"))


@pytest.mark.parametrize("more", [{"group_values": {1: "1"}}, {"id_pattern": "(?P<group>.)"}])
def test_a_table_without_the_sites_column_is_refused_by_name(source, more):
    own = source | more | {"site_column": "centre"}

    with pytest.raises(CohortError, match=r"people\.tsv: column centre is missing; the table has"):
        read_series_study(own, GROUPS)


def test_a_table_without_ids_is_refused_by_name(source, tmp_path):
    people = (tmp_path / "people.tsv").read_text().replace("participant_id", "who")
    (tmp_path / "people.tsv").write_text(people)

    with pytest.raises(CohortError, match=r"people\.tsv: column participant_id is missing"):
        read_series_study(source | {"id_pattern": ".*"}, GROUPS)


@pytest.fixture
def xcpd(source, tmp_path, rng):
    """Give the series of two subjects as XCP-D writes them, with motion and censored volumes."""
    (tmp_path / "pair.tsv").write_text("participant_id\tsite\tDX\n01\tA\t1\n02\tA\t2\n")
    for who in ("01", "02"):
        series = pd.DataFrame(rng.normal(size=(6, 3)), columns=ROIS)
        write_xcpd_run(tmp_path / "xcpd", who, "task-rest", series, np.zeros(6), np.zeros(6))
    del source["series"]
    return source | {
        "participants": str(tmp_path / "pair.tsv"), "dataset": str(tmp_path / "xcpd"),
        "layout": "xcpd", "bold": {"task": "rest"},
    }  # fmt: skip


def test_motion_and_censored_volumes_and_sidecars_are_inputs_beside_the_series(xcpd, tmp_path):
    study = read_series_study(xcpd, GROUPS)

    everything = {str(path) for path in (tmp_path / "xcpd").rglob("*.*")}
    assert study.files == {path for path in everything if path.endswith("timeseries.tsv")}
    subjects = [who.removeprefix("sub-") for who in study.runs]
    assert {path for who in subjects for path in study.files_of(who)} == everything
    assert len(everything) == 8


@pytest.mark.parametrize("more", [{}, {"group_values": {1: "1", 2: "2"}}])
def test_files_and_arrays_may_have_any_name_of_the_subject_whatever_the_settings(
    source, more, tmp_path
):
    (tmp_path / "sub-04_aal.1D").rename(tmp_path / "04_aal.1D")

    study = read_series_study(source | more, GROUPS)

    names = ("0050003", "04", "S1-1-0001", "sub-S120001")
    assert study.files == {str(tmp_path / f"{name}_aal.1D") for name in names}
    assert study.names["sub-S110001"] == ["S1-1-0001", "sub-S110001", "S110001"]
    assert study.names["sub-04"] == ["sub-04", "04"]


@pytest.mark.parametrize("own", ["0050003", "{site}"])
def test_one_table_cannot_be_the_series_of_everyone_who_is_enrolled(source, own, tmp_path):
    (tmp_path / "01_aal.1D").touch()
    series = source["series"].replace("{participant_id}", own)
    changed = source | {"series": series, "group_values": {1: "1", 2: "2"}}

    with pytest.raises(CohortError, match=r"_aal\.1D: one file of several .* must be an \.npz"):
        read_series_study(changed, GROUPS)


def test_sites_and_groups_stay_as_they_are_in_columns_that_are_renamed(source, tmp_path):
    people = (tmp_path / "people.tsv").read_text().replace("site\tDX", "centre\tdiagnosis")
    (tmp_path / "people.tsv").write_text(people.replace("0050003\t01\t1", "0050003\t01\t"))
    renamed = source | {"columns": {"centre": "site", "diagnosis": "DX"}, "on_problem": "exclude"}

    study = read_series_study(renamed, GROUPS)

    assert study.participants["site"].tolist() == ["01"] * 3
    assert study.participants["group"].tolist() == ["1", "2", "2"]
