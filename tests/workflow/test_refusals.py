"""A study that cannot be run is refused before any job starts, with file, value and remedy."""

import gzip
import json

import nibabel as nib
import numpy as np
import pandas as pd
from tests.tiny_images import tiny_bold, tiny_image, tiny_t1w

from .conftest import with_series
from .own_dataset import own_study


def refusal(study, *arguments):
    done = study.snakemake("--cores", "1", *arguments)
    assert done.returncode != 0
    assert not (study.path / "results").exists()
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_an_unknown_key(study):
    study.edit_config(smoothing=6)

    known = "Known: seed, subjects_per_job, source"
    assert f"config/config.yaml: unknown key 'smoothing'. {known}" in refusal(study)


def test_a_negative_fwhm(study):
    study.edit_config(phantom__anatomy__deformation_fwhm_mm=-6)

    message = (
        "config.yaml: 'phantom.anatomy.deformation_fwhm_mm' is -6: -6 is less than the minimum"
    )
    assert message in refusal(study)


def test_a_site_without_a_protocol(study):
    study.edit_table("sites", lambda t: t.assign(repetition_time=["", *t["repetition_time"][1:]]))

    assert "config/sites.tsv row 1: 'repetition_time' is ''" in refusal(study)


def test_fewer_selected_regions_than_expected(study):
    study.edit_table("rois", lambda t: t.assign(selected=["false", *t["selected"][1:]]))

    message = refusal(study)
    assert "config/rois.tsv: 55 regions are selected, but rois.n_selected in" in message
    assert "config/config.yaml is 56." in message


def test_a_site_without_patients(study):
    study.edit_table("sites", lambda t: t.assign(phantom_patients=["6", "0", "6", "6", "6"]))

    message = "config/sites.tsv site KUT: phantom_patients is 0, but every site needs at least 2"
    assert message in refusal(study)


def test_the_message_names_the_file_of_a_users_own_settings(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("seed: -1\n")

    message = refusal(study, "--configfile", str(own))

    assert f"{own}: 'seed' is -1" in message
    assert "config.yaml: 'seed'" not in message


def test_a_source_that_is_blank(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("source:\n")

    assert "'source' is None: None is not of type 'object'" in refusal(
        study, "--configfile", str(own)
    )


def test_a_key_that_stands_twice_in_a_users_own_settings(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("seed: 1\ncohort: {}\nseed: 2\n")

    message = refusal(study, "--configfile", str(own))

    assert "my_study.yaml: the key 'seed' appears twice in lines 1 and 3. Keep one." in message


def test_settings_that_are_not_in_utf8(study):
    file = study.path / "config/config.yaml"
    file.write_bytes(file.read_bytes() + b"# na\xefve\n")
    last = file.read_bytes().count(b"\n")

    assert f"config/config.yaml: cannot be read as YAML (line {last}" in refusal(study)


def test_a_column_to_match_on_that_the_participants_lack(study):
    with_series(study)
    study.edit_config(cohort__match=["mean_fd", "iq"])

    message = refusal(study)

    assert "participants.tsv: cohort.match names 'iq', but there is no such column" in message
    assert "there are participant_id, site, group" in message


def test_participants_that_are_a_folder(study):
    with_series(study)
    study.edit_config(source__participants="config")

    assert "config: cannot be read as a table (it is a folder" in refusal(study)


def test_a_participant_whose_name_is_too_long_for_a_file(study):
    with_series(study)
    table = study.path / "participants.tsv"
    table.write_text(table.read_text().replace("sub-PITTASD0", "sub-" + "x" * 300))

    assert "has 300 letters a to z and digits, but 1 to 128 are needed" in refusal(study)


def without_orientation(image):
    return nib.Nifti1Image(np.asanyarray(image.dataobj), None)


def mirrored(image):
    image.set_qform(np.diag([-4.0, 4.0, 4.0, 1.0]), 1)
    return image


# Images of a subject by suffix, and the words in which the user hears of what is wrong with one.
OFFENDERS = {
    "sub-otherTR": (
        {"bold": tiny_bold(tr=2.0)},
        "The repetition time is 2 s in the header of",
    ),
    "sub-unoriented": (
        {"T1w": without_orientation(tiny_t1w())},
        "_T1w.nii.gz: a stored orientation was needed",
    ),
    "sub-mirrored": ({"bold": mirrored(tiny_bold())}, "(code 1, axes LAS) are mirror images"),
    "sub-single": ({"bold": tiny_bold(n_volumes=1)}, "at least 13 volumes were needed"),
    "sub-several": (
        {"T1w": tiny_image((16, 16, 16, 2), 7.0)},
        "one volume was needed, the shape is (16, 16, 16, 2)",
    ),
    "sub-slab": ({"T1w": tiny_image((16, 16, 4), 7.0)}, "it measures 112 × 112 × 28 mm"),
    "sub-slices": ({"bold": tiny_bold(n_slices=3)}, "SliceTiming lists 2 times for 3 slices"),
    "sub-cut": ({"bold": None}, "_bold.nii.gz: cannot be read as a NIfTI image"),
}


def write_offenders(dataset):
    """Write two good subjects of each group, and one for each kind of bad header."""
    good = {f"sub-{group}{i}": ({}, "") for group in ("MDD", "HC") for i in (1, 2)}
    for name, (images, _) in {**good, **OFFENDERS}.items():
        for kind, image in ({"T1w": tiny_t1w(), "bold": tiny_bold(tr=2.5)} | images).items():
            place = "anat" if kind == "T1w" else "func"
            task = "" if kind == "T1w" else "_task-rest"
            path = dataset / name / place / f"{name}{task}_{kind}.nii.gz"
            path.parent.mkdir(parents=True)
            path.write_bytes(gzip.compress(image.to_bytes()) if image else b"")
    sidecar = {"RepetitionTime": 2.5, "SliceTiming": [0.0, 1.0]}
    (dataset / "task-rest_bold.json").write_text(json.dumps(sidecar))
    groups = {name: "HC" if "HC" in name else "MDD" for name in [*good, *OFFENDERS]}
    table = pd.DataFrame({"participant_id": list(groups), "group": list(groups.values())})
    table.assign(site="COI").to_csv(dataset / "participants.tsv", sep="\t", index=False)


def test_images_whose_headers_show_that_they_cannot_be_used_all_at_once(tmp_path):
    write_offenders(tmp_path / "dataset")
    study = own_study(tmp_path / "study", tmp_path / "dataset", kind="bids")

    message = refusal(study, "--dry-run")

    assert f"{len(OFFENDERS)} of {len(OFFENDERS) + 4} subjects cannot be used" in message
    lines = message.splitlines()
    for name, (_, words) in OFFENDERS.items():
        assert sum(name in line and words in line for line in lines) == 1, name
    assert not any("sub-MDD" in line or "sub-HC" in line for line in lines)


def reasons(study):
    """Why each subject is not processed, empty if it is."""
    path = study.path / "results/ingest/participants.tsv"
    people = pd.read_csv(path, sep="\t", keep_default_na=False)
    return people.set_index("participant_id")["not_enrolled"]


def test_such_images_can_be_left_out_and_jobs_that_plan_again_leave_out_the_same(tmp_path):
    write_offenders(tmp_path / "dataset")
    study = own_study(tmp_path / "study", tmp_path / "dataset", kind="bids", on_problem="exclude")
    study.edit_config(subjects_per_job=1)
    table = "results/ingest/participants.tsv"

    study.run(table)

    why = reasons(study)
    assert set(why.index[why != ""]) == set(OFFENDERS)
    assert study.jobs()["anatomical"] == 4

    bold = tmp_path / "dataset/sub-cut/func/sub-cut_task-rest_bold.nii.gz"
    bold.write_bytes(gzip.compress(tiny_bold().to_bytes()))
    # As the job of a cluster is started: it knows what the main process found, and reads no image.
    done = study.snakemake("--cores", "1", "--mode", "remote", "--nolock", "--force", "--", table)
    assert done.returncode == 0, done.stderr
    assert "cannot be read as a NIfTI image" in reasons(study)["sub-cut"]
    assert study.jobs()["anatomical"] == 5
