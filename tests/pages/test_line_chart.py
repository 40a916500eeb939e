import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ReferenceLine, Ring
from keyhole.pages.page import Answer, Page, render_template, write_page
from tests.html import check_page, parse

NAN = float("nan")
ROUND, REGRET = Axis(title="round"), Axis(title="regret")


def curve(label="LSA", y=(1.0, 2.0, 3.0), **given):
    return Curve(**{"label": label, "x": [*range(1, len(y) + 1)], "y": list(y)} | given)


def chart(*curves, **given):
    shown = {"id": "c", "x": ROUND, "y": REGRET, "alt": "Regret by round", "curves": curves}
    return LineChart(**shown | given)


def html(block):
    return render_template(block.template, block=block)


def data(block):
    (script,) = parse(html(block)).all("script")
    return json.loads(script.text)


def found(block, name):
    """Return the elements of a class."""

    def walk(element):
        if name in element.attrs.get("class", "").split():
            yield element
        for inner in element.inner:
            yield from walk(inner)

    return list(walk(parse(html(block))))


def names(block):
    return [one.words() for one in found(block, "chart-name")]


def test_a_chart_stands_on_a_page_that_can_be_read_by_all(tmp_path):
    block = chart(curve(), curve("APT", [2, 1, NAN]), caption="Mean of 100 runs.", files=["c.svg"])
    grid = ChartGrid([chart(curve(), id="a", title="A"), chart(curve("B"), id="b", title="B")])
    page = Page(title="Which?", answer=[Answer("LSA.")], figures=[block, grid])
    tree = check_page(write_page(tmp_path / "page.html", page).read_text())
    assert len(tree.all("figure")) == 3
    assert [one.attrs["href"] for one in tree.all("a")] == ["c.svg"]


def test_lines_lie_where_their_numbers_do():
    block = chart(
        curve(y=[0, 5, 10]), x=Axis(title="x", low=1, high=3), y=Axis(title="y", low=0, high=10)
    )
    (line,) = block.drawing.lines
    assert line.path == "M0 600l900-300 900-300"  # 1,800 wide; 300 pixels are 600 units
    assert line.name.place == pytest.approx(8.5 / 300 * 100, abs=0.01)  # within the plot
    assert [tick.place for tick in block.drawing.y_ticks] == [0, 20, 40, 60, 80, 100]


def test_bands_are_the_intervals():
    band = curve(y=[1, 1], low=[0, 0.5], high=[2, 1.5])
    block = chart(band, y=Axis(title="y", low=0, high=2))
    assert block.drawing.lines[0].band == "M0 0l1800 150 0 300-1800 150z"
    assert "band" not in html(chart(curve()))


def test_numbers_are_shown_with_units():
    block = chart(
        curve(), x=Axis(title="limit", unit="s"), references=[ReferenceLine(value=99, label="off")],
        y=Axis(title="gain", unit="EUR"),
    )  # fmt: skip
    text = html(block)
    assert "limit (s)" in text
    assert "gain (EUR)" in text
    assert "off (99 EUR ↑)" in text
    assert (data(block)["x"]["unit"], data(block)["y"]["unit"]) == ("s", "EUR")


def test_the_script_gets_every_number_once():
    block = chart(
        curve(y=[1, NAN, 3.14159265], low=[0.5, NAN, 3.1], high=[1.5, NAN, 3.2], note="a note"),
        curve("APT"),
    )
    found = data(block)
    assert found["places"] == [[1, 2, 3]]
    first, second = found["curves"]
    assert first == {
        "label": "LSA", "note": "a note", "x": 0,
        "y": [1, None, 3.142], "low": [0.5, None, 3.1], "high": [1.5, None, 3.2],
    }  # fmt: skip
    assert second["y"] == [1, 2, 3]
    assert "low" not in second


@pytest.mark.parametrize("value", [123456789.0, 0.000123456789, 1e20, 1e-20, 0.0, -2.5])
def test_numbers_keep_six_digits_without_an_interval(value):
    (found,) = data(chart(curve(y=[value])))["curves"]
    assert found["y"][0] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    "label", ["</script><script>alert(1)</script>", 'a "b" & <c>', "$x$", "ä, 漢字", "a" * 300]
)
def test_labels_are_texts(label):
    block = chart(curve(label, note=label), curve("other"), title=label, caption=label)
    tree = parse(html(block))
    (script,) = tree.all("script")
    assert json.loads(script.text)["curves"][0]["label"] == label
    assert label in [one.attrs["title"] for one in found(block, "chart-name")]
    assert all(len(name) <= 22 for name in names(block))


def test_names_that_do_not_fit_stay_grey():
    curves = [curve(f"P{number}", [1, 1, 1 + number / 1000]) for number in range(9)]
    block = chart(*curves, named=["P8", "P0"], y=Axis(title="y", low=0, high=2))
    assert set(names(block)) == {"P0", "P8"}
    assert block.drawing.grey_labels == [f"P{number}" for number in range(1, 8)]
    crowded = chart(*curves, y=Axis(title="y", low=0, high=2)).drawing
    assert 0 < len(crowded.grey_labels) < 9
    assert "P0" not in crowded.grey_labels  # the first has most weight
    assert crowded.lines_bottom_up[-1].curve.label == "P0"


@given(st.lists(st.floats(-1e6, 1e6) | st.just(NAN), min_size=1, max_size=40), st.integers(60, 400))
def test_names_never_overlap_and_lie_within(ends, height):
    curves = [curve(f"{number}", [0, 0, end]) for number, end in enumerate(ends)]
    drawing = chart(*curves, height=height).drawing
    places = sorted(line.name.place * height / 100 for line in drawing.lines if line.name)
    assert places
    assert all(8 <= place <= height - 8 for place in places)
    assert all(after - before >= 16.9 for before, after in pairwise(places))


def test_a_curve_that_ends_early_is_named_at_the_edge():
    block = chart(curve(y=[1, 2, 3, 4]), curve("short", [1, 2, NAN, NAN]))
    line = block.drawing.lines[1]
    assert line.extension.startswith("M600 ")
    assert line.extension.endswith("H1800")
    assert not block.drawing.lines[0].extension


def test_identical_curves_are_both_seen():
    first, copy, other = chart(curve(), curve("copy"), curve("other", [3, 2, 1])).drawing.lines
    assert (first.is_overlaid, copy.is_overlaid, other.is_overlaid) == (True, False, False)
    assert first.name.place != copy.name.place


def test_of_identical_curves_the_one_without_gaps_is_drawn_first():
    block = chart(curve(), curve("copy"), named=["copy", "LSA"])
    assert [line.is_overlaid for line in block.drawing.lines_bottom_up] == [False, True]


def test_one_checkpoint_shows_points_with_intervals():
    block = chart(Curve(label="A", x=[1000], y=[0.5], low=[0.1], high=[0.9]), curve("B", [NAN] * 3))
    line = block.drawing.lines[0]
    assert (line.path, line.band) == ("", "")
    assert line.dots.endswith("h.01")
    assert line.whiskers
    drawn = chart(Curve(label="A", x=[1000], y=[0.5])).drawing
    assert [tick.text for tick in drawn.x_ticks] == ["1,000"]
    assert drawn.x_ticks[0].place == 50


def test_intervals_of_one_checkpoint_stand_side_by_side():
    one = {"x": [9], "y": [0.5], "low": [0], "high": [1]}
    block = chart(*(Curve(label=label, **one) for label in "ABC"))
    assert [line.dots.split()[0] for line in block.drawing.lines] == ["M756", "M900", "M1044"]
    assert [curve.get("shift", 0) for curve in data(block)["curves"]] == [-0.08, 0, 0.08]


def test_the_last_label_of_an_axis_has_the_space_that_it_juts_out():
    wide = chart(curve(), x=Axis(title="round", low=0, high=10_000))
    assert wide.drawing.overhang_characters == 3.5  # half of "10,000"
    narrow = chart(curve(), x=Axis(title="round", low=0, high=11_999))
    assert narrow.drawing.overhang_characters == 0


def test_a_phone_shows_every_second_label_of_a_crowded_axis():
    crowded = chart(curve(), x=Axis(title="round", low=0, high=10_000))
    assert [one.words() for one in found(crowded, "rare")] == ["2,000", "6,000", "10,000"]
    few = chart(curve(x=[0.5, 1, 2]))
    assert [tick.text for tick in few.drawing.x_ticks] == ["0.5", "1.0", "1.5", "2.0"]
    assert not found(few, "rare")


def test_a_logarithmic_axis_leaves_out_what_is_not_positive():
    block = chart(
        curve(y=[10, 0, 1, 0.1], low=[5, 0, -1, 0.05], high=[20, 1, 2, 0.2]),
        curve("never", [0, -1, NAN, 0]),
        y=Axis(title="wrong", scale="log"),
    )
    line, never = block.drawing.lines
    assert line.path.count("M") == 1
    assert line.dots.count("M") == 1
    assert not never.is_drawn
    assert "never (no values)" in html(block)
    assert data(block)["curves"][0]["y"] == [10, None, 1, 0.1]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("curves", [[], [curve(y=[])], [curve(y=[NAN, NAN])]])
def test_an_empty_chart_says_so(curves, scale):
    block = chart(*curves, y=Axis(title="y", scale=scale))
    assert "No values to draw" in html(block)
    assert data(block)["x"]["low"] < data(block)["x"]["high"]


def test_references_lie_on_their_values_and_are_named():
    block = chart(
        curve(), y=Axis(title="y", low=0, high=4),
        references=[ReferenceLine(value=1, label="bound"), ReferenceLine(value=-9, label="low")],
    )  # fmt: skip
    inside, outside = block.drawing.references
    assert inside.place == 75
    assert inside.name == ("bound", "bound", pytest.approx((225 - 8.5) / 3, abs=0.01))
    assert outside.place is None
    assert outside.name.text == "low (-9 ↓)"
    log = chart(curve(), y=Axis(title="y", scale="log"), references=[block.references[1]])
    assert log.drawing.references[0].name.text == "low (-9 ↓)"


def test_a_near_reference_widens_the_axis_and_a_far_one_does_not():
    near = chart(curve(), references=[ReferenceLine(value=5, label="near")]).drawing
    assert near.references[0].place is not None
    far = chart(curve(), references=[ReferenceLine(value=5000, label="far")]).drawing
    assert far.plot.y.high < 10


def test_a_ring_lies_on_its_point():
    rings = [Ring(x=2, y=1, label="best"), Ring(x=2, y=NAN, label="nowhere")]
    axes = {"x": Axis(title="x", low=0, high=4), "y": Axis(title="y", low=0, high=4)}
    block = chart(curve(), rings=[*rings, Ring(x=5, y=1, label="beyond")], **axes)
    (ring,) = block.drawing.rings
    assert ring == (rings[0], 50, 75)
    assert [one.words() for one in found(block, "chart-ring-name")] == ["best"]


def test_a_grid_has_one_legend_and_a_style_for_each_policy():
    grid = ChartGrid(
        [
            chart(curve("APT(0)"), curve("APT(1)"), id="a"),
            chart(curve("APT(1)"), curve("LSA"), id="b", named=["LSA"]),
        ]
    )
    (legend,) = found(grid, "chart-legend")
    assert [one.words() for one in legend.all("li")] == ["APT(0)", "APT(1)", "LSA"]
    first, second = grid.drawings
    assert first.lines[1].style == second.lines[0].style
    assert not names(grid)
    assert [line.is_coloured for line in grid.legend] == [True, True, True]


def test_thousands_of_points_make_a_short_page_quickly():
    rng = np.random.default_rng(0)
    rounds = [*range(1, 1001)]
    walks = rng.normal(size=(11, 1000)).cumsum(axis=1) + 3 * np.arange(11)[:, None]
    curves = [
        Curve(label=f"P{i}", x=rounds, y=y.tolist(), low=list(y - 1), high=list(y + 1))
        for i, y in enumerate(walks)
    ]
    block = chart(*curves)
    assert len(html(block).encode()) < 60_000
    assert len(data(block)["places"]) == 1  # so that all curves can be compared at one round


def test_an_interval_far_from_the_others_is_seen_whatever_the_mean_is_there():
    y = np.sin(np.arange(1000.0))
    low = y - 1
    low[501] = -99.0
    (line,) = chart(curve(y=y.tolist(), low=low.tolist(), high=list(y + 1))).drawing.lines
    steps = [int(text) for text in re.findall(r"-?\d+", line.band.split("l")[1])][1::2]
    assert max(map(abs, steps)) > 400  # of 600: nearly the whole height


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="labels of curves must differ, got 'LSA' twice"):
        chart(curve(), curve())
    with pytest.raises(ValueError, match="scale must be one of linear, log; got 'ln'"):
        Axis(title="x", scale="ln")
