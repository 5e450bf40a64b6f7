"""The user's own datasets: every subject is enrolled, or listed with its problems."""

import re
import shutil
from pathlib import Path

import nibabel as nib
import pandas as pd
import pytest
import yaml
from tests.tiny_images import tiny_bold, tiny_t1w

from notears_pfl.cohort.assemble import assemble_cohort
from notears_pfl.cohort.exclusion import Limits
from notears_pfl.cohort.table_one import flow_table
from notears_pfl.errors import CohortError, ConfigError
from notears_pfl.io.sidecars import write_json
from notears_pfl.io.tables import read_table, write_table
from notears_pfl.study import participants
from notears_pfl.study.configuration import StudyTables
from notears_pfl.study.participants import standard_participants
from notears_pfl.study.sources import read_source

GROUPS = ("MDD", "HC")
DX = ("depr", "control")
SIDECAR = {"RepetitionTime": 2.5, "SliceTiming": [0.0, 1.0]}


def add_subject(dataset, name, **without):
    """Write tiny images of a subject; ``t1w=False`` or ``bold=False`` leaves one out."""
    images = {
        "t1w": (tiny_t1w(), f"anat/{name}_T1w.nii.gz"),
        "bold": (tiny_bold(), f"func/{name}_task-rest_bold.nii.gz"),
    }
    for kind, (image, path) in images.items():
        (dataset / name / path).parent.mkdir(parents=True, exist_ok=True)
        if without.get(kind, True):
            nib.save(image, dataset / name / path)


def add_dataset(dataset, rows):
    for name, *_ in rows:
        add_subject(dataset, name)
    table = pd.DataFrame(rows, columns=["participant_id", "centre", "dx", "age"])
    table.to_csv(dataset / "participants.tsv", sep="\t", index=False)
    write_json(SIDECAR, dataset / "task-rest_bold.json")


ROWS = [
    (f"sub-{site}{dx}{i}", site, dx, 20 + i)
    for site in ("COI", "HUH")
    for dx in ("depr", "control")
    for i in (1, 2)
]


@pytest.fixture
def dataset(tmp_path):
    add_dataset(tmp_path / "bids", ROWS)
    return tmp_path / "bids"


@pytest.fixture
def settings(dataset):
    source = {
        "kind": "bids", "dataset": str(dataset), "site_column": "centre", "group_column": "dx",
        "group_values": {"depr": "MDD", "control": "HC"}, "on_problem": "stop",
        "prefix_site": False, "bold": {"task": "rest"}, "t1w": {},
    }  # fmt: skip
    preproc = {"drop_volumes": 10, "slice_timing": True, "clean": {"band_hz": [0.01, 0.08]}}
    return {"source": source, "preproc": preproc}


def enrol(settings, **changes):
    changed = {**settings, "source": settings["source"] | changes}
    tables = StudyTables(pd.DataFrame(), pd.DataFrame(), GROUPS)
    return read_source(changed, tables, "my.yaml").enrolment


def reasons(enrolment):
    return enrolment.participants.set_index("participant_id")["not_enrolled"]


def test_a_good_dataset_is_enrolled_whole(settings, dataset):
    enrolment = enrol(settings)

    assert enrolment.enrolled["participant_id"].tolist() == [row[0] for row in ROWS]
    assert enrolment.enrolled["group"].tolist() == ["MDD", "MDD", "HC", "HC"] * 2
    assert enrolment.sites == ["COI", "HUH"]
    scan = enrolment.scans["sub-COIdepr1"][0]
    assert scan.t1w == str(dataset / "sub-COIdepr1/anat/sub-COIdepr1_T1w.nii.gz")
    assert scan.bold == str(dataset / "sub-COIdepr1/func/sub-COIdepr1_task-rest_bold.nii.gz")
    assert scan.sidecars == (str(dataset / "task-rest_bold.json"),)
    assert scan.repetition_time == 2.5
    assert enrolment.rows()["age"] == [21, 22] * 4


@pytest.fixture
def spoilt(dataset):
    """Give every kind of problem at once."""
    table = pd.read_csv(dataset / "participants.tsv", sep="\t", dtype=str)
    table.loc[0, "dx"] = "dperession"
    table.loc[1, "centre"] = None
    table.loc[len(table)] = ["sub-absent", "COI", "depr", "30"]
    table.to_csv(dataset / "participants.tsv", sep="\t", index=False)
    add_subject(dataset, "sub-stranger")
    (dataset / "sub-COIcontrol1/anat/sub-COIcontrol1_T1w.nii.gz").unlink()
    (dataset / "sub-COIcontrol2/func/sub-COIcontrol2_task-rest_bold.nii.gz").unlink()
    write_json({"RepetitionTime": 2.0}, dataset / "sub-HUHdepr1/func/sub-HUHdepr1_bold.json")
    write_json({"RepetitionTime": 0}, dataset / "sub-HUHdepr2/func/sub-HUHdepr2_bold.json")
    (dataset / "sub-HUHcontrol1/func/sub-HUHcontrol1_bold.json").write_text("{")
    return dataset


EXPECTED = {
    "sub-COIdepr1": "dx is 'dperession', neither MDD nor HC",
    "sub-COIdepr2": "centre is missing",
    "sub-COIcontrol1": "no T1w image",
    "sub-COIcontrol2": "no BOLD run with task-rest",
    "sub-HUHdepr2": "RepetitionTime is 0",
    "sub-HUHcontrol1": "cannot be read as JSON",
    "sub-absent": "has no folder",
    "sub-stranger": "has a folder in",
}


def test_every_problem_is_named_at_once_before_anything_runs(settings, spoilt):
    with pytest.raises(CohortError) as refusal:
        enrol(settings)

    message = str(refusal.value)
    assert "subjects cannot be used" in message
    assert "source.on_problem" in message
    for who, why in EXPECTED.items():
        assert any(who in line and why in line for line in message.splitlines()), who


def test_those_with_problems_can_be_excluded_and_keep_their_reasons(settings, spoilt):
    for name in ("sub-HUHdepr3", "sub-HUHdepr4", "sub-HUHdepr5"):
        add_subject(spoilt, name)
    table = pd.read_csv(spoilt / "participants.tsv", sep="\t", dtype=str)
    more = pd.DataFrame({"participant_id": [f"sub-HUHdepr{i}" for i in (3, 4, 5)]})
    more = more.assign(centre="HUH", dx="depr", age="30")
    pd.concat([table, more]).to_csv(spoilt / "participants.tsv", sep="\t", index=False)

    enrolment = enrol(settings, on_problem="exclude")

    found = reasons(enrolment)
    for who, why in EXPECTED.items():
        assert why in found[who]
    assert "is 2 s, but at site HUH most have 2.5 s" in found["sub-HUHdepr1"]
    assert set(enrolment.scans) == set(found.index[found == ""])
    assert set(enrolment.scans) == {"sub-HUHcontrol2", *more["participant_id"]}
    assert enrolment.sites == ["HUH"]
    assert any("of 13 subjects cannot be used" in line for line in enrolment.notices)


def test_everyone_excluded_is_in_the_cohort_and_its_flow(settings, dataset, tmp_path):
    table = pd.read_csv(dataset / "participants.tsv", sep="\t", dtype=str)
    table.loc[0, "dx"] = table.loc[4, "centre"] = None
    table.to_csv(dataset / "participants.tsv", sep="\t", index=False)
    add_subject(dataset, "sub-stranger")
    with open(dataset / "participants.tsv", "a") as file:
        for who in ("sub-COIdepr9", "sub-HUHdepr9"):
            add_subject(dataset, who)
            file.write(f"{who}\t{who[4:7]}\tdepr\t30\n")

    enrolment = enrol(settings, on_problem="exclude")
    write_table(pd.DataFrame(enrolment.rows()), tmp_path / "all.tsv", index=False)
    everybody = standard_participants(read_table(tmp_path / "all.tsv"), "site", "group", "all.tsv")
    ok = {who: {"status": "ok"} for who in enrolment.scans}
    limits = Limits(1, 1, 1, 0)
    cohort = assemble_cohort(everybody, ok, GROUPS, enrolment.sites, limits, 0.5, 1)

    why = cohort.set_index("participant_id")["exclusion"]
    assert "dx is missing" in why["sub-COIdepr1"]
    assert "centre is missing" in why["sub-HUHdepr1"]
    assert "no row in" in why["sub-stranger"]
    assert flow_table(cohort)["found"].sum() == 11


def test_a_group_may_be_left_out_on_purpose_whatever_its_scans(settings, dataset):
    add_dataset(dataset, [*ROWS, ("sub-BD1", "COI", "bipolar", 50)])
    (dataset / "sub-BD1/anat/sub-BD1_T1w.nii.gz").unlink()

    enrolment = enrol(settings, group_values={"depr": "MDD", "control": "HC", "bipolar": "other"})

    assert reasons(enrolment)["sub-BD1"] == "the group is not part of this study"
    assert len(enrolment.scans) == 8
    assert any("1 subject is excluded: the group is not part" in line for line in enrolment.notices)


def test_a_site_without_patients_is_left_out_with_a_line(settings, dataset):
    add_dataset(dataset, [*ROWS, ("sub-KUT1", "KUT", "control", 50)])

    enrolment = enrol(settings)

    assert enrolment.sites == ["COI", "HUH"]
    assert reasons(enrolment)["sub-KUT1"] == "site KUT lacks one of the groups"
    assert "sub-KUT1" not in enrolment.scans
    assert any("site KUT is excluded: it has no MDD" in line for line in enrolment.notices)


@pytest.fixture
def two_datasets(settings, tmp_path):
    rows = [("sub-01", "", "depr", 20), ("sub-02", "", "control", 30)]
    for site in ("NSK", "OSL"):
        add_dataset(tmp_path / site, rows)
    return {site: str(tmp_path / site) for site in ("NSK", "OSL")}


def test_a_dataset_per_site_gives_the_site_and_namesakes_are_refused(settings, two_datasets):
    with pytest.raises(CohortError, match=r"2 subjects are in more than one dataset.*prefix_site"):
        enrol(settings, dataset=two_datasets)


def test_namesakes_can_be_told_apart_by_their_site(settings, two_datasets):
    enrolment = enrol(settings, dataset=two_datasets, prefix_site=True)

    assert enrolment.enrolled["participant_id"].tolist() == [
        "sub-NSK01", "sub-NSK02", "sub-OSL01", "sub-OSL02",
    ]  # fmt: skip
    assert enrolment.scans["sub-OSL02"][0].bold.startswith(two_datasets["OSL"])
    assert len(enrolment.tables) == 2


def notice_of_names(enrolment):
    return [line for line in enrolment.notices if "keep only letters" in line]


@pytest.mark.parametrize(("prefix_site", "first"), [(False, "sub-NSKa1"), (True, "sub-NSKNSKa1")])
def test_names_that_change_are_told_as_the_study_uses_them(settings, tmp_path, prefix_site, first):
    datasets = {site: str(tmp_path / site) for site in ("NSK", "OSL")}
    for site, root in datasets.items():
        rows = [(f"{site}a+{i}", "New York", dx, 20) for i, dx in enumerate(DX, start=1)]
        add_dataset(Path(root), [(f"sub-{who}", *others) for who, *others in rows])

    enrolment = enrol(settings, dataset=datasets, prefix_site=prefix_site)

    assert enrolment.enrolled["participant_id"].iloc[0] == first
    notice, _ = notice_of_names(enrolment)
    assert "New York" not in notice
    assert f"letters and digits: subjects sub-NSKa+1 → {first}, sub-NSKa+2 → " in notice


def test_of_a_shared_table_the_sites_names_are_told(settings, two_datasets, tmp_path):
    rows = [f"a+{i}\t{site}\t{DX[i - 1]}" for site in ("N-SK", "OSL") for i in (1, 2)]
    (tmp_path / "all.tsv").write_text("\n".join(["participant_id\tcentre\tdx", *rows]))
    for root in two_datasets.values():
        for i in (1, 2):
            shutil.rmtree(Path(root) / f"sub-0{i}")
            add_subject(Path(root), f"sub-a+{i}")

    enrolment = enrol(
        settings, dataset=two_datasets, prefix_site=True, participants=str(tmp_path / "all.tsv")
    )

    names = enrolment.enrolled["participant_id"].tolist()
    assert names == ["sub-NSKa1", "sub-NSKa2", "sub-OSLa1", "sub-OSLa2"]
    (notice,) = notice_of_names(enrolment)
    told = ", ".join(f"a+{who[-1]} → {who}" for who in names)
    assert notice.endswith(f": sites N-SK → NSK; subjects {told}.")


def test_a_table_of_participants_is_read_once(settings, shared_table, monkeypatch):
    read = []

    def noted(path, **options):
        read.append(path)
        return read_table(path, **options)

    monkeypatch.setattr(participants, "read_table", noted)

    enrol(settings, **shared_table)

    assert read == [shared_table["participants"]]


def test_a_table_of_participants_elsewhere_is_found_by_site(settings, two_datasets, tmp_path):
    for site, root in two_datasets.items():
        (tmp_path / f"{site}.tsv").write_bytes((tmp_path / root / "participants.tsv").read_bytes())
        (tmp_path / root / "participants.tsv").unlink()

    enrolment = enrol(
        settings, dataset=two_datasets, prefix_site=True, participants=f"{tmp_path}/{{site}}.tsv"
    )

    assert len(enrolment.scans) == 4


@pytest.fixture
def shared_table(two_datasets, tmp_path):
    """Write one table for two datasets that have two subjects each, 1 and 2, and 3 and 4."""
    for i, (site, old) in enumerate([(s, o) for s in two_datasets for o in ("01", "02")]):
        shutil.rmtree(tmp_path / site / f"sub-{old}")
        add_subject(tmp_path / site, f"sub-{i + 1}")
    rows = [(f"sub-{i + 1}", "NSK" if i < 2 else "OSL", dx) for i, dx in enumerate(DX * 2)]
    table = pd.DataFrame(rows, columns=["participant_id", "centre", "dx"])
    table.to_csv(tmp_path / "all.tsv", sep="\t", index=False)
    return {"dataset": two_datasets, "participants": str(tmp_path / "all.tsv")}


def test_of_a_table_for_several_datasets_each_takes_its_rows(settings, shared_table):
    enrolment = enrol(settings, **shared_table)

    assert enrolment.enrolled["site"].tolist() == ["NSK", "NSK", "OSL", "OSL"]
    assert sorted(enrolment.scans) == ["sub-1", "sub-2", "sub-3", "sub-4"]


def test_rows_of_a_shared_table_that_no_dataset_has_are_listed(settings, shared_table, tmp_path):
    with open(tmp_path / "all.tsv", "a") as file:
        file.write("sub-5\tKUT\tdepr\nsub-6\t\tdepr\n")
    add_subject(tmp_path / "OSL", "sub-6")

    enrolment = enrol(settings, **shared_table, on_problem="exclude")

    why = reasons(enrolment)
    assert why["sub-5"] == "site KUT has no dataset in source.dataset"
    assert "centre is missing" in why["sub-6"]
    assert len(why) == 6
    with pytest.raises(CohortError, match=r"1 of 6 subjects cannot be used"):
        enrol(settings, **shared_table)


def test_namesakes_in_a_shared_table_can_be_told_apart(settings, two_datasets, tmp_path):
    rows = [f"0{i}\t{site}\t{DX[i - 1]}" for site in two_datasets for i in (1, 2)]
    (tmp_path / "all.tsv").write_text("\n".join(["participant_id\tcentre\tdx", *rows]))

    enrolment = enrol(
        settings, dataset=two_datasets, prefix_site=True, participants=str(tmp_path / "all.tsv")
    )

    assert sorted(enrolment.scans) == ["sub-NSK01", "sub-NSK02", "sub-OSL01", "sub-OSL02"]


def test_a_shared_table_without_sites_is_refused(settings, shared_table):
    with pytest.raises(CohortError, match=r"column site is missing; .*give one table per site"):
        enrol(settings, **shared_table, site_column="site")


def test_a_table_without_the_sites_column_is_refused_with_both_remedies(settings):
    with pytest.raises(CohortError, match=r"column site is missing; .*centre.*source\.dataset: \{"):
        enrol(settings, site_column="site")


@pytest.fixture
def several_runs(dataset):
    """Give a subject three runs, the first of them with another repetition time."""
    func = dataset / "sub-HUHdepr1/func"
    (func / "sub-HUHdepr1_task-rest_bold.nii.gz").unlink()
    for run in (1, 2, 3):
        nib.save(tiny_bold(), func / f"sub-HUHdepr1_task-rest_run-{run}_bold.nii.gz")
    write_json({"RepetitionTime": 2.0}, func / "sub-HUHdepr1_task-rest_run-1_bold.json")


def test_the_pattern_of_runs_matches_labels_with_a_plus(settings, dataset):
    func = dataset / "sub-HUHdepr1/func"
    image = func / "sub-HUHdepr1_task-rest_bold.nii.gz"
    image.rename(func / "sub-HUHdepr1_task-rest_acq-a+b_bold.nii.gz")
    tables = StudyTables(pd.DataFrame(), pd.DataFrame(), GROUPS)

    pattern = re.compile(read_source(settings, tables, "my.yaml").run_pattern)

    assert pattern.fullmatch("task-rest_acq-a+b")
    assert pattern.fullmatch("task-rest")
    assert not pattern.fullmatch("task-rest_acq-aab")


def test_a_run_with_another_repetition_time_is_left_out_and_its_subject_is_not(
    settings, several_runs
):
    enrolment = enrol(settings, on_problem="exclude")

    assert [scan.run for scan in enrolment.scans["sub-HUHdepr1"]] == [
        "task-rest_run-2", "task-rest_run-3",
    ]  # fmt: skip
    (why,) = enrolment.lost["sub-HUHdepr1"].items()
    assert why[0] == "task-rest_run-1"
    assert "RepetitionTime is 2 s, but at site HUH most have 2.5 s" in why[1]
    (notice,) = [line for line in enrolment.notices if "  sub-HUHdepr1 task-rest_run-1: R" in line]
    assert notice.startswith("1 run cannot be used; its subject is used without it.\n")


def test_a_run_with_another_repetition_time_stops_a_study_that_excludes_nothing(
    settings, several_runs
):
    with pytest.raises(CohortError, match=r"sub-HUHdepr1: task-rest_run-1: RepetitionTime is 2 s"):
        enrol(settings)


def test_a_study_of_which_nobody_is_left_is_refused_with_the_reasons(settings, dataset):
    for image in dataset.glob("*/func/*.nii.gz"):
        image.unlink()
    values = {"depr": "MDD", "control": "other"}

    with pytest.raises(CohortError, match=r"of 8 subjects, none can be processed") as refusal:
        enrol(settings, on_problem="exclude", group_values=values)

    assert "4 subjects are excluded: the group is not part" in str(refusal.value)
    assert "sub-COIdepr1, sub-COIdepr2" in str(refusal.value)
    assert "no BOLD run" in str(refusal.value)


def test_a_band_that_a_sites_repetition_time_cannot_carry_is_refused(settings):
    settings["preproc"]["clean"]["band_hz"] = [0.01, 0.2]

    with pytest.raises(ConfigError, match=r"my\.yaml: preproc\.clean\.band_hz reaches 0\.2 .*COI"):
        enrol(settings)


def test_an_unknown_group_is_shown_as_it_is_written_under_any_name(settings, dataset):
    table = pd.read_csv(dataset / "participants.tsv", sep="\t", dtype=str)
    codes = table["dx"].replace({"depr": "01", "control": "02"}).where(table.index > 0)
    table.assign(dx=codes).to_csv(dataset / "participants.tsv", sep="\t", index=False)

    with pytest.raises(CohortError, match=r"diagnosis is '01', neither MDD nor HC"):
        enrol(settings, columns={"dx": "diagnosis"}, group_column="diagnosis", group_values={})


def test_groups_and_sites_may_be_numbers(settings, dataset):
    codes = {"depr": 2, "control": 0, "COI": "01", "HUH": "02"}
    add_dataset(dataset, [(who, codes[site], codes[dx], age) for who, site, dx, age in ROWS])

    enrolment = enrol(settings, group_values=yaml.safe_load("{2: MDD, 0: HC}"))

    assert len(enrolment.scans) == 8
    assert enrolment.sites == ["01", "02"]
