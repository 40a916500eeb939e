import re

import numpy as np
import pytest

from keyhole import Curves
from keyhole.experiment import Spec, load_run, open_run, run
from keyhole.experiment.plots import figure_of, picture
from keyhole.experiment.report import Verdict, metric_figure, spec_section, write_report


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


def test_long_lists_are_shortened_at_every_depth():
    listed = spec_section({"policy": [], "problem": {"samples": [[0, 1], [7] * 500]}})
    assert "samples = [[0, 1], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ... 500 in all]]" in listed


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


@pytest.fixture
def vanishing():
    """Return curves one of which falls to 0."""
    values = {
        "A": np.array([[[2.0, 2.0]], [[0.0, 0.0]], [[1.0, 0.0]]]),
        "B": np.array([[[2.0, 2.0]], [[2.0, 2.0]], [[2.0, 2.0]]]),
    }
    return Curves([1, 2, 3], ["aggregate_regret"], values)


@pytest.mark.parametrize("how", [{"arms": 1}, {"y": "log"}])
def test_a_figure_says_what_a_logarithm_leaves_out(vanishing, how):
    figure = figure_of(vanishing, "aggregate_regret", title="x", **how)
    said = figure.get_supxlabel().replace("\n", " ")
    assert said.startswith("Mean over 2 replications, with its 95 % interval. Left out, because")
    assert said.endswith("(number of checkpoints): A (1).")


def test_a_linear_figure_leaves_nothing_out(vanishing):
    said = figure_of(vanishing, "aggregate_regret", title="x").get_supxlabel()
    assert said == "Mean over 2 replications, with its 95 % interval."


def in_a_report(text, folder):
    run(Spec.from_text(text), folder)
    return write_report(folder).read_text()


def test_a_report_says_it_too_and_shows_notes(text, tmp_path):
    text = text.replace("[0.2, 0.45, 0.7]", "[0.01, 0.45, 0.99]").replace("[20, 60]", "[3, 5000]")
    text = text.replace("horizon = 60", "horizon = 5000")
    page = in_a_report('notes = "Why <this>.\\n\\nAnd that."\n' + text, tmp_path / "run")
    assert re.search(r'aria-label="[^"]*Left out, [^"]*: ours \(1\)', page)
    assert '<p class="notes">Why &lt;this&gt;.</p><p class="notes">And that.</p>' in page
    assert page.count("And that") == 1


def test_a_spec_may_choose_the_axes(text, tmp_path):
    spec = Spec.from_text('figure = {x = "log", y = "linear"}\n' + text)
    found = run(spec, tmp_path / "run")
    axes = metric_figure(found, "aggregate_regret").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_ylabel() == "mean number of wrong labels"
    axes = metric_figure(found, "simple_regret").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert "ln " not in write_report(tmp_path / "run").read_text()


def test_the_aggregate_regret_is_drawn_as_its_paper_does(finished):
    found = open_run(finished)
    axes = metric_figure(found, "aggregate_regret").axes[0]
    assert axes.get_ylabel() == "ln(mean number of wrong labels / arms)"
    assert metric_figure(found, "simple_regret").axes[0].get_ylabel() == "chance of any wrong label"
