"""The phantom cohort: valid BIDS, the same bytes, and only what changed runs again."""

import json
import os
import signal
import time

import pandas as pd
import pytest

SUBJECTS = [
    f"{site}{group}{number:03d}"
    for site in ("COI", "HKH")
    for group in ("MDD", "HC")
    for number in (1, 2)
]
PER_SUBJECT = [
    "results/bids/sub-{}/anat/sub-{}_T1w.nii.gz",
    "results/bids/sub-{}/anat/sub-{}_T1w.json",
    "results/bids/sub-{}/func/sub-{}_task-rest_bold.nii.gz",
    "results/bids/sub-{}/func/sub-{}_task-rest_bold.json",
    "results/phantom/truth/sub-{}_desc-brain_mask.nii.gz",
    "results/phantom/truth/sub-{}_from-head_to-MNI152_xfm.nii.gz",
    "results/phantom/truth/sub-{}_desc-motion_timeseries.tsv",
    "results/phantom/truth/sub-{}_seg-surrogate_timeseries.tsv",
    "results/phantom/truth/sub-{}_truth.json",
]
LISTS = [
    *[f"results/batches/phantom_subject/site-{site}_batch-1.tsv" for site in ("COI", "HKH")],
    *[f"results/batches/phantom_subject/sub-{subject}.json" for subject in SUBJECTS],
]
COHORT = [
    "results/bids/participants.tsv",
    "results/bids/participants.json",
    "results/bids/dataset_description.json",
    "results/bids/README",
    "results/bids_validation.json",
    "results/phantom/figure_cohort.png",
    "results/phantom/figure_cohort.svg",
    "results/phantom/truth/edges.tsv",
    "results/phantom/truth/group-MDD_site-COI_relmat.tsv",
    "results/phantom/truth/group-MDD_site-HKH_relmat.tsv",
    "results/phantom/truth/group-HC_site-COI_relmat.tsv",
    "results/phantom/truth/group-HC_site-HKH_relmat.tsv",
    *[
        f"results/phantom/template/tpl-MNI152_{name}.nii.gz"
        for name in ("desc-head_T1w", "desc-head_boldref", "desc-brain_mask", "seg-surrogate_dseg")
    ],
]  # fmt: skip


def test_a_run_writes_exactly_the_files_it_announces(finished_run):
    expected = [name.format(s, s) for name in PER_SUBJECT for s in SUBJECTS] + COHORT + LISTS

    assert sorted(finished_run.checksums()) == sorted(expected)


def test_the_official_validator_accepts_the_cohort(finished_run):
    report = json.loads((finished_run.path / "results/bids_validation.json").read_text())

    assert report["Errors"] == 0
    assert report["Subjects"] == len(SUBJECTS)


def test_a_dataset_that_is_not_bids_is_refused_with_the_validators_words(finished):
    (finished.path / "results/bids/dataset_description.json").write_text("{}")
    (finished.path / "results/bids_validation.json").unlink()

    done = finished.snakemake("--cores", "1", "--rerun-triggers", "input", "--", "phantom_cohort")

    assert done.returncode != 0
    assert "results/bids is not valid BIDS" in done.stderr
    assert "dataset_description.json: JSON_KEY_REQUIRED: Name" in done.stderr
    assert not (finished.path / "results/bids_validation.json").exists()


def test_a_second_run_does_nothing_and_says_so(finished_run):
    again = finished_run.run("phantom_cohort")

    assert "Nothing to be done" in again.stderr + again.stdout


def test_the_same_seed_gives_the_same_bytes(finished_run, small_study):
    small_study.run("--cores", "1", "phantom_cohort")

    assert small_study.checksums() == finished_run.checksums()


def test_another_seed_changes_all_that_depends_on_chance(finished_run, small_study):
    small_study.edit_config(seed=20231)
    small_study.run("phantom_cohort")

    mine, others = finished_run.checksums(), small_study.checksums()
    changed = {name for name in mine if mine[name] != others[name]}
    certain = {name for name in mine if "template/" in name or name.endswith((".json", "README"))}
    drawn_json = {f"results/phantom/truth/sub-{subject}_truth.json" for subject in SUBJECTS}
    assert changed == set(mine) - certain | drawn_json | set(LISTS)


def test_the_truth_fits_the_images_and_the_networks(finished_run):
    truth = finished_run.path / "results/phantom/truth"
    edges = pd.read_csv(truth / "edges.tsv", sep="\t")
    network = pd.read_csv(truth / "group-HC_site-HKH_relmat.tsv", sep="\t", index_col=0)
    series = pd.read_csv(truth / "sub-HKHHC001_seg-surrogate_timeseries.tsv", sep="\t")

    present = network.stack()
    present = set(present[present != 0].index)
    expected = edges[edges["kind"].isin(["shared", "controls"]) | (edges["site"] == "HKH")]
    assert present == set(zip(expected["from"], expected["to"], strict=True))
    assert network.shape == (56, 56)
    assert series.shape == (30, 116)


TEMPLATE, NETWORKS, SCANS = {"phantom_template": 1}, {"phantom_networks": 1}, {"phantom_subject": 2}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"phantom__parcellation__max_distance_mm": 15}, TEMPLATE | SCANS),
        ({"phantom__network__site_edges": 3}, NETWORKS | SCANS),
        ({"phantom__scanner__noise_percent": 1}, SCANS),
        ({"groups__patients": "BD"}, NETWORKS | SCANS | {"phantom_dataset": 1}),
    ],
)
def test_a_changed_setting_reruns_what_depends_on_it(finished, changes, expected):
    finished.edit_config(**changes)

    assert finished.jobs("phantom_cohort") == {**expected, "validate_bids": 1, "phantom_figure": 1}


def test_a_changed_protocol_reruns_its_site_alone(finished):
    finished.edit_table("sites", lambda sites: sites.assign(echo_time_ms=["30", "32"]))

    jobs = finished.jobs("phantom_cohort")

    assert jobs["phantom_subject"] == 1
    assert "phantom_template" not in jobs
    assert "phantom_networks" not in jobs


def test_a_subject_more_runs_its_batch_and_is_computed_alone(finished):
    before = finished.checksums()
    finished.edit_table("sites", lambda sites: sites.assign(phantom_controls=["2", "3"]))

    assert finished.jobs("phantom_cohort") == {
        "phantom_subject": 1,
        "phantom_dataset": 1,
        "phantom_figure": 1,
        "validate_bids": 1,
    }
    finished.run(finished.batch("phantom_subject", "HKH"))
    assert computed(finished, "phantom_subject", "HKH") == ["sub-HKHHC003"]
    after = finished.checksums()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {finished.batch("phantom_subject", "HKH")}


def test_smaller_batches_compute_no_subject_again(finished):
    before = finished.checksums()
    finished.edit_config(subjects_per_job=3)
    lists = [finished.batch("phantom_subject", "COI", n) for n in (1, 2)]

    finished.run(*lists)

    assert [computed(finished, "phantom_subject", "COI", n) for n in (1, 2)] == [[], []]
    after = finished.checksums()
    assert {name for name in after if before.get(name) != after[name]} == set(lists)


def test_a_lost_file_is_named_and_made_again(finished):
    before = finished.checksums()
    lost = finished.path / PER_SUBJECT[2].format(SUBJECTS[5], SUBJECTS[5])
    lost.unlink()

    done = finished.run(finished.batch("phantom_subject", "HKH"))

    assert f"{lost.relative_to(finished.path)}: missing or changed since made" in done.stderr
    assert computed(finished, "phantom_subject", "HKH") == [f"sub-{SUBJECTS[5]}"]
    assert finished.checksums() == before


def test_a_file_damaged_without_changing_its_size_is_refused_by_its_reader(finished):
    path = finished.path / PER_SUBJECT[2].format(SUBJECTS[0], SUBJECTS[0])
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    (finished.path / "results/phantom/figure_cohort.png").unlink()

    done = finished.snakemake("--cores", "1", "results/phantom/figure_cohort.png")

    assert done.returncode != 0
    assert f"sub-{SUBJECTS[0]}_task-rest_bold.nii.gz: is not the file that the work" in done.stderr


def test_a_forced_batch_computes_all_of_its_subjects(finished):
    before = finished.checksums()
    target = finished.batch("phantom_subject", "HKH")

    finished.run("--forcerun", target, "--", target)

    assert len(computed(finished, "phantom_subject", "HKH")) == 4
    assert finished.checksums() == before


def computed(study, rule, site, number=1):
    """Subjects of a batch that its last job computed, by its log."""
    log = study.path / f"logs/{rule}/site-{site}_batch-{number}.log"
    return [line[:-1] for line in log.read_text().splitlines() if line.endswith(":")]


def test_a_killed_run_leaves_nothing_half_done_and_goes_on(finished_run, small_study):
    run = small_study.start("--cores", "2", "phantom_cohort")
    deadline = time.monotonic() + 300
    while not list((small_study.path / "results").glob("bids/*/func/*bold.nii.gz")):
        assert time.monotonic() < deadline, "no scan was ever written"
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()

    complete, left = finished_run.checksums(), whole_files(small_study)
    assert len(left) < len(complete)
    assert left.items() <= complete.items()

    assert small_study.snakemake("--unlock").returncode == 0
    small_study.run("--rerun-incomplete", "phantom_cohort")
    assert whole_files(small_study) == complete


def whole_files(study):
    """Digest of every file under its final name; a killed writer leaves hidden ones behind."""
    return {name: digest for name, digest in study.checksums().items() if "/.writing-" not in name}
