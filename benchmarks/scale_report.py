"""Costs of the report against the size of the study: its page, the time to open it, its files.

    OMP_NUM_THREADS=1 python benchmarks/scale_report.py [SUBJECTS SITES]

The studies are made up: quality measures of every subject, a network of about 150 edges per site
and group, connections with their weights and flags. The networks of one site are drawn, and their
figures stand in for those of the others; figures of all sites together are drawn as they are. Pages
of subjects are those of ready series of 116 regions and 200 volumes. Times to open are medians over
loads from the disk in a new headless Chromium of 1,280 by 800 pixels.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright
from scaling import ROOT, Row, exponent

sys.path.insert(0, str(ROOT))

from tests.unit.report.toy import GROUPS, LIMITS, toy_findings, toy_origin

from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.findings import Findings
from notears_pfl.report.measures import FIGURES
from notears_pfl.report.sections import (
    certainty,
    cohort_flow,
    group_balance,
    nodes,
    phantom_truth,
    site_networks,
    subject_quality,
)
from notears_pfl.report.study_page import Extras, embed_figures, study_page
from notears_pfl.report.subject_page import SubjectRecord, subject_page

SIZES = ((710, 5), (3000, 20), (10_000, 50))
N_LOADS = 5
# Ten times the shared, own and site's edges of the made-up networks.
TIMES = 10
LOADED = """() => {
    const entry = performance.getEntriesByType("navigation")[0];
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return [entry.domContentLoadedEventEnd, entry.loadEventEnd, paint?.startTime ?? NaN,
            performance.now()];
}"""
HOW = {
    "figures": "of one site's networks, copied to the others",
    "figures of the networks": "of one site, times sites",
    "pages of subjects": "of 40 subjects, times subjects / 40",
}
OPENING = ("DOMContentLoaded", "load", "first paint", "tables can be sorted")


# Pages of subjects that are made to know what one takes.
N_PAGES = 40


class Made(NamedTuple):
    """What a report of a size took: CPU seconds by part, and megabytes and files by kind."""

    cpu_s: dict[str, float]
    megabytes: dict[str, float]
    n_files: int


def large_study(n_subjects: int, n_sites: int) -> Findings:
    """Make up the findings of a study with a value of every measure of quality."""
    sites = tuple(f"S{number:02d}" for number in range(1, n_sites + 1))
    per_cell, rest = divmod(n_subjects, 2 * n_sites)
    if rest:
        sys.exit(f"{n_subjects} subjects are not the same number per site and group.")
    findings = toy_findings(n_per_cell=per_cell, sites=sites, times=TIMES)
    rng = np.random.default_rng(0)
    cohort = findings.cohort
    for name in FIGURES:
        if name not in cohort:
            cohort[name] = rng.uniform(0.5, 1.0, len(cohort))
    return findings


def figures_of_all_sites(findings: Findings) -> Iterator[tuple[str, Any]]:
    """Draw every figure that shows the whole study."""
    tables, groups, cohort = findings.tables, findings.groups, findings.cohort
    sites, rois = list(findings.sites), findings.rois
    limits = findings.config["cohort"]["limits"] | LIMITS
    yield "cohort_flow", cohort_flow.flow_figure(tables["flow"], cohort, groups)
    yield "cohort_motion", cohort_flow.motion_figure(cohort, groups, limits)
    yield "quality_limits", subject_quality.quality_figure(cohort, groups, limits)
    yield "balance", group_balance.balance_figure(tables["balance"])
    yield "degree", nodes.degree_figure(tables["degree"], tables["degree_top"], groups, len(sites))
    yield "truth", phantom_truth.truth_figure(tables["truth"])
    yield "overlap", site_networks.overlap_figure(tables["overlap"], groups, len(sites), rois)
    names = ("draws", "tested", "replicated", "connections")
    shown = [tables[f"evidence_{name}"] for name in names]
    yield "evidence", certainty.evidence_figure(*shown, groups)
    for group in groups:
        alone = site_networks.site_specific_figure(tables["site_specific"], group, sites, rois)
        yield f"site_specific_group-{group}", alone


def draw(findings: Findings, folder: Path) -> dict[str, float]:
    """Draw all figures into a folder; give the CPU seconds of both kinds.

    The networks of the first site stand in for those of the others.
    """
    start = time.process_time()
    for name, figure in figures_of_all_sites(findings):
        save_figure(figure, folder / f"{name}.png", folder / f"{name}.svg")
    shutil.copy(folder / "truth.png", folder / "figure_cohort.png")
    middle = time.process_time()
    first, *others = findings.sites
    for group in GROUPS:
        network = findings.networks[group, first]
        title = f"{group} at {first}"
        figures = site_networks.network_figures(network, findings.rois, title, 100)
        for kind, figure in figures.items():
            base = folder / f"network_group-{group}_site-{first}_{kind}"
            save_figure(figure, base.with_suffix(".png"), base.with_suffix(".svg"))
    networks = (time.process_time() - middle) * len(findings.sites)
    for drawn in [*folder.glob(f"network_*_site-{first}_*")]:
        for site in others:
            shutil.copy(drawn, folder / drawn.name.replace(f"site-{first}_", f"site-{site}_"))
    return {"figures of the study": middle - start, "figures of the networks": networks}


def make(n_subjects: int, n_sites: int, folder: Path) -> Made:
    """Make the report of a study of this size in a folder."""
    findings = large_study(n_subjects, n_sites)
    figures = folder / "figures"
    figures.mkdir()
    cpu_s = draw(findings, figures)
    start = time.process_time()
    pictures = embed_figures(map(str, sorted(figures.glob("*.png"))), findings)
    page = study_page(findings, pictures, Extras(), toy_origin())
    (folder / "tables").mkdir()
    for name, text in page.parts.items():
        (folder / "tables" / name).write_text(text, encoding="utf-8")
    (folder / "index.html").write_text(page.text, encoding="utf-8")
    cpu_s["front page"] = time.process_time() - start
    one, size = pages_of_subjects(findings)
    cpu_s["pages of subjects"] = one * n_subjects
    files = [path for path in folder.rglob("*") if path.is_file()]
    megabytes = {"front page": (folder / "index.html").stat().st_size / 1e6}
    for kind in ("tables", "figures"):
        megabytes[kind] = sum(p.stat().st_size for p in (folder / kind).iterdir()) / 1e6
    megabytes["pages of subjects"] = size * n_subjects
    return Made(cpu_s, megabytes, len(files) + n_subjects)


def pages_of_subjects(findings: Findings) -> tuple[float, float]:
    """CPU seconds and megabytes of the page of one subject, a mean over several."""
    rng = np.random.default_rng(0)
    rois = pd.read_csv(ROOT / "config/rois.tsv", sep="\t").set_index("abbreviation", drop=False)
    series = pd.DataFrame(rng.standard_normal((200, len(rois))), columns=rois.index)
    settings = {"band_hz": None, "min_coverage": 0.5}
    start, size = time.process_time(), 0
    for _, row in findings.cohort.head(N_PAGES).iterrows():
        record = SubjectRecord(row, {"status": "ok"}, clean=series)
        size += len(subject_page(record, rois, settings, back="").encode())
    return (time.process_time() - start) / N_PAGES, size / 1e6 / N_PAGES


def opening(page_file: Path) -> list[float]:
    """Seconds until each of ``OPENING``: medians of several loads."""
    loads = []
    with sync_playwright() as playwright:
        for _ in range(N_LOADS):
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready]", timeout=120_000)
            loads.append(page.evaluate(LOADED))
            browser.close()
    return [statistics.median(times) / 1000 for times in zip(*loads, strict=True)]


def rows(sizes: tuple[tuple[int, int], ...] = SIZES) -> Iterator[Row]:
    """Give the rows of the table."""
    cost, size = [], []
    for n_subjects, n_sites in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            made, n_rois = make(n_subjects, n_sites, folder), 56
            at = ("report", n_sites, n_subjects, n_rois)
            for kind, value in made.megabytes.items():
                yield Row(*at, f"size: {kind}", value, "MB", HOW.get(kind, "measured"))
            yield Row(*at, "files, with the pages of subjects", made.n_files, "")
            for kind, value in made.cpu_s.items():
                yield Row(*at, f"made: {kind}", value, "CPU s", HOW.get(kind, "measured"))
            for kind, value in zip(OPENING, opening(folder / "index.html"), strict=True):
                yield Row(*at, f"opened: {kind}", value, "s")
            cost.append(made.cpu_s["front page"])
            size.append(made.megabytes["front page"])
    if len(sizes) > 1:
        subjects = [n for n, _ in sizes]
        for what, values in (("made: front page", cost), ("size: front page", size)):
            value = exponent(subjects, values)
            yield Row("report", None, None, None, f"{what}, exponent in subjects", value, "",
                      "slope of logarithms")  # fmt: skip


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    for row in rows(((given[0], given[1]),) if given else SIZES):
        print(*row, sep="\t", flush=True)
