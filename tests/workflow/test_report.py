"""The report of a finished study: everything in one page, and what a rerun picks up."""

import os
import re
import subprocess

import pandas as pd
import pytest
from PIL import Image

FIGURES = ["balance", "cohort_flow", "cohort_motion", "degree", "overlap", "truth"]
FIGURES += [f"site_specific_group-{group}" for group in ("MDD", "HC")]
FIGURES += [
    f"network_group-{group}_site-{site}_{kind}"
    for group in ("MDD", "HC")
    for site in ("COI", "HUH")
    for kind in ("brain", "circle", "matrix")
]


@pytest.fixture(scope="module")
def page(full_run):
    return (full_run.path / "results/report/index.html").read_text()


def test_a_run_ends_in_one_page_of_modest_size(page):
    assert 1e6 < len(page.encode()) < 20e6
    for part in ("glance", "cohort", "quality", "networks", "nodes", "truth", "methods"):
        assert f'<section id="{part}"' in page


def test_every_figure_is_a_file_of_pixels_and_one_of_shapes_and_is_in_the_page(full_run, page):
    for name in FIGURES:
        png = full_run.path / f"results/report/figures/{name}.png"
        with Image.open(png) as image:
            assert image.width > 600, name
        assert "<svg" in png.with_suffix(".svg").read_text()[:600], name
        assert f"figures/{name}.svg" in page


def test_every_subject_has_a_page_with_its_registrations(full_run):
    cohort = pd.read_csv(full_run.path / "results/cohort/participants.tsv", sep="\t")

    for row in cohort.itertuples():
        folder = full_run.path / f"results/report/subjects/site-{row.site}"
        text = (folder / f"{row.participant_id}.html").read_text()
        assert text.count("data:image/svg+xml;base64,") == 7


def test_every_subject_is_on_the_contact_sheet_of_its_site_and_the_index_links_to_it(
    full_run, page
):
    cohort = pd.read_csv(full_run.path / "results/cohort/participants.tsv", sep="\t")

    for site, subjects in cohort.groupby("site"):
        sheet = full_run.path / f"results/report/contact_sheets/site-{site}.html"
        text = sheet.read_text()
        assert f'href="contact_sheets/site-{site}.html"' in page
        assert text.count("data:image/webp;base64,") == 3 * len(subjects)
        assert sheet.stat().st_size < 60_000 * len(subjects) + 20_000
        for name in subjects["participant_id"]:
            address = f"../subjects/site-{site}/{name}.html"
            assert text.count(f'<strong><a href="{address}">') == 1
            assert (sheet.parent / address).is_file()


def test_what_was_not_run_is_named_and_not_run(full_run, page):
    assert re.search(r"The paper's simulations</dt><dd>Not run. Run <code>.* simulation", page)
    assert "<h2>Simulations" not in page
    assert not (full_run.path / "results/simulate").exists()


def test_the_comparison_is_part_of_every_report(full_run, page):
    assert (full_run.path / "results/compare/proportion_tests.tsv").exists()
    assert "Not run." not in page.replace("Not run. Run", "", 1)
    assert 'id="table-proportions"' in page


def test_the_page_tells_its_command_costs_and_checksums(full_run, page):
    assert "--cores all" in page
    assert "fit_networks_other_scale" in page
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "results/report/checksums.txt"],
        cwd=full_run.path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_results_of_other_targets_are_picked_up_by_a_rerun_of_the_page_alone(full_run):
    file = full_run.path / "results/simulate/wins.tsv"
    file.parent.mkdir()

    file.write_text("experiment\tvalue\n")
    jobs = full_run.jobs()
    file.unlink()
    file.parent.rmdir()

    assert jobs == {"report_index": 1}


def test_a_draw_that_an_earlier_comparison_left_is_not_counted(full_run):
    """Stability is a share of the draws that the settings ask for."""
    left = full_run.path / "results/compare/draws/draw-99999_edges.tsv"

    left.write_text("set\tmethod\tfrom\tto\n")
    jobs = full_run.jobs()
    left.unlink()

    assert jobs == {}


def test_checksums_are_taken_again_when_a_table_of_the_study_changes(full_run):
    table = full_run.path / "config/sites.tsv"
    text, times = table.read_text(), table.stat()

    table.write_text(text + "\n")
    jobs = full_run.jobs()
    table.write_text(text)
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert jobs == {"report_index": 1}


def test_the_page_of_the_study_is_quiet_in_a_browser(full_run, chromium):
    complaints = []
    page = chromium.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url[:60]))

    page.goto((full_run.path / "results/report/index.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    page.locator("#table-subjects a").first.click()
    page.wait_for_selector("h1")
    heading = page.locator("h1").inner_text()

    page.close()
    assert [text for text in complaints if not text.startswith(("file:", "data:", "blob:"))] == []
    assert heading.startswith("sub-")
