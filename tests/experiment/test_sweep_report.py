"""The report of a sweep: one page, with all numbers, and figures of what can be told apart."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from keyhole import Curves, Metric
from keyhole.experiment import (
    Spec,
    load_run_folder,
    run,
    sweep_summary,
)
from keyhole.experiment.report import spec_report_section, write_report
from keyhole.experiment.run_folder import PointResult, RunFolder
from keyhole.experiment.sweep_charts import best_tiles, charts_by_parameter, charts_by_round
from keyhole.experiment.sweep_points import iterate_points
from keyhole.experiment.sweep_report import sweep_page
from keyhole.experiment.sweep_summary import (
    SweepSummary,
    explain_best,
    find_leaders_by_problem,
    format_point_title,
    short_names,
    summarize_sweep,
)
from keyhole.pages.best_policy_tiles import TileTable
from keyhole.pages.matplotlib_chart import chart_figure
from keyhole.pages.page import keep_intervals_together
from tests.conftest import leave_figures_empty
from tests.html import check_page

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("no_figures")]

TEXT = """
name = "small"
title = "How much to explore"
seed = 4
replications = 16
horizon = 60
checkpoints = [20, 60]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "RoundRobin"
[sweep]
"policy.alpha" = [0.5, 1.0, 2.0]
"problem.means" = [[0.2, 0.45, 0.7], [0.1, 0.9]]
"""
LOSS = Metric("loss", "what is lost")


def made_up(
    sweep, means=lambda values: {"A": 1.0, "B": 2.0}, *, checkpoints=(10, 100), metric=LOSS
):
    """Return the summaries of a sweep with these means at the last checkpoint.

    A label with one mean has the same values whatever is in the first place of the policies.
    """
    rng = np.random.default_rng(1)
    noises = {}
    points = []
    for values in iterate_points(sweep):
        beside = repr([value for name, value in values.items() if name != "policy[0]"])
        noise = noises.setdefault(beside, 0.1 * rng.standard_normal((len(checkpoints), 1, 8)))
        found = {label: mean + noise for label, mean in means(values).items()}
        curves = Curves(checkpoints, [metric], found)
        points.append(PointResult(values, lambda curves=curves: curves))
    return SweepSummary.from_run(
        RunFolder(None, {"sweep": sweep, "name": "made up"}, {}, tuple(points))
    )


def plot_by_round(summaries, metric="loss"):
    return chart_figure(charts_by_round(summaries, metric, anchor="c"))


def plot_by_parameter(summaries, name, metric="loss"):
    return chart_figure(charts_by_parameter(summaries, metric, name, anchor="c"))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid") / "run"
    run(Spec.from_text(TEXT), folder)
    with pytest.MonkeyPatch.context() as patch:
        leave_figures_empty(patch)
        return write_report(folder), load_run_folder(folder)


def test_the_report_has_the_means_of_every_point(page):
    path, found = page
    text = path.read_text()
    for point in found.points:
        for label in point.curves.labels:
            mean = point.curves.estimates(label, "aggregate_regret")[-1]
            assert keep_intervals_together(mean.plus_minus()) in text
    assert "[0.2, 0.45, 0.7]" in text
    assert "means 2" in text


def test_the_report_can_be_read_by_all(page):
    found = check_page(page[0].read_text())
    # Two metrics: over the rounds (a panel for each of 6 points), and against alpha (for each of 2
    # problems). The table of tiles is no figure.
    assert len(found.all("figure")) == 2 * (6 + 2)
    assert (page[0].parent / "figure-against-1.pdf").is_file()
    assert (page[0].parent / "figure-simple_regret.svg").is_file()


def test_the_spec_on_the_page_gives_no_value_to_what_is_varied():
    spec = {
        "horizon": 100,
        "problem": {"setting": "thresholding", "means": [0.1, 0.2], "threshold": 0.5},
        "duration": "Exponential",
        "policy": [{"name": "LSA"}, {"name": "APT", "epsilon": 0.1}, {"name": "Wide", "width": 1}],
        "sweep": {"horizon": [100, 200], "problem.means[0]": [0.1, 0.3], "problem.threshold": [0.4],
                  "policy[0]": [{"name": "LSA"}, {"name": "RoundRobin"}],
                  "policy.epsilon": [0, 0.1]},
    }  # fmt: skip
    rows = dict(spec_report_section(spec).blocks[0].rows)
    assert rows["horizon"] == "varied"
    problem = '{setting = "thresholding", means = ["varied", 0.2], threshold = "varied"}'
    assert rows["problem"] == problem
    assert rows["duration"] == "Exponential"
    assert rows["policy 1"] == "varied"
    assert rows["policy 2"] == '{name = "APT", epsilon = "varied"}'
    assert rows["policy 3"] == '{name = "Wide", width = 1}'
    assert spec["horizon"] == 100


def test_there_is_a_panel_for_each_point_and_one_legend():
    summaries = made_up({"policy.alpha": [1, 2], "problem.means": [[0.1], [0.2], [0.3]]})
    figure = plot_by_round(summaries)
    assert [axes.get_title() for axes in figure.axes] == [
        f"alpha = {alpha}, means {place}" for alpha in (1, 2) for place in (1, 2, 3)
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]
    assert all(axes.get_legend() is None for axes in figure.axes)


def test_titles_stand_side_by_side_and_the_label_beside_the_panels():
    kinds = [{"name": "LSA"}, {"name": "APT", "epsilon": 0.1}]
    sweep = {"policy[0]": kinds, "problem.threshold": [0.4], "seed": [1, 2, 3, 4]}
    loss = replace(LOSS, words="what is lost by those who do not look before they pull an arm")
    summaries = made_up(sweep, lambda values: {"A": len(values["policy[0]"])}, metric=loss)
    figure = plot_by_round(summaries)
    figure.draw_without_rendering()
    titles = [axes.title.get_window_extent() for axes in figure.axes[:4]]
    assert figure.axes[4].get_title() == "policy[0] = APT(epsilon=0.1),\nthreshold = 0.4, seed = 1"
    assert all(one.x1 < two.x0 for one, two in pairwise(titles))
    row = plot_by_round(made_up({"seed": [1, 2]}, metric=loss))
    row.draw_without_rendering()
    label, legend = (part.get_window_extent() for part in (row._supylabel, row.legends[0]))
    assert label.y0 > 0
    assert label.y1 < legend.y0


def test_short_names_stand_for_tables_as_a_spec_has_them(tmp_path):
    summaries = made_up({"policy[0]": [{"name": "LSA"}, {"name": "APT", "epsilon": 0.1}]})
    found = RunFolder(tmp_path, {"sweep": summaries.sweep, "name": "made up"}, {}, ())
    *_, listed = sweep_page(found, summaries, "").sections
    assert listed.blocks[0].rows == [
        ["LSA", 'policy[0] = {name = "LSA"}'],
        ["APT(epsilon=0.1)", 'policy[0] = {name = "APT", epsilon = 0.1}'],
    ]


def test_a_title_says_whose_a_parameter_is_where_several_have_some():
    assert format_point_title({"policy[0].width": "0.3"}) == "width = 0.3"
    both = {"policy[0].width": "0.3", "policy[1].alpha": "0.5"}
    assert format_point_title(both) == "policy[0].width = 0.3, policy[1].alpha = 0.5"
    assert format_point_title({"policy[0].width": "0.3"}, both) == "policy[0].width = 0.3"
    alike = {"problem.threshold": "0.3", "policy.threshold": "0.4"}
    assert format_point_title(alike) == "problem.threshold = 0.3, policy.threshold = 0.4"


def test_policies_of_one_name_from_several_files_are_numbered():
    one = {"policy[0]": [{"name": "a.py:A", "x": x} for x in (1.0, 2.0)]}
    assert short_names(one) == {"policy[0]": ["A(x=1.0)", "A(x=2.0)"]}
    both = {"policy[0]": [{"name": f"{file}.py:A"} for file in ("a", "b")]}
    assert short_names(both) == {"policy[0]": ["policy[0] 1", "policy[0] 2"]}


def test_a_caption_says_where_panels_have_axes_of_their_own(tmp_path):
    def captions(*seeds):
        sweep = {"seed": [*seeds]}
        summaries = made_up(sweep, lambda values: {"A": values["seed"], "B": 0.0})
        page = sweep_page(RunFolder(tmp_path, {"sweep": sweep, "name": "a"}, {}, ()), summaries, "")
        return page.beside[0].caption

    assert captions(1, 200).endswith("Panels differ in their vertical axes.")
    assert "differ" not in captions(1, 2)


def test_tables_of_one_name_go_by_their_numbers():
    tables = [{"name": "LSA", "alpha": alpha, "label": "same"} for alpha in (1, 2)]
    assert short_names({"policy[0]": tables}) == {"policy[0]": ["policy[0] 1", "policy[0] 2"]}


def test_a_policy_looks_the_same_in_panels_where_others_are_missing():
    def means(values):
        return {"B": 2.0} if values["seed"] == 2 else {"A": 1.0, "B": 2.0}

    summaries = made_up({"seed": [1, 2]}, means)
    both, alone = plot_by_round(summaries).axes
    assert alone.lines[0].get_color() == both.lines[1].get_color()


def test_a_metric_is_drawn_against_a_number_that_is_varied():
    summaries = made_up(
        {"policy.alpha": [4, 1, 2], "problem.means": [[0.1], [0.2]]},
        lambda values: {"A": values["policy.alpha"]},
    )
    figure = plot_by_parameter(summaries, "policy.alpha")
    assert [axes.get_title() for axes in figure.axes] == ["means 1", "means 2"]
    line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [1, 2, 4]
    assert np.allclose(line.get_ydata(), [1, 2, 4], atol=0.3)


def test_what_spans_magnitudes_is_drawn_over_its_logarithm():
    figure = plot_by_parameter(made_up({"horizon": [10, 100, 1000]}), "horizon")
    assert figure.axes[0].get_xscale() == "log"


def test_panels_that_can_be_compared_have_one_axis():
    def means(values):
        return {"A": values["seed"], "B": 0.0}

    near = plot_by_round(made_up({"seed": [1, 2]}, means)).axes
    far = plot_by_round(made_up({"seed": [1, 200]}, means)).axes
    assert near[0].get_ylim() == near[1].get_ylim()
    assert far[0].get_ylim() != far[1].get_ylim()


def test_what_is_the_same_in_all_panels_looks_the_same_in_them():
    """Its interval reaches below 0; how low the others are differs."""
    same = np.array([[[0.0, 0.4]], [[0.0, 8.0]]])
    loss = replace(LOSS, drawn="ln(mean / arms)")
    points = [
        PointResult({"seed": seed}, lambda other=other: Curves(
            (10, 100), [loss], {"A": same, "B": np.full((2, 1, 2), other)}, arms=4
        ))
        for seed, other in enumerate((2.0, 0.5, 1e-60))
    ]  # fmt: skip
    spec = {"sweep": {"seed": [0, 1, 2]}, "name": "made up"}
    axes = plot_by_round(SweepSummary.from_run(RunFolder(None, spec, {}, tuple(points)))).axes
    bands = [one.collections[0].get_paths()[0].vertices for one in axes]
    assert all(np.array_equal(band, bands[0]) for band in bands)
    assert len({one.get_ylim() for one in axes}) == 1
    low, high = axes[0].get_ylim()
    assert 0 < high - bands[0][:, 1].max() < (high - low) / 10


TURNS = {"policy[0]": [{"name": "LSA"}, {"name": "APT"}], "problem.means": [[0.1], [0.2], [0.3]]}


def in_turn(values, levels={"LSA": 1.0, "APT": 5.0}):  # noqa: B006
    name = values["policy[0]"]["name"]
    return {name: levels[name], "RoundRobin": 2.0}


def test_policies_that_take_turns_are_in_one_panel():
    summaries = made_up(TURNS, in_turn)
    for panel in (
        *plot_by_round(summaries).axes,
        *plot_by_parameter(made_up({**TURNS, "seed": [1, 2, 3]}, in_turn), "seed").axes,
    ):
        assert len({line.get_color() for line in panel.lines}) == 3
    titles = [axes.get_title() for axes in plot_by_round(summaries).axes]
    assert titles == ["means 1", "means 2", "means 3"]


def test_policies_that_take_turns_are_compared():
    assert summarize_sweep(made_up(TURNS, in_turn)) == "LSA is best at all 3 problems."


def test_one_label_with_different_means_stays_in_panels_of_its_own():
    sweep = {"policy[0]": TURNS["policy[0]"], "policy.alpha": [1, 2]}
    summaries = made_up(sweep, lambda values: in_turn(values, {"LSA": values["policy.alpha"]} |
        {"APT": 5.0}))  # fmt: skip
    titles = [axes.get_title() for axes in plot_by_round(summaries).axes]
    assert titles == ["alpha = 1", "alpha = 2"]
    told = "LSA is best at 1 of 2 points; intervals overlap at 1 of 2 points."
    assert summarize_sweep(summaries) == told


def test_what_ends_alike_is_not_the_same():
    ways = {alpha: np.array([[[alpha, 3.0]], [[1.0, 1.0]]]) for alpha in (1, 2)}
    points = [
        PointResult(
            {"policy.alpha": alpha}, lambda way=way: Curves((1, 2), [LOSS], {"A": np.array(way)})
        )
        for alpha, way in ways.items()
    ]
    spec = {"sweep": {"policy.alpha": [1, 2]}, "name": "made up"}
    assert len(SweepSummary.from_run(RunFolder(None, spec, {}, tuple(points))).panels) == 2


def test_more_policies_than_can_be_distinguished_have_panels_of_their_own():
    sweep = {"policy[0]": [{"name": f"P{place}"} for place in range(12)]}
    summaries = made_up(sweep, lambda values: {values["policy[0]"]["name"]: 1.0})
    assert len(plot_by_round(summaries).axes) == 12


def test_bands_end_at_the_same_place_whatever_the_number_of_arms():
    values = {"A": np.array([[[2.0, 2.0]], [[0.0, 8.0]]])}
    loss = replace(LOSS, drawn="ln(mean / arms)")
    points = [
        PointResult({"seed": arms}, lambda arms=arms: Curves((10, 100), [loss], values, arms=arms))
        for arms in (2, 20)
    ]
    spec = {"sweep": {"seed": [2, 20]}, "name": "made up"}
    axes = plot_by_round(SweepSummary.from_run(RunFolder(None, spec, {}, tuple(points)))).axes
    ends = [one.collections[0].get_paths()[0].vertices[:, 1].min() for one in axes]
    assert ends[0] == pytest.approx(ends[1])
    assert ends[0] == pytest.approx(axes[0].get_ylim()[0])


def test_of_many_points_some_are_drawn_and_all_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_summary, "MOST_PANELS", 2)
    summaries = made_up({"problem.means": [[n / 100] for n in range(100)]})
    titles = [axes.get_title() for axes in plot_by_round(summaries).axes]
    assert titles == ["means 1", "means 100"]
    found = RunFolder(tmp_path, {"sweep": summaries.sweep, "name": "made up"}, {}, ())
    page = sweep_page(found, summaries, "Many")
    (panels,) = page.beside
    assert panels.caption.endswith("2 of 100 panels, evenly spread over all.")
    metric, key = page.sections
    table, _ = metric.blocks
    assert len(table.rows) == 100
    assert table.rows[99][0] == "means 100"
    assert key.blocks[0].rows[99] == ["means 100", "problem.means = [0.99]"]


def test_a_panel_of_zeros_does_not_keep_the_others_from_sharing_an_axis():
    rises = np.array([1.0, 2.0]).reshape(2, 1, 1) + np.zeros((2, 1, 4))
    points = [
        PointResult({"seed": n}, lambda n=n: Curves((1, 2), [LOSS], {"A": n * rises}))
        for n in range(3)
    ]
    spec = {"sweep": {"seed": [0, 1, 2]}, "name": "made up"}
    figure = plot_by_round(SweepSummary.from_run(RunFolder(None, spec, {}, tuple(points))))
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_a_table_ends_somewhere_and_says_so(tmp_path):
    summaries = made_up({"seed": list(range(201))}, checkpoints=(100,))
    found = RunFolder(tmp_path, {"sweep": summaries.sweep, "name": "made up"}, {}, ())
    (metric,) = sweep_page(found, summaries, "").sections
    for table, file in zip(metric.blocks[-2:], ("curves", "values"), strict=True):
        assert len(table.rows) == 200
        assert f"the first 200 of 201 points, {file}.parquet has all" in table.caption


def test_the_summary_names_the_best_policy_and_where_intervals_overlap():
    def means(values):
        return {"A": values["seed"], "B": 2.5}

    for seeds, found in (
        ([1, 2, 3], "A is best at 2 of 3 points; B is best at 1 of 3 points."),
        ([1, 2.5, 2.51], "intervals overlap at 2 of 3 points; A is best at 1 of 3 points."),
        ([2.49], "intervals overlap."),
    ):
        summaries = made_up({"seed": seeds}, means)
        assert summarize_sweep(summaries) == found
        assert "the lowest what is lost in the end" in explain_best(summaries)
    higher = replace(LOSS, better="higher")
    found = summarize_sweep(made_up({"seed": [2, 2.49, 3]}, means, metric=higher))
    assert found == (
        "B is best at 1 of 3 points; intervals overlap at 1 of 3 points; A is best at 1 of 3 "
        "points."
    )


def test_the_first_screen_shows_who_is_best_where(tmp_path):
    def means(values):
        return {"A": values["seed"], "B": 2.5, "C": 2.51}

    summaries = made_up({"seed": [1, 2, 3], "problem.threshold": [0.4, 0.6]}, means)
    found = RunFolder(tmp_path, {"sweep": summaries.sweep, "name": "made up"}, {}, ())
    page = sweep_page(found, summaries, "Which?")
    (tiles,) = page.figures
    assert list(tiles.rows) == ["seed = 1", "seed = 2", "seed = 3"]
    assert list(tiles.columns) == ["threshold = 0.4", "threshold = 0.6"]
    assert tiles.cells["seed = 1", "threshold = 0.4"].label == "A"
    undecided = tiles.cells["seed = 3", "threshold = 0.6"]
    assert (undecided.text, undecided.label) == ("B or C", "")
    assert page.answer[0].text == (
        "A is best at 4 of 6 points; intervals overlap at 2 of 6 points."
    )


def test_panels_share_an_axis_and_one_of_zeros_has_its_own(tmp_path):
    flat = charts_by_round(made_up({"seed": [1, 2]}, lambda _: {"A": 0.0}), "loss", anchor="c")
    assert flat.charts[0].y.low is not None
    still = {"A": np.zeros((2, 1, 4))}
    points = [PointResult({"seed": n}, lambda: Curves((1, 2), [LOSS], still)) for n in (1, 2)]
    spec = {"sweep": {"seed": [1, 2]}, "name": "made up"}
    zeros = SweepSummary.from_run(RunFolder(None, spec, {}, tuple(points)))
    for chart in charts_by_round(zeros, "loss", anchor="c").charts:
        assert (chart.y.low, chart.y.high) == (None, None)


def test_one_policy_is_compared_with_itself_at_other_values(tmp_path):
    summaries = made_up({"seed": [1, 2, 3]}, lambda values: {"A": abs(values["seed"] - 2.02)})
    told = "A has the lowest what is lost in the end for seed = 2: -0.0"
    assert summarize_sweep(summaries).startswith(told)
    found = RunFolder(tmp_path, {"sweep": summaries.sweep, "name": "made up"}, {}, ())
    page = sweep_page(found, summaries, "")
    assert not any(isinstance(block, TileTable) for block in page.figures)
    assert "best" not in page.answer[0].note


def test_a_logarithmic_axis_leaves_out_a_panel_without_a_positive_mean(tmp_path):
    def means(values):
        return {"A": 0.0 if values["problem.means"] == [0.1] else values["seed"]}

    sweep = {"seed": [1, 2, 3], "problem.means": [[0.1], [0.2]]}
    points = [
        PointResult(
            values,
            lambda values=values: Curves(
                (1,), [LOSS], {"A": np.full((1, 1, 4), means(values)["A"])}
            ),
        )
        for values in iterate_points(sweep)
    ]
    spec = {"sweep": sweep, "name": "made up", "figure": {"y": "log"}}
    run = RunFolder(tmp_path, spec, {}, tuple(points))
    zeros, others = sweep_page(run, SweepSummary.from_run(run), "").figures[0].charts
    assert (zeros.y.scale, others.y.scale) == ("linear", "log")


def test_tiles_have_whole_rows(tmp_path):
    summaries = made_up({"seed": list(range(60)), "problem.means": [[0.1], [0.2], [0.3], [0.4]]})
    tiles = best_tiles(summaries, find_leaders_by_problem(summaries))
    assert len(tiles.rows) == 50
    assert len(tiles.cells) == 50 * 4


def test_one_replication_has_no_bars(tmp_path):
    text = TEXT.replace("replications = 16", "replications = 1")
    result = run(Spec.from_text(text), tmp_path / "run")
    summaries = SweepSummary.from_run(result)
    assert math.isinf(summaries.points[0].last_mean("LSA()", "aggregate_regret").half_width)
    assert "one replication has no interval at all 6" in summarize_sweep(summaries)
    for figure in (
        plot_by_round(summaries, "aggregate_regret"),
        plot_by_parameter(summaries, "policy.alpha", "aggregate_regret"),
    ):
        figure.draw_without_rendering()


def test_what_is_short_is_its_own_name():
    assert short_names(
        {"details": [True, False], "problem.distribution": ["bernoulli", "x" * 30]}
    ) == {
        "details": ["True", "False"],
        "problem.distribution": ["bernoulli", "distribution 2"],
    }


def test_a_metric_of_a_sweep_has_a_table_of_bad_runs_unless_it_is_a_share(page):
    path, run = page
    text, curves = path.read_text(), run.points[0].curves
    assert "mean number of wrong labels: 90 % quantile and worst run" in text
    assert "chance of any wrong label: 90 %" not in text
    assert str(curves.tail(curves.labels[0], "aggregate_regret")) in text
