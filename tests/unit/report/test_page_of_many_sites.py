"""The page of a study of many subjects at many sites, in a real browser, opened from a disk."""

import pytest
from markupsafe import escape
from PIL import Image
from playwright.sync_api import expect

from notears_pfl.report.page_parts import RECORDS_PER_PART
from notears_pfl.report.study_page import Extras, embed_figures, study_page

from .browser import open_page, serious_problems
from .toy import blank_pictures, toy_findings, toy_origin

SITES = tuple(f"S{number:02d}" for number in range(1, 14))
# A caution with markup in it.
HOSTILE = "R&D <img src=x onerror='window.executed = true'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the page of 1,300 subjects at 13 sites, with its figures and the rows of its tables."""
    folder = tmp_path_factory.mktemp("report")
    findings = toy_findings(n_per_cell=50, sites=SITES, times=20)
    for name, caution in zip(findings.reports, (HOSTILE, "R&D"), strict=False):
        findings.reports[name] = findings.reports[name] | {"cautions": [caution]}
    for part in ("figures", "tables"):
        (folder / part).mkdir()
    for name in blank_pictures(findings):
        Image.new("RGB", (60, 40), "grey").save(folder / f"figures/{name}.png")
    figures = embed_figures(map(str, (folder / "figures").iterdir()), findings)
    page = study_page(findings, figures, Extras(), toy_origin())
    (folder / "index.html").write_text(page.text, encoding="utf-8")
    for name, text in page.parts.items():
        (folder / "tables" / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def opened(chromium, folder):
    page, complaints = open_page(chromium, folder / "index.html", 1280)
    yield page, complaints
    page.close()


@pytest.fixture
def page(opened):
    return opened[0]


@pytest.fixture
def subjects(page):
    """Scroll to the table of subjects and wait until all of its rows are there."""
    page.locator("#table-subjects").scroll_into_view_if_needed()
    page.wait_for_selector("#table-subjects[data-ready]")
    return page.locator("#table-subjects tbody tr")


def test_the_page_holds_the_first_rows_and_loads_the_others_when_they_come_into_view(page, folder):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))

    assert (folder / "index.html").stat().st_size < 3e6
    assert page.locator("#table-subjects tbody tr").count() == 15
    assert not any(name.endswith(".js") for name in asked)
    assert "1,300 rows" in page.locator("#quality .long-table").inner_text()
    page.locator("#table-subjects").scroll_into_view_if_needed()
    page.wait_for_selector("#table-subjects[data-ready]")

    assert "subjects_0.js" in asked
    assert not any(name.startswith("connections_") for name in asked)
    assert "of 1,300" in page.locator("#quality .dt-info").inner_text()


def test_loaded_rows_look_as_those_in_the_page(page, folder):
    rows = page.locator("#table-subjects tbody tr")
    before = rows.evaluate_all("(rows) => rows.map((row) => row.outerHTML)")
    page.locator("#table-subjects").scroll_into_view_if_needed()
    page.wait_for_selector("#table-subjects[data-ready]")

    marked = "(rows) => rows.map((row) => [...row.cells].map((cell) => [cell.textContent.trim(), "
    marked += "cell.classList.contains('number'), cell.classList.contains('flagged')]))"
    after = rows.evaluate_all(marked)
    holder = "(html) => { document.body.innerHTML = `<table><tbody>${html}</tbody></table>`; }"
    page.evaluate(holder, "".join(before))
    assert page.locator("tbody tr").evaluate_all(marked) == after
    assert any(flagged for row in after for _, _, flagged in row)


def test_loaded_rows_are_searched_filtered_and_sorted(page, subjects):
    page.locator("#quality .dt-search input").fill("S07HC00")
    expect(subjects).to_have_count(9)
    page.locator("#quality .dt-search input").fill("")
    page.get_by_label("Show only: site").select_option("S13")
    expect(page.locator("#quality .dt-info")).to_contain_text("of 100")
    page.get_by_label("Show only: status").select_option("failed")
    expect(subjects).to_have_count(1)
    expect(subjects).to_contain_text("sub-S13HC050")
    for label in ("site", "status"):
        page.get_by_label(f"Show only: {label}").select_option("")

    head = page.locator("#table-subjects thead th", has_text="mean FD, mm")
    for direction in ("ascending", "descending"):
        head.click()
        expect(head).to_have_attribute("aria-sort", direction)

    expect(subjects.first).to_contain_text("0.71")


def test_only_the_chosen_network_is_loaded_and_it_is_chosen_from_the_keyboard(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.locator("#network-of").scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    page.locator("#choose-site").focus()
    page.keyboard.type("S05")
    shown = page.locator(".network:visible")
    expect(shown).to_have_attribute("data-network", "MDD|S05")
    page.wait_for_timeout(300)

    # The first letters of the site's name choose sites, too.
    sites = {name.split("_site-")[1][:3] for name in asked if "_site-" in name}
    assert sites <= {"S01", "S02", "S05"}
    assert shown.locator("img").first.evaluate("(image) => image.naturalWidth") == 60


def test_text_in_angle_brackets_is_found_and_never_becomes_markup(page, subjects):
    page.locator("#quality .dt-search input").fill("<img src=x onerror")

    expect(subjects).to_have_count(1)
    expect(subjects).to_contain_text(HOSTILE)
    assert page.locator("#table-subjects img").count() == 0
    assert page.evaluate("window.executed") is None
    # DataTables puts the text that it searches into an element, whatever the type of the column.
    searched = """(text) => {
      const holder = document.createElement("div");
      holder.innerHTML = renderCell(text, "filter");
      return [holder.childElementCount, holder.textContent];
    }"""
    assert page.evaluate(searched, str(escape(HOSTILE))) == [0, HOSTILE]


def test_a_pressed_connection_is_read_from_its_own_file(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    head = page.locator("#table-edges thead th", has_text="connection")
    head.click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    buttons = page.locator("#table-edges tbody tr button")
    places = [int(button.get_attribute("data-record")) for button in buttons.all()]
    row = next(row for row, place in enumerate(places) if place >= RECORDS_PER_PART)
    name = buttons.nth(row).inner_text()

    buttons.nth(row).click()

    dialog = page.locator("#edge-dialog")
    expect(dialog.get_by_role("heading")).to_have_text(name)
    assert dialog.locator("tbody tr").count() == 2 * len(SITES)
    own = f"connections_{places[row] // RECORDS_PER_PART}.js"
    assert [file for file in asked if file.startswith("connections_")] == [own]


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda path: None, "is missing. Copy the whole folder"),
        (lambda path: path.write_text("reportP"), "is incomplete. Copy the whole folder"),
        (lambda path: path.write_text(""), "is incomplete. Copy the whole folder"),
    ],
    ids=["missing", "cut", "empty"],
)
def test_a_missing_or_incomplete_file_is_named(chromium, folder, tmp_path, write, problem):
    alone = tmp_path / "index.html"
    alone.write_text((folder / "index.html").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "tables").mkdir()
    for path in (folder / "tables").iterdir():
        write(tmp_path / "tables" / path.name)

    page, _ = open_page(chromium, alone, 1280)
    page.locator("#table-subjects").scroll_into_view_if_needed()
    expect(page.locator("#state-subjects")).to_contain_text(f"tables/subjects_0.js {problem}")
    n_rows = page.locator("#table-subjects tbody tr").count()
    button = page.locator("#table-edges tbody tr button").first
    name = button.inner_text()
    button.click()
    dialog = page.locator("#edge-dialog")
    expect(dialog).to_contain_text(f"tables/connections_0.js {problem}")
    title = dialog.get_by_role("heading").inner_text()

    page.close()
    assert n_rows == 15
    assert title == name


def test_a_printed_page_says_where_all_rows_are(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    assert page.locator("#table-subjects tbody tr").count() == 15
    note = page.locator("#quality .long-table")
    assert note.is_visible()
    assert "results/cohort/participants.tsv has all." in note.inner_text()


def test_without_javascript_networks_are_a_list_and_every_one_is_shown(chromium, folder):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())

    links = page.locator(".network-list a")
    n_links, n_shown = links.count(), page.locator(".network:visible").count()
    address = links.nth(14).get_attribute("href")
    chooser = page.locator("#network-chooser").is_visible()

    context.close()
    assert n_links == n_shown == 2 * len(SITES)
    assert address == "#network-HC-S02"
    assert not chooser


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_quiet_and_has_no_serious_problem_of_accessibility(chromium, folder, width):
    page, complaints = open_page(chromium, folder / "index.html", width)
    page.locator("#table-subjects").scroll_into_view_if_needed()
    page.wait_for_selector("#table-subjects[data-ready]")

    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")

    assert widths[0] <= widths[1]
    assert complaints == []
    assert serious_problems(page) == []
