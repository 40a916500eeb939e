from types import SimpleNamespace

import numpy as np
import pytest

from keyhole.pages.figure_files import blank_figure
from keyhole.pages.matplotlib_chart import plot_chart
from keyhole.papers.entry import ParameterFigure
from keyhole.papers.report import entry_charts
from keyhole.papers.report.entry_charts import parameter_chart, problem_chart, ratio_chart
from keyhole.papers.report.judged_entry import JudgedEntry
from tests.papers.conftest import entry_of
from tests.papers.made_up import result

METRIC = "aggregate_regret"


def made_part(entry, **found):
    runs = {key: SimpleNamespace(curves=one.curves) for key, one in found.items()}
    verdicts = [SimpleNamespace(id=claim.id, origin=claim.origin) for claim in entry.claims]
    return JudgedEntry(entry, "quick", runs, tuple(verdicts))


@pytest.fixture
def no_bounds(monkeypatch):
    monkeypatch.setattr(entry_charts, "bounds_by_name", lambda *_: {})


def test_the_policies_of_the_papers_claims_are_named_first_and_then_the_best():
    labels = ["Uniform", "UCBE(-1)", "UCBE(0)", "UCBE(4)", "APT(.1)", "LSA", "APT(0)"]
    found = result({label: [9 - i, 9 - i] for i, label in enumerate(labels)})
    chart = problem_chart(made_part(entry_of("tao2019-setup2"), setup2=found), "setup2", METRIC)
    # LSA and APT(0) are what the claims are about; of the others, the lowest come first.
    assert {"LSA", "APT(0)"} <= set(chart.named[:4])
    assert len(chart.named) == 5
    assert "Uniform" not in chart.named
    assert chart.files[0] == f"setup2-{METRIC}.svg"


def test_bounds_are_curves_or_lines_unless_they_lie_far_above(tiny, monkeypatch):
    bounds = {
        "rises": ([10, 20], [3.0, 6.0]),
        "flat": ([10, 20], [5.0, 5.0]),
        "high": ([10, 20], [900.0, 900.0]),
    }
    monkeypatch.setattr(entry_charts, "bounds_by_name", lambda *_: bounds)
    part = made_part(tiny, easy=result({"u": [3, 4], "v": [1, 2]}))
    chart = problem_chart(part, "easy", METRIC)
    assert chart.labels == ["u", "v", "rises"]
    assert [one.label for one in chart.references] == ["flat", "high"]
    flat, high = chart.drawing.references
    assert flat.place is not None
    assert (high.place, high.name.text) == (None, "high (900 ↑)")
    axes = plot_chart(chart, blank_figure().subplots())
    assert {text.get_text() for text in axes.texts} == {"flat", "high (900 ↑)"}
    assert axes.get_ylim()[1] < 20
    rises = axes.lines[chart.labels.index("rises")]
    assert (rises.get_color(), rises.get_label()) == ("black", "rises")


def test_a_chart_against_a_parameter_may_lack_policies_of_the_first_problem(tiny, no_bounds):
    found = {
        "a": result({"us": [1, 2]}),
        "b": result({"them": [1, 2]}),
        "c": result({"them": [3, 4]}),
    }
    declared = ParameterFigure(title="O", x_label="x", x={"b": 1.0, "c": 2.0})
    chart = parameter_chart(made_part(tiny, **found), declared, "overview-1")
    assert chart.labels == ["them"]
    assert list(chart.curves[0].x) == [1.0, 2.0]
    assert list(chart.curves[0].y) == pytest.approx([2.0, 4.0])
    assert (chart.x.title, chart.x.scale, chart.y.scale) == ("x", "linear", "linear")


def test_one_replication_has_no_interval_in_a_chart(tiny):
    found = {key: result({"us": [1, 2]}, runs=1) for key in "bc"}
    declared = ParameterFigure(title="O", x_label="x", x={"b": 1.0, "c": 2.0})
    (curve,) = parameter_chart(made_part(tiny, **found), declared, "overview-1").curves
    assert np.isnan(curve.low).all()
    assert np.isfinite(curve.y).all()


def test_a_chart_of_ratios_has_a_line_at_one_and_is_broken_where_there_is_none():
    found = result({"u": [1, 2, 3], "v": [1, 0.0, 1]}, checkpoints=(10, 20, 30))
    chart = ratio_chart(found.curves, "easy", METRIC, "v")
    assert [one.value for one in chart.references] == [1.0]
    (curve,) = chart.curves
    assert np.isnan(curve.y).tolist() == [False, True, False]
    axes = plot_chart(chart, blank_figure().subplots())
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [False, True, False]
    assert [1.0, 1.0] in [list(line.get_ydata()) for line in axes.lines]
    assert " ".join(axes.get_ylabel().split()).endswith("/ that of v")


def test_a_policy_looks_the_same_in_all_figures_of_an_entry(tiny):
    found = {
        key: result({"LSA(1)": [1, 2], "B": [3, 4], "LSA(2)": [2, 3]}) for key in ("easy", "hard")
    }
    policies = [{"label": label} for label in found["easy"].curves.labels]
    part = made_part(tiny.model_copy(update={"policies": policies}), **found)
    declared = ParameterFigure(
        title="O", x_label="x", x={"easy": 1.0, "hard": 2.0}, policies=["LSA(2)", "LSA(1)"]
    )
    charts = [
        problem_chart(part, "easy", METRIC),
        ratio_chart(found["easy"].curves, "easy", METRIC, "B"),
    ]
    charts.append(parameter_chart(part, declared, "overview-1"))
    looks = []
    for chart in charts:
        lines = plot_chart(chart, blank_figure().subplots()).lines
        lines = {line.get_label(): line for line in lines}
        looks.append(
            [(lines[n].get_color(), lines[n].get_linestyle(), lines[n].get_marker())
             for n in ("LSA(1)", "LSA(2)")]
        )  # fmt: skip
    assert looks[0] == looks[1] == looks[2]
    assert looks[0][0] != looks[0][1]


def test_a_bound_against_a_parameter_is_a_line_of_its_own():
    entry = entry_of("abernethy2016-theorem3")
    declared = entry.parameter_figures[0].model_copy(update={"metric": METRIC})
    found = {key: result({label: [1, 2] for label in declared.policies}) for key in declared.x}
    chart = parameter_chart(made_part(entry, **found), declared, "o")
    bound = chart.curves[-1]
    assert bound.label == "bound: theorem 3"
    axes = plot_chart(chart, blank_figure().subplots())
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend[0] == "bound: theorem 3"
    (line,) = [line for line in axes.lines if line.get_label() == bound.label]
    assert line.get_xydata().tolist() == [[x, y] for x, y in zip(bound.x, bound.y, strict=True)]
    assert line.get_color() == "black"
