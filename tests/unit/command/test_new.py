"""Settings written for a folder of data of every kind, planned by the study's own readers."""

import json

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import yaml
from tests.tiny_images import tiny_bold, tiny_t1w
from tests.unit.study.derived_trees import write_giga_run, write_xcpd_run
from tests.workflow.srpbs_release import ACQUISITIONS, tiny_release

from notears_pfl.command.new import new_study
from notears_pfl.command.study import merged_settings, plan_of
from notears_pfl.command.survey import survey
from notears_pfl.command.workflow import ROOT
from notears_pfl.errors import ConfigError, DatasetError, TableError

PEOPLE = [(f"{s}{g}{i}", s, g) for s in ("COI", "HUH") for g in ("depr", "control") for i in (1, 2)]
SPACE = "MNI152NLin6Asym"


def write_people(folder, rows, columns=("participant_id", "centre", "dx")):
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame([(f"sub-{row[0]}", *row[1:]) for row in rows], columns=list(columns))
    table.to_csv(folder / "participants.tsv", sep="\t", index=False)


def write_raw(folder, rows, task="rest", **sidecar):
    """Write a raw dataset of tiny images."""
    write_people(folder, rows)
    for who, *_ in rows:
        for part in ("anat", "func"):
            (folder / f"sub-{who}" / part).mkdir(parents=True)
        nib.save(tiny_t1w(), folder / f"sub-{who}/anat/sub-{who}_T1w.nii.gz")
        nib.save(tiny_bold(), folder / f"sub-{who}/func/sub-{who}_task-{task}_bold.nii.gz")
    content = {"RepetitionTime": 2.5, "SliceTiming": [0.0, 1.0], **sidecar}
    content = {key: value for key, value in content.items() if value is not None}
    (folder / f"task-{task}_bold.json").write_text(json.dumps(content))


def write_derived(folder, rows):
    """Write fMRIPrep's output of tiny images; the table of participants is beside it."""
    write_people(folder.parent, rows)
    for who, *_ in rows:
        stem = folder / f"sub-{who}/func/sub-{who}_task-rest"
        stem.parent.mkdir(parents=True)
        for space in (SPACE, "T1w"):
            image = f"{stem}_space-{space}_desc-preproc_bold"
            nib.save(tiny_bold(), f"{image}.nii.gz")
            (stem.parent / f"{image.rsplit('/', 1)[-1]}.json").write_text('{"RepetitionTime": 2}')
        (stem.parent / f"{stem.name}_desc-confounds_timeseries.tsv").write_text("csf\n1\n")


def raw(folder):
    write_raw(folder, PEOPLE)


def one_dataset_per_site(folder):
    # The same labels at both sites.
    for site in ("COI", "HUH"):
        write_raw(folder / site, [(f"{g}{i}", "", g) for g in ("depr", "control") for i in (1, 2)])


def derived(folder):
    write_derived(folder / "fmriprep", PEOPLE)


def release(folder):
    sites = (("COI", 1), ("HUH", 5))
    counts = {(site, group, n): 2 for site, n in sites for group in ("HC", "MDD", "ASD")}
    tiny_release(folder, counts, ACQUISITIONS)


def archive(folder):
    write_people(folder, PEOPLE)
    np.savez(folder / "series.npz", **{f"sub-{who}": np.zeros((3, 116)) for who, *_ in PEOPLE})


def numbered_files(folder):
    """Write files as ABIDE names them, with the groups 1 and 2, in a folder of their own."""
    (folder / "rois").mkdir(parents=True)
    rows = [(f"0050{s}{g}{i}", f"0{s}", g) for s in (1, 2) for g in (1, 2) for i in range(2)]
    people = pd.DataFrame(rows, columns=["participant_id", "SITE_ID", "DX_GROUP"])
    people.assign(group="unused").to_csv(folder / "phenotypes.tsv", sep="\t", index=False)
    for who, *_ in rows:
        (folder / f"rois/Pitt_{who}_rois_aal.1D").write_text("1 2 3\n")


def other_id(folder):
    """Write series whose subjects are in a column of another name, behind one of numbers."""
    write_people(folder, PEOPLE, ("SUB_ID", "centre", "dx"))
    table = pd.read_csv(folder / "participants.tsv", sep="\t")
    table.insert(0, "number", range(100, 108))
    table.to_csv(folder / "participants.tsv", sep="\t", index=False)
    for who, *_ in PEOPLE:
        (folder / f"{who}.1D").write_text("1 2 3\n")


def subject_folders(folder):
    """Write series of one session in a folder of every subject, whose name is also a session's."""
    write_people(folder, [(f"0{i}", s, g) for i, (_, s, g) in enumerate(PEOPLE)])
    for i in range(len(PEOPLE)):
        place = folder / f"sub-0{i}/ses-01"
        place.mkdir(parents=True)
        (place / f"sub-0{i}_ses-01_signals.1D").write_text("1 2 3\n")


def commas(folder):
    """Write series and a table of participants that are separated by commas."""
    write_people(folder, PEOPLE)
    table = pd.read_csv(folder / "participants.tsv", sep="\t")
    table.to_csv(folder / "people.csv", index=False)
    (folder / "participants.tsv").unlink()
    for who, *_ in PEOPLE:
        (folder / f"sub-{who}.csv").write_text("A,B\n1,2\n")


def same_names(folder):
    """Write files that only the folder tells apart, by ids without sub-."""
    write_people(folder, PEOPLE)
    for who, *_ in PEOPLE:
        (folder / who).mkdir()
        (folder / who / "rois.1D").write_text("1 2 3\n")


def of_xcpd(folder):
    """Write XCP-D's output with two atlases, a cleaned image, and a third group."""
    write_people(folder.parent, [*PEOPLE, ("COIbip1", "COI", "bip. II")])
    for who in (*(who for who, *_ in PEOPLE), "COIbip1"):
        for atlas in ("atlas-4S156Parcels", "atlas-Glasser"):
            series = pd.DataFrame(np.zeros((3, 2)), columns=["LH_Vis_1", "LH_Vis_2"])
            write_xcpd_run(folder, who, "task-rest", series, np.zeros(3), np.zeros(3), atlas)
        stem = folder / f"sub-{who}/func/sub-{who}_task-rest"
        nib.save(tiny_bold(), f"{stem}_space-{SPACE}_desc-denoised_bold.nii.gz")


def of_giga(folder):
    write_people(folder, PEOPLE)
    for who, *_ in PEOPLE:
        write_giga_run(folder, who, "task-rest", np.zeros((3, 2)))


# Folder to name, number of subjects, and what the plan of the study must have.
TREES = {
    raw: (".", "bids", 8, ["depr", "control"], ["COI", "HUH"]),
    one_dataset_per_site: (".", "bids", 8, ["depr", "control"], ["COI", "HUH"]),
    derived: ("fmriprep", "fmriprep", 8, ["depr", "control"], ["COI", "HUH"]),
    release: (".", "srpbs", 8, ["MDD", "HC"], ["COI", "HUH"]),
    archive: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    numbered_files: (".", "timeseries", 8, ["patients", "controls"], ["01", "02"]),
    other_id: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    of_xcpd: ("xcp_d", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    of_giga: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    subject_folders: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    commas: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
    same_names: (".", "timeseries", 8, ["depr", "control"], ["COI", "HUH"]),
}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.__name__)
def test_the_settings_for_every_kind_of_data_are_a_study_that_can_run(tree, here, tmp_path, capsys):
    folder, kind, n_subjects, groups, sites = TREES[tree]
    data = tmp_path / "data" / folder
    tree(data if tree is of_xcpd else tmp_path / "data")

    code = new_study(data, here / "config/mine.yaml", None)

    assert code == 0, capsys.readouterr().out
    plan = plan_of(here / "config/mine.yaml")
    assert (plan.kind, plan.groups, sorted(plan.sites)) == (kind, groups, sites)
    assert len(plan.subjects) == n_subjects
    told = capsys.readouterr().out
    assert f"{n_subjects} subjects at 2 sites" in told
    assert "notears-pfl study run" in told


def test_series_of_other_programs_are_read_by_their_layout(here, tmp_path, capsys):
    of_xcpd(tmp_path / "data/xcp_d")
    of_giga(tmp_path / "giga")

    new_study(tmp_path / "data/xcp_d", here / "config/xcpd.yaml", None)
    new_study(tmp_path / "giga", here / "config/giga.yaml", None)

    told = capsys.readouterr().out
    assert "xcp_d: series of XCP-D, table of 9 subjects" in told
    assert "differ (files): atlas-4S156Parcels 9, atlas-Glasser 9" in told
    assert "giga: series of giga_connectome, table of 8 subjects" in told
    xcpd, giga = (yaml.safe_load((here / f"config/{n}.yaml").read_text()) for n in ("xcpd", "giga"))
    assert xcpd["source"] == {
        "kind": "timeseries", "layout": "xcpd", "dataset": str(tmp_path / "data/xcp_d"),
        "participants": str(tmp_path / "data/participants.tsv"), "site_column": "centre",
        "group_column": "dx", "group_values": {"bip. II": "other"},
        "bold": {"atlas": "4S156Parcels"}, "on_problem": "stop",
    }  # fmt: skip
    assert giga["source"]["layout"] == "giga_connectome"
    assert "bold" not in giga["source"]
    assert "preproc" not in giga


def test_series_that_were_not_fetched_are_found_by_their_names(tmp_path):
    of_xcpd(tmp_path / "xcp_d")
    for table in (tmp_path / "xcp_d").rglob("*_timeseries.tsv"):
        table.unlink()
        table.symlink_to("../../.git/annex/none")

    assert survey(tmp_path / "xcp_d").layout == "xcpd"


def test_images_of_another_program_alone_are_no_raw_data(tmp_path):
    of_xcpd(tmp_path / "xcp_d")
    for table in (tmp_path / "xcp_d").rglob("*_timeseries.tsv"):
        table.unlink()

    with pytest.raises(DatasetError, match=r"no data that the workflow reads: .*XCP-D"):
        survey(tmp_path / "xcp_d")


def test_a_table_without_the_names_of_the_series_is_refused_with_its_columns(tmp_path):
    other_id(tmp_path / "data")
    table = tmp_path / "people.tsv"
    table.write_text("code\tcentre\tdx\nX1\tCOI\tdepr\n")

    with pytest.raises(DatasetError, match=r"people\.tsv: no column .* code, centre, dx\. Add"):
        survey(tmp_path / "data", table)


def test_a_damaged_archive_alone_is_refused_by_name(tmp_path):
    write_people(tmp_path, PEOPLE)
    (tmp_path / "series.npz").write_bytes(b"PK?")

    with pytest.raises(TableError, match=r"series\.npz: cannot be read"):
        survey(tmp_path)


def test_without_series_it_is_said_what_can_be_read_whatever_table_was_named(tmp_path):
    write_people(tmp_path, PEOPLE)
    (tmp_path / "notes.csv").write_text("status,what\ndone,scans, and more\n")
    (tmp_path / "README.txt").write_text("# Scans\nThe scans of 2021.\n")
    (tmp_path / "IM0001.dcm").touch()

    for table in (None, tmp_path / "participants.tsv"):
        with pytest.raises(DatasetError, match=r"no data that the workflow reads: .*IM0001"):
            survey(tmp_path, table)


def test_a_file_of_numbers_is_told_from_a_text_where_no_subject_has_a_series(tmp_path):
    write_people(tmp_path, PEOPLE)
    (tmp_path / "README.txt").write_text("The series.\n")
    (tmp_path / "x.1D").write_text("# names\n1 -2.5e-3 NaN\n")

    with pytest.raises(DatasetError, match=r"no column has the names .*, such as x\.1D; its"):
        survey(tmp_path, tmp_path / "participants.tsv")


def test_the_subject_is_written_as_in_the_table_where_its_files_allow(here, tmp_path):
    for name, write in (("plain", numbered_files), ("folders", subject_folders)):
        write(tmp_path / name)

    series = {name: survey(tmp_path / name).series for name in ("plain", "folders")}

    stem = "{participant_id}"
    assert series == {
        "plain": f"{tmp_path}/plain/rois/Pitt_{stem}_rois_aal.1D",
        "folders": f"{tmp_path}/folders/{stem}/ses-01/{stem}_ses-01_signals.1D",
    }


def test_only_what_differs_is_written_and_explained(here, tmp_path):
    raw(tmp_path / "data")

    new_study(tmp_path / "data", here / "config/mine.yaml", None)

    text = (here / "config/mine.yaml").read_text()
    assert yaml.safe_load(text) == {
        "source": {
            "kind": "bids", "dataset": str(tmp_path / "data"), "site_column": "centre",
            "group_column": "dx", "on_problem": "stop",
        },
        "groups": {"patients": "depr", "controls": "control"},
    }  # fmt: skip
    assert text.count("#") >= 4
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert merged_settings(here / "config/mine.yaml")["cohort"] == default["cohort"]


def test_what_is_there_is_said(here, tmp_path, capsys):
    raw(tmp_path / "data")
    second = tmp_path / "data/sub-COIdepr1/func/sub-COIdepr1_task-rest_run-2_bold.nii.gz"
    nib.save(tiny_bold(), second)

    new_study(tmp_path / "data", here / "config/mine.yaml", None)

    told = capsys.readouterr().out
    assert "data: raw BIDS, table of 8 subjects" in told
    assert "sites (column centre): COI 4, HUH 4" in told
    assert "groups (column dx): control 4, depr 4" in told
    assert "tasks (subjects): rest 8" in told
    assert "repetition times (images): 2.5 s 9" in told
    # As it is with source.runs: all, the default.
    assert "subjects with several runs: 1; all of them are used and joined, unless" in told
    assert merged_settings(here / "config/mine.yaml")["source"].get("runs", "all") == "all"


def test_other_tasks_other_groups_and_missing_slice_times_are_provided_for(here, tmp_path):
    rows = [*PEOPLE, ("COIbip1", "COI", "bip. II")]
    write_raw(tmp_path / "data", rows, task="restEyesOpen", SliceTiming=None)

    code = new_study(tmp_path / "data", here / "config/mine.yaml", None)

    settings = yaml.safe_load((here / "config/mine.yaml").read_text())
    assert code == 0
    assert settings["source"]["bold"] == {"task": "restEyesOpen"}
    assert settings["source"]["group_values"] == {"bip. II": "other"}
    assert settings["preproc"] == {"slice_timing": False}
    assert len(plan_of(here / "config/mine.yaml").subjects) == 8


def test_groups_of_series_whose_names_have_blanks_are_mapped(here, tmp_path):
    groups = {"depr": "Major Depression", "control": "Healthy Control"}
    rows = [(who, site, groups[g]) for who, site, g in PEOPLE] + [("COIbip1", "COI", "bip. II")]
    write_people(tmp_path / "data", rows)
    for who, *_ in rows:
        (tmp_path / f"data/sub-{who}.1D").write_text("1 2 3\n")

    code = new_study(tmp_path / "data", here / "config/mine.yaml", None)

    settings = yaml.safe_load((here / "config/mine.yaml").read_text())
    assert code == 0
    assert settings["groups"] == {"patients": "MajorDepression", "controls": "HealthyControl"}
    assert settings["source"]["group_values"] == {
        "Major Depression": "MajorDepression", "Healthy Control": "HealthyControl",
        "bip. II": "other",
    }  # fmt: skip
    assert len(plan_of(here / "config/mine.yaml").subjects) == 8


def test_one_site_needs_no_column(here, tmp_path):
    write_raw(tmp_path / "data", PEOPLE[:4])
    table = pd.read_csv(tmp_path / "data/participants.tsv", sep="\t").drop(columns="centre")
    table.to_csv(tmp_path / "data/participants.tsv", sep="\t", index=False)

    code = new_study(tmp_path / "data", here / "config/mine.yaml", None)

    assert code == 0
    assert plan_of(here / "config/mine.yaml").sites == ["Site1"]
    assert "CHECK" in (here / "config/mine.yaml").read_text()


def test_all_problems_are_listed_with_the_next_step_and_the_settings_stay(here, tmp_path, capsys):
    raw(tmp_path / "data")
    (tmp_path / "data/sub-COIdepr1/anat/sub-COIdepr1_T1w.nii.gz").unlink()
    (tmp_path / "data/sub-HUHdepr1/func/sub-HUHdepr1_bold.json").write_text("{")

    code = new_study(tmp_path / "data", here / "config/mine.yaml", None)

    told = capsys.readouterr().out
    assert code == 1
    assert "2 of 8 subjects cannot be used" in told
    assert "sub-COIdepr1: no T1w image" in told
    assert "sub-HUHdepr1" in told
    assert "then: notears-pfl study check" in told
    assert (here / "config/mine.yaml").is_file()


def test_settings_that_exist_are_not_overwritten(here, tmp_path):
    (here / "mine.yaml").write_text("seed: 1\n")
    write_raw(tmp_path / "data", PEOPLE)

    with pytest.raises(ConfigError, match=r"mine\.yaml: exists already\. Name another"):
        new_study(tmp_path / "data", here / "mine.yaml", None)


def test_only_the_default_settings_are_copied_and_no_other_studys(here, tmp_path):
    write_raw(tmp_path / "data", PEOPLE)

    new_study(tmp_path / "data", here / "config/mine.yaml", None)

    copied = {path.name for path in (here / "config").iterdir()}
    assert copied == {"config.yaml", "sites.tsv", "rois.tsv", "published", "mine.yaml"}


def test_a_folder_without_data_is_refused_with_what_it_has(tmp_path):
    (tmp_path / "notes.docx").touch()

    with pytest.raises(DatasetError, match=r"no data that the workflow reads: .* It has notes"):
        survey(tmp_path)
    with pytest.raises(DatasetError, match="nowhere: no such folder"):
        survey(tmp_path / "nowhere")


def test_data_without_a_table_of_participants_are_refused_with_the_next_step(tmp_path):
    raw(tmp_path / "a/b/data")
    table = tmp_path / "a/b/data/participants.tsv"
    table.rename(tmp_path / "people.tsv")

    with pytest.raises(DatasetError, match=r"no participants\.tsv says who .* --participants"):
        survey(tmp_path / "a/b/data")
    assert len(survey(tmp_path / "a/b/data", tmp_path / "people.tsv").table) == 8


def test_a_column_of_groups_with_one_value_is_told_from_a_missing_one(here, tmp_path, capsys):
    write_raw(tmp_path / "data", [(name, site, "HC") for name, site, _ in PEOPLE])
    table = tmp_path / "data/participants.tsv"
    table.write_text(table.read_text().replace("dx", "group"))

    new_study(tmp_path / "data", here / "mine.yaml", None)

    said = capsys.readouterr().out
    assert "  groups: column group has 1 value, but two or a few were needed\n" in said
    assert "not used" not in said
