import numpy as np
import pytest
from matplotlib.figure import Figure

from keyhole.papers.figure_declarations import ParameterFigure
from keyhole.papers.report.parameter_figure_drawing import (
    draw_bound,
    draw_parameter_figure,
    ratio_figure,
    ratios,
)
from keyhole.results.estimate import mean_estimate
from keyhole.results.plot import matplotlib_styles, plot_curves
from keyhole.threshold.bounds import adversarial_lower_bound
from tests.papers.conftest import entry_of
from tests.papers.made_up import result, results

METRIC = "aggregate_regret"


@pytest.fixture
def curves():
    found = results({"b": 2.0, "a": 1.0, "c": 4.0})
    return {key: one.curves for key, one in found.items()}


def test_a_parameter_figure_has_the_problems_from_left_to_right(curves):
    declared = ParameterFigure(title="O", x_label="x", x={"b": 20.0, "a": 10.0, "c": 30.0})
    points = declared.estimates(curves, METRIC)["us"]
    assert [x for x, _ in points] == [10.0, 20.0, 30.0]
    assert [mean.value for _, mean in points] == pytest.approx([1.0, 2.0, 4.0])
    assert points[0][1].error == pytest.approx(curves["a"].std_error("us", METRIC)[-1])


def test_a_parameter_figure_has_its_policies_and_its_round():
    found = result({"u": [1, 2], "v": [3, 4], "w": [5, 6]}).curves
    declared = ParameterFigure(
        title="O", x_label="x", x={"p": 0.0, "q": 1.0}, policies=["w", "u"], round=10
    )
    points = declared.estimates({"p": found, "q": found}, METRIC)
    assert list(points) == ["w", "u"]
    assert points["w"][0][1].value == pytest.approx(5.0)


def test_a_parameter_figure_has_a_line_for_each_policy_with_its_own_style(curves):
    points = ParameterFigure(title="O", x_label="x", x={"a": 1.0, "b": 2.0}).estimates(
        curves, METRIC
    )
    figure = draw_parameter_figure(points, ["them", "us"], x_label="resource Q", name="regret")
    (axes,) = figure.axes
    line = axes.lines[0]
    assert line.get_color() == matplotlib_styles(["them", "us"])["us"]["color"]
    assert line.get_xydata() == pytest.approx(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert axes.get_xlabel() == "resource Q"
    assert axes.get_ylabel() == "regret"
    bars = axes.collections[0].get_segments()
    reach = points["us"][0][1].reach
    assert bars[0][:, 1] == pytest.approx([1.0 - reach, 1.0 + reach])


def test_a_parameter_figure_has_logarithmic_axes_where_there_are_logarithms(curves):
    declared = ParameterFigure(title="O", x_label="x", x={"a": 1.0, "b": 2.0}, y_scale="log")
    points = declared.estimates(curves, METRIC)
    assert declared.mean_scale(points) == "log"
    with_zero = {"them": [(1.0, mean_estimate(np.zeros(2)))]}
    assert declared.mean_scale(points | with_zero) == "linear"
    figure = draw_parameter_figure(points, ["us"], x_label="x", name="y", scales=("linear", "log"))
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("linear", "log")
    with pytest.raises(ValueError, match="x must be above 0 on a logarithmic axis, got 0"):
        ParameterFigure(title="O", x_label="x", x={"a": 0.0, "b": 2.0}, x_scale="log")


def test_a_parameter_figure_shows_a_bound_where_its_means_are(curves):
    entry = entry_of("abernethy2016-theorem3")
    declared = entry.parameter_figures[0]
    plans = {key: entry.spec(key, "quick").plan for key in declared.x}
    values = declared.bound_values(plans)
    expected = [adversarial_lower_bound(plans[f"levels-{m}"].problem, 40_000) for m in (2, 5, 10)]
    assert values == list(zip([2.0, 5.0, 10.0], expected, strict=True))
    points = ParameterFigure(title="O", x_label="x", x={"a": 1.0, "b": 2.0}).estimates(
        curves, METRIC
    )
    figure = draw_parameter_figure(
        points, ["us"], x_label="x", name="y", bound=("theorem", [(1.0, 8.0), (2.0, 9.0)])
    )
    assert figure.axes[0].lines[-1].get_xydata().tolist() == [[1.0, 8.0], [2.0, 9.0]]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "theorem",
        "us",
    ]


def test_a_bound_of_another_setting_is_refused(tiny):
    declared = ParameterFigure(
        title="O", x_label="x", x={"easy": 1.0, "hard": 2.0}, bound="threshold.theorem_3"
    )
    with pytest.raises(ValueError, match="must be one of the setting 'thresholding'"):
        declared.check_bound(tiny.spec("easy", "quick").plan)


def test_ratios_are_those_of_the_means_where_there_are_any():
    found = result({"u": [3, 4], "v": [1, 2], "w": [0, 1]}).curves
    by_policy = ratios(found, METRIC, "v")
    assert list(by_policy) == ["u", "w"]
    assert [(t, round(r.value, 6)) for t, r in by_policy["u"]] == [(10, 3.0), (20, 2.0)]
    # The mean of w is 0 at round 10: nothing is said of a ratio to it.
    assert [t for t, _ in ratios(found, METRIC, "w")["u"]] == [20]


def test_a_figure_of_ratios_has_a_line_at_one():
    found = result({"u": [3, 4], "v": [1, 2], "w": [0, 0.0]}).curves
    figure = ratio_figure(found, METRIC, "v")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["u", "w"]
    assert list(axes.lines[-1].get_ydata()) == [1.0, 1.0]
    assert axes.get_ylabel().endswith("/ that of v")
    assert axes.lines[0].get_color() == matplotlib_styles(["u"])["u"]["color"]
    empty = ratio_figure(found, METRIC, "w")
    assert np.isnan(empty.axes[0].lines[0].get_ydata()).all()


def test_one_replication_is_drawn_without_bars():
    found = result({"u": [3, 4]}, runs=1).curves
    points = ParameterFigure(title="O", x_label="x", x={"p": 0.0, "q": 1.0}).estimates(
        {"p": found, "q": found}, METRIC
    )
    figure = draw_parameter_figure(points, ["u"], x_label="x", name="regret")
    figure.canvas.draw()
    assert figure.axes[0].get_ylim()[1] < 100


@pytest.mark.parametrize(("bound", "lines"), [(12.0, 2), (900.0, 1)])
def test_a_bound_is_drawn_unless_it_lies_far_above(bound, lines):
    axes = plot_curves(result({"u": [3, 4]}).curves, METRIC, Figure().subplots())
    draw_bound(axes, [10, 20], [bound, bound], "theorem 5 of $u")
    assert len(axes.lines) == lines
    (text,) = axes.texts
    assert text.get_text().startswith("theorem 5 of $u")
    assert ("above the figure" in text.get_text()) == (lines == 1)
    assert axes.get_ylim()[0] <= 0.0


def test_a_line_of_ratios_is_broken_where_there_is_none():
    found = result({"u": [1, 2, 3], "v": [1, 0.0, 1]}, checkpoints=(10, 20, 30)).curves
    line = ratio_figure(found, METRIC, "v").axes[0].lines[0]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False]
