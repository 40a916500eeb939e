"""The alternative text of a figure says what is drawn."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from tests.docs.loaded_extension import load_extension

pytest.importorskip("sphinx_gallery")


DOCS = Path(__file__).parents[2] / "docs"
_DRAWS = re.compile(r"^(?!#).*(?:subplots\(|\b(?:curves|study|tune)\.plot\()", re.MULTILINE)


@pytest.fixture(scope="module")
def extension():
    return load_extension("gallery_figures")


@pytest.fixture
def axes():
    return Figure().subplots()


def test_curves_have_their_names_ends_and_peaks(extension, axes):
    axes.plot([1, 2, 30_000], [0.5, 9, 1.23456], label="LSA")
    axes.plot([1, 2, 3], [5, 0, 4], label="APT")
    axes.plot([1, 2, 3], [float("nan"), 1, 2])
    axes.axhline(0.5, label="half")
    axes.set(xlabel="round", ylabel="regret", xscale="log")
    assert extension.describe_figure(axes.figure) == (
        "Plot of regret by round (logarithmic x axis): "
        "LSA, from 0.5 at 1 to 1.23 at 30,000, between them above: 9 at 2; "
        "APT, from 5 at 1 to 4 at 3, between them below: 0 at 2; "
        "a curve, from 1 at 2 to 2 at 3; a line at y = 0.5, half."
    )


def test_points_and_bands_are_named(extension, axes):
    axes.plot([1, 2], [3, 4], "o", label="runs")
    axes.fill_between([1, 2], [0, 0], [1, 1], label="interval")
    axes.axvline(2)
    axes.annotate("here", (1, 3))
    axes.set_xlabel("time")
    assert extension.describe_figure(axes.figure) == (
        "Plot of time: runs, 2 points from 3 to 4; band: interval; a line at x = 2; text: here."
    )


def test_one_point_and_unnamed_points_are_told_in_english(extension, axes):
    axes.plot([1], [3], "o")
    assert extension.describe_axes(axes) == "Plot of values: a point at 3."
    other = Figure().subplots()
    other.plot([1, 2], [3, 4], "o")
    assert extension.describe_axes(other) == "Plot of values: 2 points from 3 to 4."


def test_many_marks_are_summed_up(extension, axes):
    for x in range(30):
        axes.plot(x, 2 * x, "o")
    assert extension.describe_axes(axes) == "Plot of values: 30 marks, from 0 to 58."
    other = Figure().subplots()
    for number in range(11):
        other.plot([0, 1], label=f"arm {number}")
    assert extension.describe_axes(other).endswith("arm 8, from 0 at 0 to 1 at 1; 2 more.")


def test_bars_have_their_names(extension, axes):
    axes.bar(["one", "4+"], [2, 3.5])
    assert extension.describe_axes(axes) == "Plot of values: bars: one 2, 4+ 3.5."
    across = Figure().subplots()
    across.barh([1, 2], [5, 6])
    assert extension.describe_axes(across) == "Plot of values: bars: 1 5, 2 6."
    histogram = Figure().subplots()
    histogram.hist([0] * 3 + [1] * 4, bins=20)
    assert extension.describe_axes(histogram) == (
        "Plot of values: 20 bars, the highest (4) at 0.975."
    )


def test_large_numbers_of_linear_axes_have_commas(extension):
    left, right = Figure().subplots(1, 2)
    left.set(xlim=(0, 4000), ylim=(0, 0.5))
    right.set(xlim=(1, 4000), xscale="log")
    before = right.xaxis.get_major_formatter()
    extension.separate_thousands([left.figure])
    left.figure.draw_without_rendering()
    assert "2,000" in [tick.get_text() for tick in left.get_xticklabels()]
    assert type(left.yaxis.get_major_formatter()).__name__ == "ScalarFormatter"
    assert right.xaxis.get_major_formatter() is before


def test_panels_are_numbered(extension):
    upper, lower = Figure().subplots(2, 1)
    upper.plot([1, 2])
    lower.plot([2, 3])
    text = extension.describe_figure(upper.figure)
    assert text.startswith("Panel 1: Plot of values: a curve, from 1 at 0 to 2 at 1. Panel 2: ")


def test_the_saved_figures_have_these_texts(extension, tmp_path):
    plt.close("all")  # also what other tests have left open
    extension.set_figure_style({}, None)
    try:
        for end in (1, 2):
            plt.figure().subplots().plot([0, end])
        names = iter([str(tmp_path / f"sphx_glr_a_00{number}.png") for number in (1, 2)])
        saved = extension.scrape_figures(
            ("code", "", 1),
            {"image_path_iterator": names, "example_globals": {}},
            {
                "image_srcset": [],
                "compress_images": (),
                "src_dir": str(tmp_path),
                "matplotlib_animations": (False, None),
            },
        )
    finally:
        plt.close("all")
        plt.rcdefaults()
    assert saved.count(":alt:") == 2
    for end in (1, 2):
        assert f":alt: Plot of values: a curve, from 0 at 0 to {end} at 1.\n" in saved


def test_a_comment_in_the_script_is_the_caption(extension):
    code = "axes.plot(x)\n# Figure: Regret by round:\n# LSA ends lowest.\nprint(1)"
    assert extension.format_caption(code) == (
        "\n.. rst-class:: figure-caption\n\nRegret by round: LSA ends lowest.\n\n"
    )
    assert extension.format_caption("axes.plot(x)  # Figure: no") == ""


def test_each_example_of_the_gallery_has_a_caption(extension):
    for path in (DOCS / "gallery").rglob("*.py"):
        assert extension.format_caption(path.read_text()), path


def test_each_figure_of_tutorials_and_exercises_has_a_caption(extension):
    for path in [*(DOCS / "tutorials").rglob("*.py"), *(DOCS / "exercises").glob("*.py")]:
        for block in path.read_text().split("# %%\n"):
            if _DRAWS.search(block):
                assert extension.format_caption(block), (path, block)
