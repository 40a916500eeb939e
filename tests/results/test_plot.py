import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from keyhole import Curves, Metric
from keyhole.pages.policy_colours import matplotlib_styles, policy_colour
from keyhole.results.curve_chart import count_nonpositive

REGRET = Metric("regret", "cumulative regret", drawn="from 0")
PER_ARM = Metric("regret", "cumulative regret", drawn="ln(mean / arms)")
AXES = [(REGRET, {}), (PER_ARM, {}), (REGRET, {"y": "log"})]


def constant(metric=REGRET, arms=1, **levels):
    """Return curves of two replications at each level, at rounds 10, 20, ..."""
    values = {
        label: np.repeat(np.array(level, float)[:, None, None], 2, axis=2)
        for label, level in levels.items()
    }
    rounds = [10 * (i + 1) for i in range(len(next(iter(levels.values()))))]
    return Curves(rounds, [metric], values, arms=arms)


def drawn(curves, **how):
    return curves.plot("regret", axes=Figure().subplots(), **how)


def test_the_axes_are_named_in_words_and_units():
    axes = drawn(constant(A=[1, 2]))
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == "cumulative regret"
    rounds = Metric("regret", unit="rounds")
    assert drawn(constant(rounds, A=[1, 2])).get_ylabel() == "regret (rounds)"
    assert drawn(constant(PER_ARM, A=[1, 2])).get_ylabel() == "ln(cumulative regret / arms)"


def test_a_metric_is_drawn_as_it_declares_unless_an_axis_is_asked_for():
    curves = constant(PER_ARM, arms=2, A=[4, 2])
    assert drawn(curves).lines[0].get_ydata().tolist() == pytest.approx([np.log(2), 0])
    for axes in (drawn(curves, y="linear"), drawn(constant(PER_ARM, arms=None, A=[4, 2]))):
        assert axes.lines[0].get_ydata().tolist() == [4, 2]
        assert axes.get_ylabel() == "cumulative regret"
    for metric, begins in ((REGRET, True), (Metric("regret"), False)):
        assert (drawn(constant(metric, A=[5, 6])).get_ylim()[0] == 0) == begins


@pytest.mark.parametrize(("metric", "how"), AXES)
def test_the_legend_is_in_the_order_of_the_final_values(metric, how):
    curves = constant(metric, low=[9, 1], high=[1, 9], zero=[9, 0], middle=[0, 5])
    legend = drawn(curves, **how).get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["high", "middle", "low", "zero"]


def test_the_band_is_the_95_percent_interval():
    curves = Curves([10], ["regret"], {"A": np.array([[[1.0, 2.0, 3.0, 6.0]]])})
    axes = drawn(curves)
    low, high = axes.collections[0].get_paths()[0].get_extents().get_points()[:, 1]
    error = np.std([1, 2, 3, 6], ddof=1) / 2  # and Student's t of three degrees of freedom
    assert (low, high) == pytest.approx((3 - 3.18245 * error, 3 + 3.18245 * error), rel=1e-5)


def test_axes_may_be_logarithmic():
    axes = drawn(constant(A=[1, 10, 100]), x="log", y="log")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.lines[0].get_ydata().tolist() == [1, 10, 100]
    assert axes.get_ylim()[0] == 0.5
    assert axes.yaxis.get_major_formatter()(12345.5) == "12,345.5"
    with pytest.raises(ValueError, match="y must be one of linear, log; got 'ln'"):
        drawn(constant(A=[1, 10]), y="ln")
    with pytest.raises(ValueError, match="x must be one of linear, log; got 'ln'"):
        drawn(constant(A=[1, 10]), x="ln")


@pytest.mark.parametrize(("metric", "how"), AXES[1:])
def test_a_line_is_broken_where_a_mean_has_no_logarithm(metric, how):
    curves = constant(metric, A=[2, 0, 1, 0, 0, 1, 1], B=[1] * 7)
    axes = drawn(curves, **how)
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [
        False, True, False, True, True, False, False,
    ]  # fmt: skip
    assert count_nonpositive(curves, "regret") == {"A": 3}


@pytest.mark.parametrize(("metric", "how"), AXES)
def test_the_axis_of_rounds_has_all_rounds_also_where_no_mean_has_a_logarithm(metric, how):
    low, high = drawn(constant(metric, A=[0, 2, 1, 0, 0]), **how).get_xlim()
    assert (low, high) == pytest.approx((8, 52))


def test_points_without_neighbours_are_seen():
    levels = [1.0] * 21 + [0.0, 1.0, 0.0] + [1.0] * 26
    assert 22 not in drawn(constant(A=levels)).lines[0].get_markevery()
    assert 22 in drawn(constant(A=levels), y="log").lines[0].get_markevery()


@pytest.mark.parametrize(("metric", "how"), AXES[1:])
def test_where_all_means_are_zero_they_are_drawn_as_they_are(metric, how):
    curves = constant(metric, A=[0, 0], B=[0, 0])
    axes = drawn(curves, **how)
    assert axes.get_yscale() == "linear"
    assert axes.lines[0].get_ydata().tolist() == [0, 0]
    assert count_nonpositive(curves, "regret") == {}


def test_an_interval_that_reaches_0_does_not_squeeze_the_curves():
    values = {"A": np.array([[[8.0, 8.0]], [[2.0, 0.0]]])}
    axes = drawn(Curves([1, 2], [PER_ARM], values, arms=1))
    low, high = axes.get_ylim()
    assert low == pytest.approx(np.log(0.5))
    assert np.log(8) < high < np.log(8) + 1


def test_eleven_policies_look_different_even_without_colour():
    looks = matplotlib_styles([f"P{number}" for number in range(11)]).values()
    assert len({one["marker"] for one in looks}) == 11
    assert len({(one["color"], str(one["linestyle"])) for one in looks}) == 11


def test_a_policy_has_the_colour_that_it_has_on_pages():
    drawn_alone = drawn(constant(LSA=[1, 2])).lines[0]
    beside = drawn(constant(**{"APT(0.1)": [1, 2], "LSA(alpha=2)": [1, 2]})).lines[1]
    assert drawn_alone.get_color() == beside.get_color() == policy_colour("LSA")


def test_neighbouring_curves_do_not_hide_each_others_markers():
    lines = drawn(constant(A=[1] * 50, B=[1] * 50)).lines
    assert not set(lines[0].get_markevery()) & set(lines[1].get_markevery())


def test_a_plot_leaves_the_users_settings_alone():
    before = dict(mpl.rcParams)
    drawn(constant(A=[1, 2]), x="log", y="log")
    assert dict(mpl.rcParams) == before


def test_all_intervals_at_a_single_round_are_seen_side_by_side():
    values = {label: np.array([[[1.0, 2.0, 6.0]]]) for label in "ABC"}
    curves = Curves([10], [REGRET], values)
    axes = drawn(curves)
    bars = [one.get_segments()[0] for one in axes.collections if hasattr(one, "get_segments")]
    assert len({bar[0, 0] for bar in bars}) == len(bars) == 3
    number = curves.estimates("A", "regret")[0]
    assert all(bar[:, 1] == pytest.approx([number.low, number.high]) for bar in bars)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10"]


def test_a_figure_has_the_ticks_of_the_page_whatever_part_is_shown():
    axes = drawn(constant(A=range(1, 100)), y="log")
    axes.set_xlim(0, 100_000)
    axes.figure.draw_without_rendering()
    assert "20,000" in [tick.get_text() for tick in axes.get_xticklabels()]
    axes.set_ylim(2, 70)
    assert [*axes.get_yticks()] == [2, 5, 10, 20, 50]


def test_curves_on_axes_that_have_some_hide_none_of_them():
    axes = drawn(constant(A=[1, 50]))
    constant(B=[1, 2, 3]).plot(axes=axes)
    low, high = axes.get_ylim()
    assert low <= 0 < 50 < high
    assert axes.get_xlim()[1] > 30
