"""Size of the report's page for 714 subjects, and the time until a browser shows it.

    python benchmarks/report_load.py [FIGURES]

The study is made up: a table of quality with every measure, three sites, as in the tests of the
report. FIGURES is the folder of a finished study's figures (results/report/figures unless named);
grey pixels stand in for figures that it lacks. Times are medians over loads in a new browser: until
the page is read, until its first paint, and until all tables can be sorted.
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.unit.report.toy import blank_pictures, toy_findings, toy_origin  # noqa: E402

from notears_pfl.report.findings import Findings  # noqa: E402
from notears_pfl.report.page import embed_picture  # noqa: E402
from notears_pfl.report.page_parts import Picture  # noqa: E402
from notears_pfl.report.sections.subject_quality import FIGURES  # noqa: E402
from notears_pfl.report.study_page import Extras, figure_captions, study_page  # noqa: E402

N_PER_CELL, N_LOADS = 119, 5
TIMES = """() => {
    const entry = performance.getEntriesByType("navigation")[0];
    return [
        entry.domInteractive,
        performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
        performance.now(),
    ].map((ms) => ms / 1000);
}"""


def large_study() -> Findings:
    """Give the findings of 714 subjects with a value of every measure of quality."""
    findings = toy_findings(n_per_cell=N_PER_CELL)
    rng = np.random.default_rng(0)
    cohort = findings.cohort
    for name in FIGURES:
        if name not in cohort:
            cohort[name] = rng.uniform(0.5, 1.0, len(cohort))
    return findings


def pictures_of(findings: Findings, folder: Path) -> Mapping[str, Picture]:
    """Embed the figures of a finished study, where it has one of the name."""
    captions = figure_captions(findings)
    return {
        name: embed_picture(path, name, captions[name]) if path.is_file() else blank
        for name, blank in blank_pictures(findings).items()
        for path in (folder / f"{name}.png",)
    }


def load_times(browser: Browser, path: Path) -> list[float]:
    """Seconds until the page is read, is painted, and its tables can be sorted."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    times: list[float] = page.evaluate(TIMES)
    page.close()
    return times


def main() -> None:
    """Write the page, open it, and print its size and times."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/report/figures")
    findings = large_study()
    text = study_page(findings, pictures_of(findings, folder), Extras(), toy_origin())
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        path = Path(temporary) / "index.html"
        path.write_text(text, encoding="utf-8")
        loads = []
        for _ in range(N_LOADS):
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            loads.append(load_times(browser, path))
            browser.close()
    print(f"{len(findings.cohort)} subjects: {len(text.encode()) / 1e6:.2f} MB")
    for what, times in zip(("read", "painted", "tables ready"), zip(*loads, strict=True),
                           strict=True):  # fmt: skip
        print(f"{what:>12}: {statistics.median(times):.2f} s")


if __name__ == "__main__":
    main()
