import re
from pathlib import Path

import numpy as np
import pytest

import keyhole.experiment
from keyhole import Curves, Metric
from keyhole.experiment import Spec, load_run, open_run, run
from keyhole.experiment.plots import figure_of, picture
from keyhole.experiment.report import (
    metric_figure,
    spec_section,
    values_section,
    write_report,
)

NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.fixture
def report(finished):
    return write_report(finished).read_text()


def test_a_report_shows_the_numbers(report, finished):
    curves = load_run(finished)
    mean = curves.estimates("ours", "aggregate_regret")[-1]
    assert mean.plus_minus().replace(" ", NO_BREAK) in report
    assert f"ln{NO_BREAK}{np.log(mean.value / 3):.1f}" in report
    gap = curves.paired("Uniform()", "ours", metric="aggregate_regret", round=60)
    assert str(gap).replace(" ", NO_BREAK) in report


def test_the_contents_lead_to_every_heading(report):
    anchors = re.findall(r'<h[23] id="(s\d+)">', report)
    assert anchors == re.findall(r'<li><a href="#(s\d+)">', report)
    assert len(anchors) >= 5
    assert report.count("<ul>") == report.count("</ul>")


def test_tables_can_be_read_out(report):
    tables = re.findall(r"<table.*?</table>", report, re.DOTALL)
    for one in tables:
        for part in ("<caption>", "<thead>", "<tbody>", 'scope="col"', 'scope="row'):
            assert part in one
    assert re.findall(r"<h(\d)", report)[:2] == ["1", "2"]


def contrast(one, other):
    """Return the contrast of two colours by the rule of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("verdict", ["holds", "does-not-hold", "undecided"])
def test_verdicts_can_be_read_by_day_and_by_night(verdict):
    style = (Path(keyhole.experiment.__file__).parent / "report.css").read_text()
    (rule,) = re.findall(rf"\.{verdict} {{ color: light-dark\((#\w+), (#\w+)\)", style)
    assert contrast(rule[0], "#ffffff") >= 4.5
    assert contrast(rule[1], "#2b2a33") >= 4.5  # the lightest of browsers' dark pages


def test_a_dollar_begins_no_formula_and_a_name_may_begin_anyhow():
    values = {"$\\frac$": np.ones((1, 1, 3)), "_hidden": np.zeros((1, 1, 3))}
    curves = Curves([10], ["regret"], values)
    figure = figure_of(curves, "regret", title="costs $5 to $\\notacommand{1}$")
    assert picture(figure, "png")
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts == ["$\\frac$", "_hidden"]


def test_one_replication_has_a_table_and_a_figure(text, tmp_path):
    page = in_a_report(text.replace("replications = 40", "replications = 1"), tmp_path / "run")
    assert f"±{NO_BREAK}n/a" in page
    assert "One replication, which has no interval." in page
    assert not re.search(r"\b(nan|inf)\b", re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))


def test_a_report_shows_spec_and_provenance(report):
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
            picture(figure_of(curves, "aggregate_regret", title="x"), kind) for _ in range(2)
        )
        assert first == second


@pytest.fixture
def vanishing():
    """Return curves one of which falls to 0."""
    values = {
        "A": np.array([[[2.0, 2.0]], [[0.0, 0.0]], [[1.0, 0.0]]]),
        "B": np.array([[[2.0, 2.0]], [[2.0, 2.0]], [[2.0, 2.0]]]),
    }
    metric = Metric("aggregate_regret", drawn="ln(mean / arms)")
    return Curves([1, 2, 3], [metric], values, arms=1)


@pytest.mark.parametrize("how", [{}, {"y": "log"}])
def test_a_figure_says_what_a_logarithm_leaves_out(vanishing, how):
    figure = figure_of(vanishing, "aggregate_regret", title="x", **how)
    said = figure.get_supxlabel().replace("\n", " ")
    assert said.startswith("Mean over 2 replications, with its 95 % interval. Left out, because")
    assert said.endswith("(number of checkpoints): A (1).")


def test_a_linear_figure_leaves_nothing_out(vanishing):
    said = figure_of(vanishing, "aggregate_regret", title="x", y="linear").get_supxlabel()
    assert said == "Mean over 2 replications, with its 95 % interval."


def test_a_table_says_where_higher_is_better():
    metrics = [Metric("regret"), Metric("earned", better="higher")]
    curves = Curves([10], metrics, {"A": np.ones((1, 2, 3))})
    assert "Higher is better." in values_section(curves, "earned", None)
    assert "Higher is better." not in values_section(curves, "regret", None)


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
