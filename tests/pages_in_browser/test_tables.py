"""Tables that readers sort and copy."""

import pytest

from keyhole.pages.page import Answer, Page, Section, Table, write_page

TABLE = Table(
    "Regret",
    ["policy", "regret", "note"],
    [["LSA", "9 [8, 10]", "b"], ["APT", "1,234 [1,100, 1,300]", ""], ["RoundRobin", "-2", "a"]],
)
CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    page = Page(title="A table?", answer=[Answer("Yes")], sections=[Section("t", "Table", [TABLE])])
    return write_page(tmp_path_factory.mktemp("table") / "page.html", page)


@pytest.fixture
def page(path, open_page):
    return open_page(path, fragment="#t", permissions=CLIPBOARD)


def first_cells(page):
    return page.locator("tbody th").all_inner_texts()


@pytest.mark.parametrize(
    ("column", "ascending"),
    [
        ("policy", ["APT", "LSA", "RoundRobin"]),
        ("regret", ["RoundRobin", "LSA", "APT"]),  # numbers, not their digits
    ],
)
def test_a_click_on_a_heading_sorts_and_a_second_one_reverses(column, ascending, page):
    button = page.get_by_role("button", name=column)
    button.click()
    assert first_cells(page) == ascending
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
    button.click()
    assert first_cells(page) == ascending[::-1]
    assert page.locator("[aria-sort]").get_attribute("aria-sort") == "descending"


def test_decimals_within_texts_and_times_are_sorted_by_value(tmp_path, open_page):
    rows = [
        ["APT(.1)", "2026-11-23 20:59:10"],
        ["APT(.025)", "2026-11-23 20:59:02"],
        ["APT(10)", "2026-01-09 08:00:00"],
    ]
    table = Table("Times", ["policy", "when"], rows)
    path = write_page(tmp_path / "page.html", Page(title="When?", answer=[table]))
    page = open_page(path, fragment="#%")  # no address: the script goes on
    page.get_by_role("button", name="policy").click()
    assert first_cells(page) == ["APT(.025)", "APT(.1)", "APT(10)"]
    page.get_by_role("button", name="when").click()
    assert first_cells(page) == ["APT(10)", "APT(.025)", "APT(.1)"]


def test_empty_cells_come_last_either_way(page):
    button = page.get_by_role("button", name="note")
    button.click()
    assert first_cells(page) == ["RoundRobin", "LSA", "APT"]
    button.click()
    assert first_cells(page) == ["LSA", "RoundRobin", "APT"]


def test_the_keyboard_sorts(page):
    page.get_by_role("button", name="regret").focus()
    page.keyboard.press("Enter")
    assert first_cells(page) == ["RoundRobin", "LSA", "APT"]


def test_a_table_is_copied_as_it_is_sorted_for_a_spreadsheet(page):
    page.get_by_role("button", name="policy").click()
    page.get_by_role("button", name="Copy table").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == (
        "policy\tregret\tnote\nAPT\t1,234 [1,100, 1,300]\t\nLSA\t9 [8, 10]\tb\nRoundRobin\t-2\ta"
    )


def test_without_a_script_a_table_has_no_buttons(path, open_page):
    page = open_page(path, java_script_enabled=False)
    page.locator("summary").click()
    assert first_cells(page) == ["LSA", "APT", "RoundRobin"]
    assert page.locator("button").count() == 0
