from types import SimpleNamespace

import numpy as np
import pytest

from keyhole.papers.figure_declarations import ParameterFigure
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
    monkeypatch.setattr(entry_charts, "bounds_of", lambda *_: {})


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
    monkeypatch.setattr(entry_charts, "bounds_of", lambda *_: bounds)
    part = made_part(tiny, easy=result({"u": [3, 4], "v": [1, 2]}))
    chart = problem_chart(part, "easy", METRIC)
    assert chart.labels == ["u", "v", "rises"]
    assert [one.label for one in chart.references] == ["flat"]
    assert chart.caption.endswith("high: 900, above the figure.")


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


def test_one_replication_has_no_interval_in_a_chart(tiny):
    found = {key: result({"us": [1, 2]}, runs=1) for key in "bc"}
    declared = ParameterFigure(title="O", x_label="x", x={"b": 1.0, "c": 2.0})
    (curve,) = parameter_chart(made_part(tiny, **found), declared, "overview-1").curves
    assert np.isnan(curve.low).all()
    assert np.isfinite(curve.y).all()


def test_a_chart_of_ratios_has_a_line_at_one_and_is_broken_where_there_is_none(tiny):
    found = result({"u": [1, 2, 3], "v": [1, 0.0, 1]}, checkpoints=(10, 20, 30))
    chart = ratio_chart(made_part(tiny, easy=found), "easy", METRIC, "v")
    assert [one.value for one in chart.references] == [1.0]
    (curve,) = chart.curves
    assert np.isnan(curve.y).tolist() == [False, True, False]
