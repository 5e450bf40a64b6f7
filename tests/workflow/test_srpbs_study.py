"""The SRPBS release as it is on disk: converted exactly, and the paper's study of it planned."""

import json
import shutil

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import yaml

from .conftest import ROOT, shrink
from .srpbs_release import ACQUISITIONS, PAPER, release_from_bids, tiny_release

PROTOCOLS = {"COI": 5, "HKH": 2}


@pytest.fixture
def settings(study):
    """Put the study's own settings for the release where the default ones are."""
    config = yaml.safe_load((ROOT / "config/srpbs.yaml").read_text())["source"]
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())["source"]
    study.edit_config(source=default | config)
    return study


@pytest.fixture
def converted(finished_run, settings):
    """Take the phantom apart into a release, and convert that."""
    bids = finished_run.path / "results/bids"
    release_from_bids(bids, settings.path / "SRPBS_OPEN", PROTOCOLS)
    shrink(settings).run("results/bids_validation.json")
    return settings.path / "results/bids", bids


def test_a_release_made_from_bids_comes_back_exactly(converted):
    ours, theirs = converted
    names = sorted(path.name for path in theirs.glob("sub-*"))

    assert sorted(path.name for path in ours.glob("sub-*")) == names
    for name in names:
        for path in (f"{name}/anat/{name}_T1w", f"{name}/func/{name}_task-rest_bold"):
            mine, original = (nib.load(root / f"{path}.nii.gz") for root in converted)
            assert mine.get_data_dtype() == original.get_data_dtype()
            np.testing.assert_array_equal(mine.dataobj, original.dataobj)
            np.testing.assert_array_equal(mine.affine, original.affine)
            np.testing.assert_array_equal(mine.header.get_zooms(), original.header.get_zooms())
            ours_json, theirs_json = (
                json.loads((r / f"{path}.json").read_text()) for r in converted
            )
            assert ours_json.items() <= theirs_json.items()
        assert {"RepetitionTime", "EchoTime", "FlipAngle", "SliceTiming"} <= set(ours_json)
    people, originals = (pd.read_csv(r / "participants.tsv", sep="\t") for r in converted)
    columns = ["participant_id", "site", "group", "sex", "age"]
    pd.testing.assert_frame_equal(people[columns], originals[columns])
    verdict = json.loads((ours.parent / "bids_validation.json").read_text())
    assert (verdict["Errors"], verdict["Subjects"]) == (0, len(names))


def test_a_damaged_run_costs_its_subject_alone(finished_run, settings):
    release = settings.path / "SRPBS_OPEN"
    release_from_bids(finished_run.path / "results/bids", release, PROTOCOLS)
    (release / "data/sub-COIHC001/rsfmri/vol_7").unlink()
    volume = release / "data/sub-COIHC002/rsfmri/vol_3"
    volume.write_bytes(volume.read_bytes()[:1000])
    names = ["sub-COIHC002", "sub-COIMDD001"]
    sidecars = [f"results/bids/{name}/func/{name}_task-rest_bold.json" for name in names]
    table = "results/ingest/participants.tsv"

    settings.edit_config(source__on_problem="exclude")
    settings.run(settings.batch("srpbs_subject"), table)

    people = pd.read_csv(settings.path / table, sep="\t").set_index("participant_id")
    gap = people["not_enrolled"]["sub-COIHC001"]
    assert "rsfmri: Of the volumes 1 to 30, volumes [7] are missing" in gap
    cut, good = (json.loads((settings.path / path).read_text()) for path in sidecars)
    assert "rsfmri/vol_3: cannot be read as a NIfTI image" in cut["reason"]
    assert good["RepetitionTime"] == 2.5


def test_the_papers_study_of_713_subjects_is_planned_from_eight_sites(settings):
    others = {("COI", "ASD", 1): 4, ("SWA", "HC", 1): 5, ("KTT", "HC", 1): 3, ("ATT", "HC", 1): 2}
    tiny_release(settings.path / "SRPBS_OPEN", PAPER | others, ACQUISITIONS)
    # One of the three sites that the paper leaves out has a protocol, but no patients.
    settings.edit_table(
        "sites", lambda t: pd.concat([t, t.iloc[:1].assign(site="SWA")], ignore_index=True)
    )

    done = settings.snakemake("--dry-run", "--quiet", "rules")

    lines = [line.split() for line in done.stdout.splitlines()]
    jobs = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    # At each site, ten subjects to a job.
    sites = {site for site, *_ in PAPER}
    sizes = [sum(n for (site, *_), n in PAPER.items() if site == own) for own in sites]
    assert sum(sizes) == 713
    n_batches = sum(-(-size // 10) for size in sizes)
    rules = ("srpbs_subject", "anatomical", "functional", "clean_timeseries")
    assert {jobs[rule] for rule in rules} == {n_batches}
    assert jobs["fit_networks"] == 2
    pages = sum(n for rule, n in jobs.items() if rule.startswith("report_"))
    assert jobs["total"] - pages - jobs["compare_networks"] < 4 * n_batches + 40
    said = done.stdout + done.stderr
    assert "site SWA is excluded: it has no MDD" in said
    assert "3 subjects are excluded: site KTT is not in config/sites.tsv" in said
    assert "4 subjects are excluded: the group is not part of this study" in said


def test_every_subject_without_its_files_is_named_at_once(settings):
    counts = {("COI", "MDD", 1): 3, ("COI", "HC", 1): 3, ("KUT", "HC", 4): 1}
    release = settings.path / "SRPBS_OPEN"
    tiny_release(release, counts, ACQUISITIONS)
    (release / "data/sub-0002/t1/defaced_mprage.nii").unlink()
    shutil.rmtree(release / "data/sub-0005/rsfmri")

    done = settings.snakemake("--cores", "1")

    assert done.returncode != 0
    assert "3 of 7 subjects cannot be used" in done.stderr
    assert "sub-0002: SRPBS_OPEN/data/sub-…/t1/defaced_mprage.nii does not exist" in done.stderr
    assert "sub-0005: SRPBS_OPEN/data/sub-…/rsfmri does not exist" in done.stderr
    assert "protocol 4 has a TR of 2.7 s, the sites table 2.5 s" in done.stderr
