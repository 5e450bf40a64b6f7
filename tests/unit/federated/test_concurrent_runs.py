"""Runs that overlap at a site: noise is drawn once, and a different release is refused."""

import multiprocessing
import time

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.federated import privacy, run_records
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.federated.site_data import load_site
from notears_pfl.federated.site_rules import RefusedError, read_rules

ROIS = ["A", "B", "C"]
NOISE = {"noise": {"epsilon": 5.0, "delta": 1e-5, "clip": 4.0}}


@pytest.fixture
def site_file(tmp_path, rng):
    """Write a site's file and the series of six subjects."""
    names = [f"sub-{i}" for i in range(6)]
    for name in names:
        table = pd.DataFrame(rng.normal(size=(30, 3)), columns=ROIS)
        table.to_csv(tmp_path / f"{name}.tsv", sep="\t", index=False)
    cohort = pd.DataFrame({"participant_id": names, "site": "COI", "group": "MDD"})
    cohort.assign(split="discovery").to_csv(tmp_path / "cohort.tsv", sep="\t", index=False)
    allow = {
        "groups": ["MDD"], "rois": ROIS, "scales": ["subject"], "minimum_subjects": 3,
        "lambda": [0, 1], "kappa": [0, 4], "rho": [0.01, 10], "messages": list(KINDS),
    }  # fmt: skip
    content = {
        "centre": "centre.org",
        "participants": "cohort.tsv",
        "series": "{participant_id}.tsv",
        "records": "records",
        "allow": allow,
    }

    def write(**top):
        (tmp_path / "site.yaml").write_text(yaml.safe_dump({**content, **top}))
        return tmp_path / "site.yaml"

    return write


def answer(site_file, start, rois, out):
    """Load the site as one of several concurrent runs, slowed down where they could collide."""
    draw, write = privacy.private_moments, run_records.whole_file

    def slowly(step):
        def slow(*arguments):
            time.sleep(0.3)
            return step(*arguments)

        return slow

    privacy.private_moments, run_records.whole_file = slowly(draw), slowly(write)
    plan = {"group": "MDD", "rois": rois, "scale": "subject", "estimator": {}}
    rules = read_rules(site_file)
    start.wait()
    try:
        U = load_site(rules, "COI", plan).site._moments.U
    except RefusedError as error:
        out.with_suffix(".refused").write_text(str(error))
    else:
        np.save(out, U)


def run_at_once(site_file, lists_of_rois, folder):
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(len(lists_of_rois))
    jobs = [
        context.Process(target=answer, args=(site_file, start, rois, folder / f"{n}.npy"))
        for n, rois in enumerate(lists_of_rois)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)


def test_overlapping_jobs_draw_noise_once(site_file, tmp_path):
    run_at_once(site_file(**NOISE), [ROIS] * 3, tmp_path)

    draws = [np.load(tmp_path / f"{n}.npy").tobytes() for n in range(3)]
    assert len(set(draws)) == 1


def test_one_of_two_different_concurrent_releases_is_refused(site_file, tmp_path):
    run_at_once(site_file(), [["A", "B"], ["B", "C"]], tmp_path)

    answered, refused = (sorted(tmp_path.glob(f"[01].{end}")) for end in ("npy", "refused"))
    assert len(answered) == 1
    assert len(refused) == 1
    assert "has already answered about group 'MDD' with different ROIs" in refused[0].read_text()
