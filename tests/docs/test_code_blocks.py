"""Python on the pages runs, and the tutorial on ROI series leads to a study that can run."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from .conftest import ROOT, blocks

# Pages under docs itself are written for results of a study that a test does not have.
RUN = [b for b in blocks("python") if b.page == "README.md" or b.page.count("/") > 1]


@pytest.fixture
def samples(rng):
    """Give three sites of three regions, under the names that the README uses."""
    x = [rng.normal(size=(60, 3)) for _ in range(3)]
    return {f"x_{site}": table for site, table in enumerate(x, start=1)}


@pytest.mark.parametrize("page", sorted({block.page for block in RUN}))
def test_the_python_on_a_page_runs(page, samples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for block in RUN:
        if block.page == page:
            exec(compile(block.text, f"{page}:{block.line}", "exec"), samples)


def test_the_tutorial_on_roi_series_plans_the_jobs_that_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/tutorials/series.md"
    for block in blocks("python"):
        if block.page == page:
            exec(compile(block.text, f"{page}:{block.line}", "exec"), {})
    [settings] = [block.text for block in blocks("yaml") if block.page == page]
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "abide.yaml").write_text(settings, encoding="utf-8")

    planned = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory",
         tmp_path, "--configfile", "abide.yaml", "--dry-run", "--quiet", "rules"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert planned.returncode == 0, planned.stderr
    n_jobs = int(planned.stdout.split("total")[1].split()[0])
    assert f"lists {n_jobs} jobs" in (ROOT / page).read_text(encoding="utf-8")
    people = pd.read_csv("abide/participants.tsv", sep="\t")
    assert people.groupby(["site", "group"]).size().to_dict() == dict.fromkeys(
        [(site, group) for site in ("PITT", "YALE") for group in ("ASD", "TC")], 10
    )
    assert np.loadtxt(f"abide/rois_aal/{people['participant_id'][0]}_rois_aal.1D").shape == (
        200,
        116,
    )
