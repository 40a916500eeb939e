import re

import numpy as np
import pytest

from keyhole import Curves
from keyhole.experiment.plots import figure_of, picture
from keyhole.experiment.report import Verdict, write_report
from keyhole.experiment.store import load_run


@pytest.fixture
def report(finished):
    verdicts = [Verdict("LSA <best>", "section 5", "does not hold", "0.1 & more")]
    return write_report(finished, verdicts=verdicts).read_text()


def test_a_report_shows_the_numbers(report, finished):
    curves = load_run(finished)
    mean = curves.mean("ours", "aggregate_regret")[-1]
    assert f"{mean:.4g} ±" in report
    assert f"ln {np.log(mean / 3):.3f}" in report
    gap = curves.paired("Uniform()", "ours", metric="aggregate_regret", round=60)
    assert f"{gap.difference:.4g}" in report


def test_a_report_shows_claims_spec_and_provenance(report):
    assert '<td class="verdict does-not-hold">does not hold</td>' in report
    assert "LSA &lt;best&gt;" in report
    assert "0.1 &amp; more" in report
    assert "keyhole run small.toml" in report
    assert "means = [0.2, 0.45, 0.7]" in report


def test_a_report_loads_nothing(report):
    assert "<svg" in report
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", report)
    assert "@import" not in report
    assert "url(http" not in report


def test_equal_results_make_equal_figures(finished):
    curves = load_run(finished)
    for kind in ("svg", "png"):
        first, second = (
            picture(figure_of(curves, "aggregate_regret", title="x", arms=3), kind)
            for _ in range(2)
        )
        assert first == second


def test_a_mean_of_zero_is_left_out_of_a_logarithm():
    curves = Curves(
        [1, 2, 3], ["aggregate_regret"], {"A": np.array([[[2.0, 2.0]], [[1.0, 0.0]], [[0.0, 0.0]]])}
    )
    axes = figure_of(curves, "aggregate_regret", title="x", arms=1).axes[0]
    assert axes.lines[0].get_xdata().tolist() == [1, 2]
    never = Curves([1], ["aggregate_regret"], {"A": np.zeros((1, 1, 3))})
    assert figure_of(never, "aggregate_regret", title="x", arms=1).axes[0].lines


def test_the_legend_is_in_the_order_of_the_final_values():
    values = {"low": np.full((2, 1, 3), 0.1), "high": np.full((2, 1, 3), 0.9)}
    axes = figure_of(Curves([1, 2], ["regret"], values), "regret", title="x").axes[0]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["high", "low"]
    assert axes.get_xlabel() == "rounds"
