"""The legend of a plot is below its axes, within the figure, and readable on a phone."""

import pytest
from matplotlib import rc_context

from keyhole.pages.figure_files import blank_figure, figure_bytes
from keyhole.pages.policy_colours import FIGURE_WIDTH, add_legend, figure_size, wrap_axis_label

LONG = "AnytimeZoomingRCUCB(alpha=0.25, first=0.123456, second=0.654321, third=0.5)"


def drawn(labels):
    figure = blank_figure(*figure_size(labels))
    axes = figure.subplots()
    axes.set_xlabel("round")
    axes.set_ylabel("regret")
    add_legend(axes, [axes.plot([0, 1])[0] for _ in labels], labels)
    figure.draw_without_rendering()
    return figure, axes


@pytest.mark.parametrize(
    "labels", [["A"], ["$5", "b_1", "C", "D"], [f"LSA(alpha={i})" for i in range(11)], [LONG, "A"]]
)
def test_a_legend_lies_below_the_axes_and_within_the_figure(labels):
    figure, axes = drawn(labels)
    box = axes.get_legend().get_window_extent()
    assert box.y1 <= axes.xaxis.get_label().get_window_extent().y0
    assert figure.bbox.y0 <= box.y0
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert axes.bbox.height > 0.5 * figure.bbox.height
    assert [t.get_text().replace("\n", " ") for t in axes.get_legend().get_texts()] == labels


def test_letters_have_10_pixels_on_a_phone():
    _, axes = drawn(["A", "B"])
    texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    for text in [*texts, *axes.get_legend().get_texts()]:
        assert text.get_fontsize() / 72 * 328 / FIGURE_WIDTH >= 10


def test_labels_are_side_by_side_where_they_fit():
    def columns(labels, **how):
        with rc_context(how):
            return drawn(labels)[1].get_legend()._ncols

    assert columns(["A", "B", "C"]) == 3
    assert columns([f"HazardThompson{i}" for i in range(4)]) == 2
    assert columns([LONG, "A"]) == 1
    assert columns(["KLUCB()"] * 3) == 3
    assert columns(["KLUCB()"] * 3, **{"legend.fontsize": 20}) == 1


def test_a_figure_is_higher_with_more_rows_and_nothing_is_no_legend():
    assert figure_size(["A"])[1] == figure_size(["A", "B"])[1] < figure_size([LONG])[1]
    assert drawn([])[1].get_legend() is None


def test_a_long_label_of_the_y_axis_is_broken():
    assert wrap_axis_label("regret") == "regret"
    assert wrap_axis_label("cumulative regret / that of ThompsonSampling(a=1)") == (
        "cumulative regret / that of\nThompsonSampling(a=1)"
    )


def test_a_name_hides_no_characters_in_a_figure():
    figure, axes = drawn(["a\u202eb"])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [r"a\u202eb"]
    axes.set_title("c\u200bd")
    drawing = figure_bytes(figure, "svg", title="e\u202ef").decode()
    assert r"c\u200bd" in drawing
    assert r"e\u202ef" in drawing
    assert not {"\u202e", "\u200b"} & set(drawing)
