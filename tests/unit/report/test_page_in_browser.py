"""The page in a real browser: quiet, offline, usable with mouse, keyboard and phone."""

import pytest
from playwright.sync_api import expect

from notears_pfl.report.contact_sheet import contact_sheet, read_set_aside
from notears_pfl.report.study_page import Extras, study_page

from .browser import open_page, serious_problems
from .toy import blank_pictures, toy_findings, toy_origin, write_toy_slices

N_SUBJECTS = 713


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """Write the page of a study of 714 subjects, and a contact sheet beside it."""
    findings, folder = toy_findings(n_per_cell=119), tmp_path_factory.mktemp("page")
    cohort = findings.cohort
    files = write_toy_slices(folder, cohort[~cohort["included"]])
    aside = read_set_aside(cohort, files, ["contact_sheets/site-HUH.html"])
    text = study_page(findings, blank_pictures(findings), Extras(), toy_origin(), aside).text
    path = folder / "index.html"
    path.write_text(text, encoding="utf-8")
    sheet = folder / "contact_sheets/site-HUH.html"
    sheet.parent.mkdir()
    shown = cohort.assign(cautions="The brain has 703 ml.")
    sheet.write_text(contact_sheet("HUH", shown, files, "../"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(chromium, page_file):
    page, complaints = open_page(chromium, page_file, 1280)
    yield page, complaints
    page.close()


@pytest.fixture
def page(opened):
    return opened[0]


def test_the_page_is_quiet_and_asks_nothing_of_the_network(opened):
    assert opened[1] == []


def test_713_subjects_are_shown_page_by_page_and_leave_the_page_small(page, page_file):
    assert page.locator("#table-subjects tbody tr").count() == 15
    assert "of 714" in page.locator("#quality .dt-info").inner_text()
    assert page_file.stat().st_size < 4e6


def test_a_column_sorts_by_number_when_its_head_is_pressed(page):
    head = page.locator("#table-subjects thead th", has_text="mean FD, mm")
    column = page.locator("#table-subjects thead th").all_inner_texts()
    place = next(i for i, text in enumerate(column) if "mean FD" in " ".join(text.split()))

    # The table answers a little later than it is pressed.
    for direction in ("ascending", "descending"):
        head.click()
        expect(head).to_have_attribute("aria-sort", direction)

    cells = page.locator(f"#table-subjects tbody tr td:nth-child({place + 1})")
    expect(cells.first).to_contain_text("0.71")
    cells = cells.all_inner_texts()
    values = [float(cell.replace("⚑", "")) for cell in cells]
    assert values[0] == 0.71
    assert values == sorted(values, reverse=True)


def test_search_and_filter_narrow_the_table_of_subjects(page):
    rows = page.locator("#table-subjects tbody tr")

    page.locator("#quality .dt-search input").fill("KUTHC00")
    expect(rows).to_have_count(9)
    page.locator("#quality .dt-search input").fill("")
    expect(rows).to_have_count(15)

    page.get_by_label("Show only: status").select_option("failed")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("sub-HUHHC119")
    page.get_by_label("Show only: status").select_option("")


def test_no_table_is_cut_at_the_right_edge(page):
    cut = page.evaluate(
        """[...document.querySelectorAll("main table")]
        .filter((table) => table.offsetWidth > table.parentElement.clientWidth)
        .map((table) => table.id)"""
    )

    assert cut == []


def test_columns_behind_the_toggle_are_shown_when_it_is_pressed_and_can_be_scrolled_to(page):
    button = page.get_by_role("button", name="Show all 14 columns")
    hidden = page.locator("#table-subjects thead th", has_text="DVARS")
    expect(hidden).not_to_be_visible()

    button.click()

    expect(hidden).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")
    scrolling = page.locator("#quality .dt-layout-table > .dt-layout-cell")
    assert scrolling.evaluate("(cell) => getComputedStyle(cell).overflowX") == "auto"
    button.click()
    expect(hidden).not_to_be_visible()


def test_the_menu_stays_when_the_page_is_scrolled(page):
    page.locator("#provenance").scroll_into_view_if_needed()

    menu = page.locator("nav ul").bounding_box()

    page.evaluate("scrollTo(0, 0)")
    assert menu["y"] == 0


def test_under_every_figure_a_sentence_says_what_to_conclude(page):
    figures = page.locator("main figure:not(.thumbnails figure)")

    sentences = figures.locator(".conclude").all_text_contents()

    assert len(sentences) == figures.count() > 10
    assert all(text.endswith(".") and text.count(". ") == 0 for text in sentences)


def test_a_pressed_connection_shows_its_sites_weights_and_flags(page):
    first = page.locator("#table-edges tbody tr button").first
    name = first.inner_text()

    first.click()

    dialog = page.locator("#edge-dialog")
    assert dialog.get_by_role("heading").inner_text() == name
    assert dialog.locator("tbody tr").count() == 6
    assert "same direction" in dialog.inner_text()
    assert "Motion: across 22 subjects" in dialog.inner_text()
    assert "Stability: not computed" in dialog.inner_text()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).not_to_be_visible()


def test_a_connection_opens_and_closes_with_the_keyboard(page):
    page.locator("#table-edges tbody tr button").nth(1).focus()

    page.keyboard.press("Enter")
    expect(page.locator("#edge-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#edge-dialog")).not_to_be_visible()


def test_the_chosen_network_is_shown_and_the_others_are_not(page):
    page.locator("#choose-group").select_option("HC")
    page.locator("#choose-site").select_option("KUT")

    shown = page.locator(".network:visible")
    assert shown.count() == 1
    assert shown.get_attribute("data-network") == "HC|KUT"


def test_a_reason_with_markup_is_shown_as_text(page):
    assert "only 4 volumes <b>" in page.locator("#cohort").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_problem_of_accessibility_is_found(chromium, page_file, width):
    page, _ = open_page(chromium, page_file, width)

    assert serious_problems(page) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_contact_sheet_is_quiet_accessible_and_fits_a_phone(chromium, page_file, width):
    sheet = page_file.parent / "contact_sheets/site-HUH.html"
    page, complaints = open_page(chromium, sheet, width, ready=".cards")

    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    n_cards = page.locator(".cards > li").count()

    assert n_cards == 238
    assert widths[0] <= widths[1]
    assert complaints == []
    assert serious_problems(page) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_wider_than_its_frame_says_that_it_can_be_scrolled(chromium, page_file, width):
    page, _ = open_page(chromium, page_file, width)
    page.wait_for_timeout(300)

    wrong = page.evaluate(
        """[...document.querySelectorAll("main .frame, main .table-wrap")]
        .filter((frame) => frame.offsetParent && !frame.closest("details:not([open])"))
        .filter((frame) => {
          const inside = frame.querySelector(".dt-layout-table > .dt-layout-cell") ?? frame;
          const scrolls = inside.scrollWidth > inside.clientWidth + 1;
          const hint = frame.previousElementSibling;
          return scrolls !== (hint.className === "hint" && !hint.hidden);
        }).length"""
    )
    hints = page.locator(".hint:visible").count()
    narrow = page.evaluate(
        """[...document.querySelectorAll("main .table-wrap caption")]
        .filter((caption) => caption.offsetWidth > window.innerWidth).length"""
    )
    page.close()

    assert wrong == 0
    assert (hints > 5) == (width == 390)
    assert narrow == 0


def test_a_phone_scrolls_down_and_never_sideways(chromium, page_file):
    page, _ = open_page(chromium, page_file, 390)

    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    page.locator("nav a", has_text="Important nodes").click()
    page.wait_for_timeout(300)
    top = page.locator("#nodes").bounding_box()["y"]

    page.close()
    assert widths[0] <= widths[1]
    assert -5 < top < 200


def test_a_printed_page_shows_every_connection(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    rows = page.locator("#table-edges tbody tr").count()
    folded = page.locator("details:has(table):not([open])").count()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")

    assert rows == 27
    assert folded == 0
    assert page.locator("details:has(table):not([open])").count() == 1


def test_a_printed_page_has_all_columns_and_neither_menu_nor_buttons(page):
    page.emulate_media(media="print")

    visible = [
        page.locator(what).first.is_visible()
        for what in ("nav", "button", ".dt-search", "#table-subjects th.extra", ".print-only")
    ]

    page.emulate_media(media="screen")
    assert visible == [False, False, False, True, True]
