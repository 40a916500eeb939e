"""Charts: values on hover, touch and keys; switches that hide curves; complete without a script."""

from itertools import pairwise

import numpy as np
import pytest

from keyhole.pages.interval_strip import IntervalStrip
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ReferenceLine, Ring
from keyhole.pages.page import Answer, Page, write_page
from tests.pages_in_browser.example_pages import PHONE, WIDE, measure
from tests.pages_in_browser.test_all_pages import violations

ROUNDS = np.array([100.0, 200.0, 300.0, 400.0])
MEANS = {"LSA": [4.0, 3.0, 2.0, 1.0], "APT(.05)": [5.0, 4.5, 4.0, 3.5], "RoundRobin": [6.0] * 4}


def make_chart(name, **more):
    curves = [
        Curve(label=label, x=ROUNDS, y=y, low=np.subtract(y, 0.25), high=np.add(y, 0.25))
        for label, y in MEANS.items()
    ]
    fields = {"x": Axis(title="round"), "y": Axis(title="wrong labels", low=0.0, high=7.0)} | more
    return LineChart(id=name, curves=curves, alt="LSA has the fewest wrong labels.", **fields)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    chart = make_chart(
        "main", named=["LSA", "RoundRobin"], caption="Means with 95 % intervals.",
        references=[ReferenceLine(value=5.5, label="by chance")],
        rings=[Ring(x=300.0, y=2.0, label="chosen")],
    )  # fmt: skip
    grid = ChartGrid([make_chart(f"panel-{i}", title=f"Problem {i}") for i in (1, 2)])
    strip = IntervalStrip(value=1.0, low=0.5, high=1.5, at_most=2.0, status="holds", alt="1 of 2")
    page = Page(title="A chart?", answer=[Answer("Yes")], figures=[chart, grid], beside=[strip])
    return write_page(tmp_path_factory.mktemp("chart") / "page.html", page)


def point_at(page, chart, x, y):
    """Move to a point of a chart, given by its data."""
    box = page.locator(f"{chart} .chart-plot").bounding_box()
    low, high = ROUNDS[0], ROUNDS[-1]
    return box["x"] + box["width"] * (x - low) / (high - low), box["y"] + box["height"] * (
        1 - y / 7
    )


def tooltip(page, chart="#main"):
    return page.locator(f"{chart} .chart-tooltip").inner_text().split("\n")


APT = ["APT(.05)", "round 300", "wrong labels: 4", "95 % interval: 3.75 to 4.25"]


def test_hover_shows_policy_round_mean_and_interval(path, open_page):
    page = open_page(path)
    page.mouse.move(*point_at(page, "#main", 300, 4.1))
    assert tooltip(page) == APT
    page.mouse.move(1, 1)
    assert tooltip(page) == [""]


def test_touch_shows_the_same_within_the_screen(path, open_page):
    page = open_page(path, width=PHONE)
    for x, y in ((300, 4.1), (100, 6), (400, 1)):
        page.touchscreen.tap(*point_at(page, "#main", x, y))
        box = page.locator("#main .chart-tooltip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE
    page.touchscreen.tap(*point_at(page, "#main", 300, 4.1))
    assert tooltip(page) == APT


def test_keys_move_along_a_curve_and_to_others(path, open_page):
    page = open_page(path)
    page.locator("#main .chart-pointer").focus()
    seen = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "Home", "ArrowDown"):
        page.keyboard.press(key)
        seen.append(tooltip(page)[:2])
    assert seen == [
        ["LSA", "round 400"], ["LSA", "round 300"], ["APT(.05)", "round 300"],
        ["APT(.05)", "round 100"], ["LSA", "round 100"],
    ]  # fmt: skip
    page.keyboard.press("Escape")
    assert tooltip(page) == [""]


def is_drawn(page, chart, label):
    return page.locator(f"{chart} .chart-lines [data-label='{label}']").is_visible()


def test_a_switch_hides_a_curve_and_its_values_and_shows_it_again(path, open_page):
    page = open_page(path)
    page.locator("#main summary").click()
    switch = page.locator("#main").get_by_role("button", name="APT(.05)")
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()
    assert switch.get_attribute("aria-pressed") == "false"
    assert not is_drawn(page, "#main", "APT(.05)")
    assert is_drawn(page, "#main", "LSA")
    page.mouse.move(*point_at(page, "#main", 300, 4.1))
    assert tooltip(page)[0] != "APT(.05)"
    switch.press("Enter")
    assert is_drawn(page, "#main", "APT(.05)")


def test_a_double_click_leaves_one_curve_and_another_one_shows_all(path, open_page):
    page = open_page(path)
    page.locator("#main summary").click()
    switch = page.locator("#main").get_by_role("button", name="LSA")
    for expected in (["LSA"], list(MEANS)):
        switch.dblclick()
        assert [label for label in MEANS if is_drawn(page, "#main", label)] == expected


def test_the_switches_of_a_grid_are_those_of_all_its_panels(path, open_page):
    page = open_page(path)
    page.locator(".chart-grid").get_by_role("button", name="RoundRobin").click()
    assert not is_drawn(page, "#panel-1", "RoundRobin")
    assert not is_drawn(page, "#panel-2", "RoundRobin")
    assert is_drawn(page, "#main", "RoundRobin")


def test_panels_stand_side_by_side_and_on_a_phone_below_each_other(path, open_page):
    for width, is_beside in ((WIDE, True), (PHONE, False)):
        page = open_page(path, width=width)
        one, two = (page.locator(f"#panel-{i}").bounding_box() for i in (1, 2))
        assert (one["y"] == two["y"]) is is_beside
        assert two["x"] + two["width"] <= width
        measured = measure(page)
        assert measured["overflow"] <= 0, measured["wider"]
        assert measured["cut"] == []


@pytest.mark.parametrize("media", ["screen", "print"])
def test_without_a_script_curves_names_ticks_and_legends_are_there(media, path, open_page):
    page = open_page(path, java_script_enabled=False)
    page.emulate_media(media=media)
    for label in MEANS:
        assert is_drawn(page, "#main", label)
    assert page.locator("#main .chart-name").all_inner_texts() == ["LSA", "RoundRobin"]
    assert "Means with 95" in page.locator("#main figcaption").inner_text()
    for text in ("round", "wrong labels", "400", "by chance", "chosen"):
        assert page.locator("#main").get_by_text(text, exact=True).is_visible()
    assert page.locator("button").count() == 0


def test_names_of_curves_do_not_overlap(path, open_page):
    for width in (WIDE, PHONE):
        page = open_page(path, width=width)
        boxes = [name.bounding_box() for name in page.locator("#main .chart-name").all()]
        spans = sorted((box["y"], box["y"] + box["height"]) for box in boxes)
        assert all(above[1] <= below[0] + 1 for above, below in pairwise(spans))
        assert all(box["x"] + box["width"] <= width for box in boxes)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_chart_that_is_looked_at(scheme, path, open_page):
    page = open_page(path, color_scheme=scheme)
    page.mouse.move(*point_at(page, "#main", 300, 4.1))
    page.locator("#main summary").click()
    assert violations(page) == []
    assert page.faults == []
