import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import keyhole.pages
from keyhole import Curves, Metric
from keyhole.experiment import Spec, load_run, run
from keyhole.experiment.report import (
    means_table,
    spec_report_section,
    tail_tables,
    write_report,
)
from keyhole.experiment.run_summary import summarize_run
from keyhole.pages.figure_files import blank_figure, figure_bytes
from keyhole.pages.page import keep_intervals_together
from keyhole.results.curve_chart import caption
from tests.html import check_page
from tests.processes import python

# But for the report of the module: it comes before what is asked for by each test.
pytestmark = pytest.mark.usefixtures("only_svg")

NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def report(finished):
    return write_report(finished).read_text()


def test_a_report_shows_the_numbers(report, finished):
    curves = load_run(finished)
    mean = curves.estimates("ours", "aggregate_regret")[-1]
    assert keep_intervals_together(mean.plus_minus()) in report
    gap = curves.paired("RoundRobin()", "ours", metric="aggregate_regret", round=60)
    assert keep_intervals_together(str(gap)) in report


def test_a_report_can_be_read_by_all(report):
    page = check_page(report)
    assert len(page.all("table")) >= 4
    assert len(page.all("figure")) == 2


def contrast(one, other):
    """Return the contrast of two colours by the rule of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_what_is_written_can_be_read_by_day_and_by_night():
    folder = Path(keyhole.pages.__file__).parent
    style = (folder / "templates" / "style.css").read_text()
    colours = re.findall(r"([-\w]+): light-dark\((#\w+), (#\w+)\)", style)
    # The page's own come first; squares of claims have backgrounds and colours of their own.
    (_, day, night), *_ = [one for one in colours if one[0] == "background"]
    written = [one for one in colours if one[0] not in ("background", "border-color")][:5]
    assert len(written) == 5  # text, links, three verdicts
    for _, one, other in written:
        assert contrast(one, day.replace("#fff", "#ffffff")) >= 4.5
        assert contrast(other, night) >= 4.5


def test_what_a_spec_says_is_text_in_figures_and_tables(text, tmp_path):
    text = text.replace('label = "ours"', 'label = "<b>&amp;"')
    page = in_a_report('notes = "<script>alert(1)</script>"\n' + text, tmp_path / "run")
    tree = check_page(page)
    assert not tree.all("b")
    assert all("alert" not in one.text for one in tree.all("script"))
    assert "<b>&amp;" in tree.all("figure")[0].words()
    assert "<b>&amp;" in [one.words() for one in tree.all("th")]


def test_a_dollar_begins_no_formula_and_a_name_may_begin_anyhow():
    values = {"$\\frac$": np.ones((1, 1, 3)), "_hidden": np.zeros((1, 1, 3))}
    curves = Curves([10], ["regret"], values)
    figure = curves.plot("regret", axes=blank_figure().subplots()).figure
    assert figure_bytes(figure, "png", title="costs $5 to $\\notacommand{1}$")
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


def test_long_values_are_shortened():
    spec = {"policy": [], "problem": {"samples": [[0, 1], [7] * 500]}}
    (table,) = spec_report_section(spec).blocks
    text = f"{{samples = [[0, 1], [{', '.join('7' * 500)}]]}}"
    assert table.rows == [["problem", f"{text[:600]}... ({len(text):,} characters in all)"]]


def test_a_report_loads_nothing(report):
    assert "<svg" in report
    assert not re.search(r"""src\s*=|<link|@import|url\((?!#)""", report)
    leads = [one.attrs["href"] for one in check_page(report).all("a")]
    assert all(link.startswith(("#", "figure")) for link in leads)


def test_every_figure_lies_beside_the_report_in_three_kinds(report, finished):
    kinds = {"svg", "png", "pdf"}
    names = {f"figure{more}.{kind}" for more in ("", "-simple_regret") for kind in kinds}
    assert {path.name for path in finished.glob("figure*")} == names
    assert all(f'href="{name}"' in report for name in names)


def test_equal_results_make_equal_figures(report, finished, tmp_path):
    code = (
        "import pathlib, sys; from keyhole.experiment.report import write_report\n"
        "write_report(pathlib.Path(sys.argv[1]))"
    )
    again = tmp_path / "run"
    shutil.copytree(finished, again, ignore=shutil.ignore_patterns("figure*", "report*"))
    done = python("-c", code, again, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("figure.svg", "figure.png", "figure.pdf", "report.html"):
        assert (finished / name).read_bytes() == (again / name).read_bytes()


def test_a_figure_says_what_it_is_in_text(finished):
    axes = load_run(finished).plot("aggregate_regret", axes=blank_figure().subplots())
    figure = axes.figure
    svg = figure_bytes(figure, "svg", title="Three arms", caption="Means of 40 runs.").decode()
    for words in ("Three arms", "Means of 40 runs.", ">ours</text>", ">round</text>"):
        assert words in svg
    pdf = figure_bytes(figure, "pdf", title="Three arms", caption="Means of 40 runs.")
    assert b"(Three arms)" in pdf
    assert b"(Means of 40 runs.)" in pdf


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
    said = caption(vanishing, "aggregate_regret", how.get("y"))
    assert said.startswith("Mean over 2 replications, with its 95 % interval. Left out, because")
    assert said.endswith("(number of checkpoints): A (1).")


def test_a_linear_figure_leaves_nothing_out(vanishing):
    said = caption(vanishing, "aggregate_regret", "linear")
    assert said == "Mean over 2 replications, with its 95 % interval."


def test_a_table_says_where_higher_is_better():
    metrics = [Metric("regret"), Metric("earned", better="higher")]
    curves = Curves([10], metrics, {"A": np.ones((1, 2, 3))})
    assert "higher is better" in means_table(curves, "earned").caption
    assert "higher is better" not in means_table(curves, "regret").caption


def test_a_table_shows_few_checkpoints_and_the_last():
    curves = Curves(range(1, 51), ["regret"], {"A": np.ones((50, 1, 3))})
    head = means_table(curves, "regret").head
    assert len(head) == 6
    assert head[-1] == "round 50"


def in_a_report(text, folder):
    run(Spec.from_text(text), folder)
    return write_report(folder).read_text()


def test_a_report_says_it_too_and_shows_notes(text, tmp_path):
    text = text.replace("[0.2, 0.45, 0.7]", "[0.01, 0.45, 0.99]").replace("[20, 60]", "[3, 5000]")
    text = text.replace("horizon = 60", "horizon = 5000")
    page = in_a_report('notes = "Why <this>.\\n\\nAnd that."\n' + text, tmp_path / "run")
    tree = check_page(page)
    assert "Left out, " in tree.all("figcaption")[0].words()
    notes = [one.words() for one in tree.all("p") if one.attrs.get("class") == "notes"]
    assert notes == ["Why <this>.", "And that."]
    assert page.count("And that") == 1


def test_a_report_begins_with_what_came_of_it(report, finished):
    first = check_page(report).all("p")[0].words()
    curves = load_run(finished)
    means = {label: curves.mean(label, "aggregate_regret")[-1] for label in curves.labels}
    assert first.startswith("ours has the lowest mean number of wrong labels after 60 rounds: 0.")
    assert min(means, key=means.get) == "ours"


def test_a_spec_may_choose_the_axes(text, tmp_path):
    in_a_report('figure = {x = "log", y = "linear"}\n' + text, tmp_path / "run")
    for name, heading in (
        ("figure", "mean number of wrong labels"),
        ("figure-simple_regret", "chance of any wrong label"),
    ):
        svg = (tmp_path / "run" / f"{name}.svg").read_text()
        assert f">{heading}</text>" in svg
        assert {">20</text>", ">50</text>"} <= set(re.findall(r">\d+</text>", svg))


def test_the_aggregate_regret_is_drawn_as_its_paper_does(report, finished):
    svg = (finished / "figure.svg").read_text()
    # A long label has a line break.
    assert ">ln(mean number of wrong labels /</tspan>" in svg or (
        ">ln(mean number of wrong labels /</text>" in svg
    )
    assert (
        ">chance of any wrong label</text>" in (finished / "figure-simple_regret.svg").read_text()
    )


def test_equal_policies_share_the_best_mean():
    means = {"A": 1.0, "B": 1.0, "C": 9.0}
    values = {label: np.array([[[mean, mean + 1]]]) for label, mean in means.items()}
    curves = Curves([5], [Metric("loss")], values)
    assert summarize_run(curves).startswith("A and B share the lowest loss after 5 rounds: 1.")


def test_a_table_has_the_bad_runs_except_of_shares_and_of_one_run():
    metrics = [Metric("regret"), Metric("any", drawn="share")]
    runs = np.arange(20.0)
    curves = Curves([10], metrics, {"A": np.stack([runs, runs % 2])[None]})
    (table,) = tail_tables(curves, "regret")
    assert table.rows == [["A", "18", "19"]]
    assert tail_tables(curves, "any") == []
    assert tail_tables(Curves([10], ["regret"], {"A": np.ones((1, 1, 1))}), "regret") == []
