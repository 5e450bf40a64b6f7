"""fMRIPrep's derivatives as a source: the ROI series of the direct way, to single precision."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.io.images import write_image
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table
from notears_pfl.preproc.nuisance import with_derivatives, with_squares
from notears_pfl.preproc.run import preprocess_run

from .own_dataset import own_study

SUBJECTS = ["sub-COIMDD001", "sub-COIHC001"]
SEVERAL = "sub-COIMDD002"
SPACE = "MNI152NLin6Asym"
RAW = "results/timeseries/{}_seg-AAL116_desc-raw_timeseries"
CLEAN = "results/timeseries/{}_seg-AAL116_desc-clean_timeseries"


def write_derivatives(study, name, folder):
    """Write a subject's run as it is after normalisation, in the way of fMRIPrep."""
    anat, dataset = study.path / f"results/preproc/{name}/anat", study.path.parent / "dataset"
    raw = dataset / f"{name}/func/{name}_task-rest_bold"
    files = {
        "bold": raw.with_suffix(".nii.gz"),
        "sidecar": raw.with_suffix(".json"),
        "tissues": anat / f"{name}_probseg.nii.gz",
        "xfm": anat / f"{name}_from-MNI152_to-T1w_xfm.nii.gz",
        "brain": study.path / "results/preproc/template/tpl-MNI152_desc-brain_mask.nii.gz",
    }
    settings = yaml.safe_load((study.path / "config/config.yaml").read_text())["preproc"]
    affine = read_sidecar(anat / f"{name}_desc-preproc_T1w.json")["normalisation_affine"]
    run, tr = preprocess_run(files, affine, settings)
    n, early = len(run.series), settings["drop_volumes"]
    # fMRIPrep keeps the volumes that are dropped here.
    volumes = [run.volume(t) for t in [0] * early + list(range(n))]
    stem = folder / name / "func" / f"{name}_task-rest"
    image = f"{stem}_space-{SPACE}_desc-preproc_bold"
    write_image(np.stack(volumes, -1), run.grid.affine, f"{image}.nii.gz", repetition_time=tr)
    content = json.dumps({"RepetitionTime": tr, "SkullStripped": False})
    (stem.parent / f"{image.rsplit('/', 1)[-1]}.json").write_text(content)
    motion = read_table(
        study.path / f"results/preproc/{name}/func/{name}_task-rest_desc-motion_timeseries.tsv"
    )
    still = pd.DataFrame(0.0, index=range(early), columns=motion.columns)
    own = read_table(
        study.path / f"results/preproc/{name}/func/{name}_task-rest_desc-confounds_timeseries.tsv"
    )
    volumes = [0] * early + list(range(n))
    tissues = own[["csf", "white_matter"]].iloc[volumes].reset_index(drop=True)
    terms = with_squares(with_derivatives(pd.concat([still, motion], ignore_index=True)))
    confounds = terms.join(tissues).assign(
        rmsd=0.05, cosine00=np.cos(np.pi * np.linspace(0, 1, early + n)),
        non_steady_state_outlier00=np.arange(early + n) == 0,
    )  # fmt: skip
    confounds.to_csv(f"{stem}_desc-confounds_timeseries.tsv", sep="\t", index=False)


def write_runs(folder):
    """Give a subject three times another's run; one has too few confounds, one their old name."""
    source = folder / SUBJECTS[0] / "func"
    target = folder / SEVERAL / "func"
    target.mkdir(parents=True)
    for run in ("run-1", "run-02", "run-3"):
        for file in source.iterdir():
            name = file.name.replace(SUBJECTS[0], SEVERAL).replace("task-rest", f"task-rest_{run}")
            if run == "run-02":
                name = name.replace("confounds_timeseries", "confounds_regressors")
            shutil.copyfile(file, target / name)
    confounds = target / f"{SEVERAL}_task-rest_run-3_desc-confounds_timeseries.tsv"
    confounds.write_text("\n".join(confounds.read_text().splitlines()[:30]) + "\n")


@pytest.fixture(scope="module")
def derived(bids_study, tmp_path_factory):
    """Run a study on derivatives of two subjects of the study on raw images."""
    folder = tmp_path_factory.mktemp("fmriprep")
    for name in SUBJECTS:
        write_derivatives(bids_study, name, folder / "derivatives")
    write_runs(folder / "derivatives")
    participants = bids_study.path.parent / "dataset/participants.tsv"
    table = pd.read_csv(participants, sep="\t")
    own = table[table["participant_id"].isin([*SUBJECTS, SEVERAL])]
    own.to_csv(folder / "participants.tsv", sep="\t", index=False)
    study = own_study(
        folder / "study", folder / "derivatives",
        kind="fmriprep", space=SPACE, participants=str(folder / "participants.tsv"),
    )  # fmt: skip
    study.run(study.batch("clean_timeseries"))
    return study


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_series_are_those_of_the_direct_way(derived, bids_study, name):
    for path in (RAW, CLEAN):
        file = f"{path.format(name)}.tsv"
        ours, direct = (read_table(study.path / file) for study in (derived, bids_study))
        assert ours.columns.tolist() == direct.columns.tolist()
        scale = direct.std()
        assert ((ours - direct).abs().max() / scale).max() < 2e-4


def test_what_fmriprep_did_is_named_and_what_is_not_known_is_none(derived):
    report = json.loads((derived.path / f"{CLEAN.format(SUBJECTS[0])}.json").read_text())

    assert report["status"] == "ok"
    assert report["space"] == SPACE
    assert report["template_agreement"] is None
    assert "fMRIPrep" in report["why_none"]["template_agreement"]
    assert "Colin27" in report["methods"]["space"]
    assert report["n_volumes"] == 60


def test_nilearns_strategy_cleans_again_in_the_old_naming_too(derived):
    """The run itself is not read again: its table holds every column of fMRIPrep's."""
    derived.edit_config(preproc__clean__strategy="simple")
    batch = derived.batch("clean_timeseries")
    assert derived.jobs(batch) == {"clean_timeseries": 1}
    derived.run(batch)
    first = read_table(derived.path / f"{CLEAN.format(SUBJECTS[0])}.tsv")
    (path,) = (derived.path.parent / "derivatives").glob(f"{SUBJECTS[0]}/func/*timeseries.tsv")
    old = path.with_name(path.name.replace("timeseries", "regressors"))
    path.rename(old)
    derived.run(batch)
    old.rename(path)

    second = read_table(derived.path / f"{CLEAN.format(SUBJECTS[0])}.tsv")
    pd.testing.assert_frame_equal(second, first)
    report = json.loads((derived.path / f"{CLEAN.format(SUBJECTS[0])}.json").read_text())
    # 24 terms of motion, two tissues, a cosine; constant and trend.
    assert (report["n_regressors"], report["n_censored"]) == (29, 0)
    assert str(old) in report["sources"]
    assert "nilearn's strategy simple for fMRIPrep" in report["methods"]["regress"]


def test_runs_are_cleaned_one_by_one_and_joined_and_a_bad_one_is_left_out(derived):
    alone, joined = (
        read_table(derived.path / f"{CLEAN.format(name)}.tsv") for name in (SUBJECTS[0], SEVERAL)
    )
    report = json.loads((derived.path / f"{CLEAN.format(SEVERAL)}.json").read_text())

    assert list(dict.fromkeys(joined["run"])) == ["task-rest_run-1", "task-rest_run-02"]
    for _, run in joined.groupby("run"):
        pd.testing.assert_frame_equal(run[alone.columns].reset_index(drop=True), alone)
    assert report["n_volumes"] == 120
    assert "29 rows, the run 70 volumes" in report["runs"]["task-rest_run-3"]["reason"]
    assert any(text.startswith("task-rest_run-3 was left out") for text in report["cautions"])
    func = derived.path / f"results/preproc/{SEVERAL}/func"
    for run in ("task-rest_run-1", "task-rest_run-02"):
        assert (func / f"{SEVERAL}_{run}_desc-motion_timeseries.tsv").exists()


def test_one_run_can_be_chosen(derived):
    target = derived.batch("clean_timeseries")
    all_runs = derived.snakemake("--dry-run", target)
    derived.edit_config(source__runs="first")
    first = derived.snakemake("--dry-run", target)
    derived.edit_config(source__runs="all")

    assert first.returncode == 0
    assert "1 of 3 subjects have several runs" in all_runs.stdout + all_runs.stderr
    assert "have several runs" not in first.stdout + first.stderr


def test_missing_confounds_and_another_space_are_named_at_once(derived):
    (confounds,) = (derived.path.parent / "derivatives").glob(f"{SUBJECTS[0]}/func/*confounds*")
    hidden = confounds.with_suffix(".away")
    confounds.rename(hidden)

    done = derived.snakemake("--cores", "1")
    hidden.rename(confounds)
    derived.edit_config(source__space="MNI152NLin2009cAsym")
    elsewhere = derived.snakemake("--cores", "1")
    derived.edit_config(source__space=SPACE)

    assert "1 of 3 subjects cannot be used" in done.stderr
    assert "no desc-confounds_timeseries.tsv beside" in done.stderr
    assert "3 of 3 subjects cannot be used" in elsewhere.stderr
    assert "no BOLD run with task-rest_space-MNI152NLin2009cAsym_desc-preproc" in elsewhere.stderr
