import numpy as np
import pytest

from keyhole.papers.entry import ParameterFigure
from keyhole.papers.report.entry_charts import ratio_chart
from keyhole.results.estimate import mean_estimate
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
    points = declared.points_by_policy(curves, METRIC)["us"]
    assert [x for x, _ in points] == [10.0, 20.0, 30.0]
    assert [mean.value for _, mean in points] == pytest.approx([1.0, 2.0, 4.0])
    assert points[0][1].error == pytest.approx(curves["a"].std_error("us", METRIC)[-1])


def test_a_parameter_figure_has_its_policies():
    found = result({"u": [1, 2], "v": [3, 4], "w": [5, 6]}).curves
    declared = ParameterFigure(title="O", x_label="x", x={"p": 0.0, "q": 1.0}, policies=["w", "u"])
    points = declared.points_by_policy({"p": found, "q": found}, METRIC)
    assert list(points) == ["w", "u"]
    assert points["w"][0][1].value == pytest.approx(6.0)


def test_a_parameter_figure_has_logarithmic_axes_where_there_are_logarithms(curves):
    declared = ParameterFigure(title="O", x_label="x", x={"a": 1.0, "b": 2.0}, y_scale="log")
    points = declared.points_by_policy(curves, METRIC)
    assert declared.axis_scale(points) == "log"
    with_zero = {"them": [(1.0, mean_estimate(np.zeros(2)))]}
    assert declared.axis_scale(points | with_zero) == "linear"
    with pytest.raises(ValueError, match="x must be above 0 on a logarithmic axis, got 0"):
        ParameterFigure(title="O", x_label="x", x={"a": 0.0, "b": 2.0}, x_scale="log")


def test_the_bound_of_a_parameter_figure_is_where_its_means_are():
    entry = entry_of("abernethy2016-theorem3")
    declared = entry.parameter_figures[0]
    plans = {key: entry.spec(key, "quick").plan for key in declared.x}
    values = declared.bound_points(plans)
    expected = [adversarial_lower_bound(plans[f"levels-{m}"].problem, 40_000) for m in (2, 5, 10)]
    assert values == list(zip([2.0, 5.0, 10.0], expected, strict=True))


def test_a_bound_of_another_setting_is_refused(tiny):
    declared = ParameterFigure(
        title="O", x_label="x", x={"easy": 1.0, "hard": 2.0}, bound="threshold.theorem_3"
    )
    with pytest.raises(ValueError, match="must be a bound of 'thresholding'"):
        declared.check_bound(tiny.spec("easy", "quick").plan)


def test_ratios_are_those_of_the_means_where_there_are_any():
    found = result({"u": [3, 4], "v": [1, 2], "w": [0, 1]}).curves
    first, other = ratio_chart(found, "p", METRIC, "v").curves
    assert (first.label, other.label) == ("u", "w")
    assert (list(first.x), np.round(first.y, 6).tolist()) == ([10.0, 20.0], [3.0, 2.0])
    # The mean of w is 0 at round 10: nothing is said of a ratio to it.
    assert np.isnan(ratio_chart(found, "p", METRIC, "w").curves[0].y).tolist() == [True, False]
