"""Preprocessing of a small study: what it writes, what a change reruns, what a bad file costs."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from notears_pfl.io.images import read_image
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table
from notears_pfl.preproc.cautions import DESCRIBED, LOOKS, unlisted_figures
from notears_pfl.preproc.resample import Grid
from notears_pfl.report.contact_sheet import read_card
from notears_pfl.roi.atlas import labels_at

from .conftest import CLEAN_BOLD, StudyFolder
from .own_dataset import LOOSE

SUBJECTS = ["COIMDD001", "COIMDD002", "COIHC001", "COIHC002"]
FILES = [
    "preproc/sub-{0}/anat/sub-{0}_desc-preproc_T1w.nii.gz",
    "preproc/sub-{0}/anat/sub-{0}_desc-preproc_T1w.json",
    "preproc/sub-{0}/anat/sub-{0}_desc-brain_mask.nii.gz",
    "preproc/sub-{0}/anat/sub-{0}_probseg.nii.gz",
    "preproc/sub-{0}/anat/sub-{0}_from-MNI152_to-T1w_xfm.nii.gz",
    "preproc/sub-{0}/func/sub-{0}_task-rest_desc-motion_timeseries.tsv",
    "preproc/sub-{0}/func/sub-{0}_task-rest_desc-confounds_timeseries.tsv",
    "timeseries/sub-{0}_seg-surrogate116_desc-raw_timeseries.tsv",
    "timeseries/sub-{0}_seg-surrogate116_desc-raw_timeseries.json",
    "timeseries/sub-{0}_seg-surrogate116_desc-clean_timeseries.tsv",
    "timeseries/sub-{0}_seg-surrogate116_desc-clean_timeseries.json",
    "preproc/sub-{0}/figures/sub-{0}_space-MNI152_desc-T1w_slices.npz",
    "preproc/sub-{0}/figures/sub-{0}_space-T1w_desc-meanBold_slices.npz",
    "preproc/sub-{0}/figures/sub-{0}_space-T1w_desc-brain_slices.npz",
]
# Figures between bounds that a good run of the phantom keeps well within.
FIGURES = {
    "n_volumes": (60, 60),
    "mean_fd_power_mm": (0.01, 3),
    "mean_fd_jenkinson_mm": (0.01, 3),
    "share_fd_power_mm_above_0.5": (0, 1),
    "share_fd_jenkinson_mm_above_0.5": (0, 1),
    "mean_dvars_percent": (0.1, 5),
    "median_tsnr": (20, 500),
    "bold_t1w_agreement": (0.5, 1),
    "template_agreement": (0.8, 1),
    "degrees_of_freedom": (5, 60),
    "degrees_of_freedom_in_band": (15, 60),
    "n_censored": (0, 0),
    "non_steady_volumes": (1, 10),
    "non_steady_kept": (0, 0),
    "n_regressors": (26, 26),
}
STEPS = [
    *("brain", "tissues", "normalise", "drop_volumes", "slice_timing", "realign"),
    *("coregister", "resample", "smooth", "roi", "detrend", "regress", "filter"),
]
SCRUB = {"fd_mm": 2.0, "std_dvars": "none", "min_segment": 1}
SCRUBBED = ["censor", "regress", "bridge", "filter", "remove"]
CLEAN, BOLD, T1W = {"clean_timeseries": 1}, {"functional": 1}, {"anatomical": 1}


@pytest.fixture
def preprocessed(preprocessed_once, tmp_path):
    """Give a copy of it that may be changed."""
    shutil.copytree(preprocessed_once.path, tmp_path / "study")
    return StudyFolder(tmp_path / "study")


def report_of(study, subject):
    path = (
        study.path / f"results/timeseries/sub-{subject}_seg-surrogate116_desc-clean_timeseries.json"
    )
    return json.loads(path.read_text())


def test_every_subject_gets_all_its_files_and_a_report(preprocessed_once):
    written = set(preprocessed_once.checksums())

    for subject in SUBJECTS:
        assert {f"results/{name.format(subject)}" for name in FILES} <= written
        report = report_of(preprocessed_once, subject)
        assert report["status"] == "ok"
        for name, (low, high) in FIGURES.items():
            assert low <= report[name] <= high, name
        assert list(report["methods"]) == STEPS
        assert "surrogate" in report["methods"]["roi"]
        assert len(report["coverage"]) == 116
        assert np.median(list(report["coverage"].values())) > 0.9


def test_figures_of_a_run_follow_from_its_tables(preprocessed_once):
    results, report = preprocessed_once.path / "results", report_of(preprocessed_once, "COIHC001")
    volumes = pd.read_csv(results / FILES[6].format("COIHC001"), sep="\t", na_values="n/a")
    motion = pd.read_csv(results / FILES[5].format("COIHC001"), sep="\t")

    millimetres = motion.diff().abs() * ([1.0] * 3 + [50.0] * 3)
    displacement = millimetres.sum(axis=1)
    assert len(volumes) == len(motion) == 60
    np.testing.assert_allclose(volumes["fd_power_mm"], displacement, atol=1e-12)
    assert report["mean_fd_power_mm"] == pytest.approx(displacement.mean())
    assert report["share_fd_power_mm_above_0.5"] == pytest.approx((displacement > 0.5).mean())
    assert report["mean_dvars_percent"] == pytest.approx(volumes["dvars_percent"][1:].mean())


@pytest.mark.parametrize("name", FILES[-3:])
def test_slices_of_the_brain_and_both_registrations_are_small_and_show_the_brain(
    preprocessed_once, name
):
    path = preprocessed_once.path / "results" / name.format("COIHC001")

    with np.load(path) as slices:
        image, outline = slices["axial"].astype(float), slices["axial_outline"]
    assert path.stat().st_size < 400_000
    outside = np.abs(np.indices(image.shape)[2] - image.shape[2] / 2) > 0.48 * image.shape[2]
    assert image[outline == 2].mean() > 3 * image[outside].mean() + 50


def test_clean_series_are_in_the_band_and_named(preprocessed_once):
    path = preprocessed_once.path / "results" / FILES[9].format("COIHC001")
    series = pd.read_csv(path, sep="\t", na_values="n/a")

    rois = pd.read_csv(preprocessed_once.path / "config/rois.tsv", sep="\t")
    assert series.columns.tolist() == rois["abbreviation"].tolist()
    assert series.shape == (60, 116)
    assert series.loc[:, rois["selected"].tolist()].notna().all(axis=None)
    power = np.abs(np.fft.rfft(series.fillna(0), axis=0)) ** 2
    frequencies = np.fft.rfftfreq(60, 2.5)
    within = (frequencies > 0.005) & (frequencies < 0.085)
    assert power[within].sum() > 0.95 * power.sum()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"preproc__clean__band_hz": [0.01, 0.1]}, CLEAN),
        ({"preproc__clean__motion": "six"}, CLEAN),
        ({"preproc__clean__strategy": "acompcor"}, CLEAN),
        ({"preproc__clean__scrub__fd_mm": 0.5}, CLEAN),
        ({"rois__min_coverage": 0.4}, CLEAN),
        ({"preproc__smooth__fwhm_mm": 8}, BOLD | CLEAN),
        ({"preproc__engine__brain": "fsl"}, T1W | BOLD | CLEAN),
    ],
)
def test_a_change_reruns_what_depends_on_it_and_nothing_else(preprocessed, changes, expected):
    preprocessed.edit_config(**changes)

    jobs = preprocessed.jobs("preprocessing")

    assert {rule: n for rule, n in jobs.items() if rule != "preprocessing"} == expected


def test_the_cleaned_image_has_the_clean_series_of_the_regions(preprocessed_once):
    path = preprocessed_once.path
    image = read_image(path / f"{CLEAN_BOLD}.nii.gz")
    atlas = read_image(path / "results/roi/seg-surrogate116_dseg.nii.gz")
    grid = Grid(image.data.shape[:3], image.affine)
    labels = labels_at(atlas.data, atlas.affine, grid.points()).reshape(grid.shape)
    series = read_table(path / "results" / FILES[9].format("COIHC001"))
    report = read_sidecar(path / f"{CLEAN_BOLD}.json")

    assert list(report["methods"]) == STEPS
    assert image.repetition_time == 2.5
    for code, roi in [(1, series.columns[0]), (2, series.columns[1]), (67, series.columns[66])]:
        covered = (labels == code) & image.data.any(axis=3)
        error = image.data[covered].mean(axis=0) - series[roi]
        assert error.abs().max() < 1e-3 * series[roi].std(), roi


@pytest.fixture(scope="module")
def scrubbed(preprocessed_once, tmp_path_factory):
    """Give the study with 36P and scrubbing, cleaned again, to the cohort and its pages."""
    path = tmp_path_factory.mktemp("scrubbed") / "study"
    shutil.copytree(preprocessed_once.path, path)
    study = StudyFolder(path)
    study.edit_config(
        preproc__clean__strategy="36P",
        preproc__clean__scrub=SCRUB,
        cohort__limits=LOOSE,
        # Wider than usual: 36 regressors leave hardly anything of so short a run in the usual band.
        preproc__clean__band_hz=[0.01, 0.14],
    )
    study.run(
        f"{CLEAN_BOLD}.nii.gz", "results/cohort/participants.tsv",
        "results/report/subjects/site-COI",
    )  # fmt: skip
    return study


def test_36p_with_scrubbing_removes_the_volumes_that_moved(scrubbed):
    n_kept = {}
    for subject in SUBJECTS:
        report = report_of(scrubbed, subject)
        path = scrubbed.path / "results"
        confounds = read_table(path / FILES[6].format(subject))
        series = read_table(path / FILES[9].format(subject))
        moved = confounds["fd_power_mm"] > SCRUB["fd_mm"]

        assert report["status"] == "ok"
        assert report["censored_volumes"] == moved.to_numpy().nonzero()[0].tolist()
        n_kept[f"sub-{subject}"] = int((~moved).sum())
        assert len(series) == report["n_volumes"] == n_kept[f"sub-{subject}"]
        assert report["n_regressors"] == 38
        assert 1 <= report["degrees_of_freedom"] < report["degrees_of_freedom_in_band"] / 2
        assert list(report["methods"]) == [*STEPS[:-3], *SCRUBBED]
    assert min(n_kept.values()) < 60
    cohort = read_table(scrubbed.path / "results/cohort/participants.tsv")
    cohort = cohort.set_index("participant_id")
    assert cohort["n_volumes"].to_dict() == n_kept


def test_the_scrubbed_image_has_the_scrubbed_series_and_the_page_marks_the_gaps(scrubbed):
    image = read_image(scrubbed.path / f"{CLEAN_BOLD}.nii.gz")
    page = scrubbed.path / "results/report/subjects/site-COI/sub-COIHC001.html"
    report = report_of(scrubbed, "COIHC001")

    assert image.data.shape[3] == report["n_volumes"]
    assert ("volumes censored by scrubbing" in page.read_text()) == (report["n_censored"] > 0)
    assert "36 nuisance regressors" in page.read_text()


def test_a_damaged_image_fails_its_subject_with_the_reason_and_no_other(preprocessed):
    bold = preprocessed.path / "results/bids/sub-COIHC001/func/sub-COIHC001_task-rest_bold.nii.gz"
    bold.write_bytes(bold.read_bytes()[:50_000])
    preprocessed.list_again("phantom_subject")

    preprocessed.run("preprocessing", "--rerun-triggers", "mtime")

    failed = report_of(preprocessed, "COIHC001")
    assert failed["status"] == "failed"
    assert "sub-COIHC001_task-rest_bold.nii.gz: cannot be read as a NIfTI" in failed["reason"]
    assert report_of(preprocessed, "COIHC002")["status"] == "ok"
    # The T1w image was not damaged: its pictures are still shown.
    row = {"participant_id": "sub-COIHC001", "site": "COI", "included": False, "not_enrolled": None}
    row |= {"failure": failed["reason"], "exclusion": f"failed: {failed['reason']}"}
    paths = [preprocessed.path / "results" / name.format("COIHC001") for name in FILES[-3:]]
    files = {kind: [path] for kind, path in zip(("t1w", "bold", "brain"), paths, strict=True)}
    card = read_card(pd.Series(row), files, "")
    assert [picture is None for picture in card.pictures.values()] == [False, True, False]
    assert card.reason == failed["reason"]


# Values of every figure that is judged, none of them usual.
T1W_UNUSUAL = {
    "brain_ml": 703.0, "head_agreement": 0.31, "surface_correction": 0.66,
    "tissue_model_converged": False, "template_agreement_affine": 0.21, "template_agreement": 0.54,
    "affine_volume": 2.0, "smallest_jacobian": 0.007,
}  # fmt: skip
UNUSUAL = {
    FILES[1]: T1W_UNUSUAL,
    FILES[8]: T1W_UNUSUAL | {
        "motion_converged": False, "bold_t1w_converged": False, "bold_t1w_agreement": 0.55,
        "brain_coverage": 0.44, "non_steady_kept": 3,
    },
}  # fmt: skip
T1W_WORDS = [
    "703 ml", "template by 0.31", "0.66 times", "bias did not conv", "by 0.21 (", "by 0.54 (",
    "2.00 times", "0.007",
]  # fmt: skip


@pytest.mark.parametrize("name", [FILES[1], FILES[8], FILES[10]])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_figure_of_a_report_is_listed_and_the_phantom_is_nothing_to_look_at(
    preprocessed_once, subject, name
):
    report = json.loads((preprocessed_once.path / "results" / name.format(subject)).read_text())

    assert unlisted_figures(report) == []
    assert report["cautions"] == []


def test_every_unusual_figure_is_told_in_the_cohorts_table_and_on_the_subjects_page(preprocessed):
    """One subject's T1w image and another's run are unusual in all that is judged."""
    told = {
        "COIHC001": T1W_WORDS,
        "COIHC002": [
            *T1W_WORDS,
            "motion did not",
            "T1w did not conv",
            "0.55 of",
            "0.44 of",
            "steady state",
        ],
    }  # fmt: skip
    for subject, (name, figures) in zip(told, UNUSUAL.items(), strict=True):
        path = preprocessed.path / "results" / name.format(subject)
        report = json.loads(path.read_text())
        flags = {k for k, v in report.items() if isinstance(v, bool)} - DESCRIBED
        assert flags <= set(figures)
        assert {k for k in LOOKS if k in report} <= set(figures)
        path.write_text(json.dumps(report | figures))
    for rule in ("functional", "anatomical"):
        preprocessed.list_again(rule)
    preprocessed.edit_config(cohort__limits=LOOSE)

    preprocessed.run(
        "--rerun-triggers", "mtime", "--",
        "results/cohort/participants.tsv", "results/report/subjects/site-COI",
        "results/report/contact_sheets/site-COI.html",
    )  # fmt: skip

    cohort = read_table(preprocessed.path / "results/cohort/participants.tsv")
    cautions = cohort.set_index("participant_id")["cautions"]
    for subject, words in told.items():
        page = preprocessed.path / f"results/report/subjects/site-COI/sub-{subject}.html"
        lines = [line for line in page.read_text().splitlines() if "⚑" in line]
        assert len(lines) == cautions[f"sub-{subject}"].count("look at") == len(words)
        for word in words:
            assert word in cautions[f"sub-{subject}"]
            assert any(word in line for line in lines)
    assert cautions.notna().sum() == 2
    sheet = preprocessed.path / "results/report/contact_sheets/site-COI.html"
    _, cautioned, others = sheet.read_text().split('<ul class="cards">')
    assert [f"sub-{subject}" in cautioned for subject in told] == [True, True]
    assert "703 ml" in cautioned
    assert cautioned.count("<li") == others.count("<li") == 2
    assert cohort["included"].all()


def test_how_many_subjects_a_job_takes_changes_no_result(preprocessed):
    before = preprocessed.checksums()
    for folder in ("batches", "timeseries", "preproc"):
        shutil.rmtree(preprocessed.path / "results" / folder)
    preprocessed.edit_config(subjects_per_job=1)

    preprocessed.run("preprocessing", f"{CLEAN_BOLD}.nii.gz")

    after = preprocessed.checksums()
    assert {name for name in after if after[name] != before.get(name)} == {
        name for name in after if name.startswith("results/batches/") and name.endswith(".tsv")
    }
    assert {name for name in before if name not in after} == set()
    assert len(list((preprocessed.path / "results/batches/functional").glob("*.tsv"))) == 4
