import dataclasses
import json
import re

import numpy as np
import pytest

from keyhole.data import load_aslib
from keyhole.pages.figure_files import blank_figure
from keyhole.tune import SavedTune, Spec
from keyhole.tune.report import make_title, write_report
from keyhole.tune.saved_tune import write_scenario
from keyhole.tune.summary import (
    best_as_json,
    format_progress,
    format_warnings,
    shell_command,
    summarize,
    tried_table,
)
from tests.conftest import draw_only_svg
from tests.tune.conftest import TABLE
from tests.tune.test_pair_estimates import simulate_runs
from tests.tune.trial_records import record


@pytest.fixture(scope="module")
def tune(tmp_path_factory):
    """Return a tune of 60 runs, one of which has expired."""
    spec = Spec.from_table(TABLE)
    runs = simulate_runs(np.random.default_rng(9), (0.05, 1.0), 58, [0.1, 1.0])
    runs.append(record("failed", 0.5, 1.0, "slow", reason="<script>alert(1)</script>", output="x"))
    runs.append(record("expired", 0.5, 1.0, "slow", reason="the machine was asleep meanwhile"))
    return SavedTune(tmp_path_factory.mktemp("tune"), spec, runs)


@pytest.fixture(scope="module")
def page(tune):
    """Return its report."""
    with pytest.MonkeyPatch.context() as patch:
        draw_only_svg(patch)
        return write_report(tune).read_text()


def test_a_report_answers_its_question_before_everything_else(tune, page):
    assert "<h1>Which command and which time limit for two?</h1>" in page
    command = "<code>true 0.05 {instance} {seed}</code>"
    use = "Stop it after 1\N{NO-BREAK SPACE}s; fill in {instance}, {seed}."
    texts = ["Run quick for at most 1 s, the full cut-off", "Probability that no other", command,
             use, 'id="gain-chart"', 'id="history-chart"', "<caption>two: 59 runs in",
             'id="tried"', 'id="survival"', 'id="runs"', 'id="spec"']  # fmt: skip
    positions = [page.index(text) for text in texts]
    assert positions == sorted(positions)
    assert {path.suffix for path in tune.folder.iterdir()} == {".html", ".svg", ".png", ".pdf"}


def test_a_report_is_self_contained_and_escapes_output(page):
    assert not re.search(r'(?:src|href)="https?:', page)
    assert "<script>alert" not in page


def test_a_name_that_is_a_question_is_the_title(tmp_path):
    spec = Spec.from_table(TABLE | {"name": "Which one?"})
    assert make_title(SavedTune(tmp_path, spec, [])) == "Which one?"


def test_a_report_of_one_pair_says_how_often_it_succeeds(tmp_path, no_figures):
    table = TABLE | {"name": "a <b> & c", "arm": TABLE["arm"][:1], "limits": 1}
    tune = SavedTune(tmp_path, Spec.from_table(table), [record("ok", 0.3, 1.0)])
    page = write_report(tune).read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "How often does a &lt;b&gt; &amp; c succeed?</h1>" in page
    assert re.search(
        r"Run quick for at most 1 s, the full cut-off: \d+% \[\d+%, 100%\] succeed\.", page
    )


def test_a_report_without_success_recommends_no_command(spec, tmp_path, no_figures):
    runs = [record("failed", 0.1, 1.0, arm) for arm in ("quick", "slow")]
    page = write_report(SavedTune(tmp_path, spec, runs)).read_text()
    assert "No run has succeeded: there is no evidence for any command." in page
    assert "for at most" not in page[: page.index("<details")]
    assert '<th scope="row">gain</th>' not in page


def test_a_report_needs_runs(spec, tmp_path):
    with pytest.raises(ValueError, match="nothing has been run yet"):
        write_report(SavedTune(tmp_path, spec, []))
    assert not list(tmp_path.iterdir())


def test_figures_can_be_drawn_of_runs_without_any_success(spec, tmp_path, only_svg):
    runs = [record("out of time", limit, limit, arm)
            for limit in (0.1, 1.0) for arm in ("quick", "slow")]  # fmt: skip
    write_report(SavedTune(tmp_path, spec, runs))
    for name in ("survival", "gains"):
        assert (tmp_path / f"{name}.svg").stat().st_size > 0


def test_seconds_are_written_without_powers_of_ten(tmp_path):
    spec = Spec.from_table(TABLE | {"limits": [0.2, 2.0]})
    runs = [record("ok", 0.3, 2.0, arm) for arm in ("quick", "slow")]
    runs += [record("out of time", limit, limit, "slow") for limit in (0.2, 2.0)]
    axes = SavedTune(tmp_path, spec, runs).plot(axes=blank_figure().subplots())
    axes.figure.draw_without_rendering()
    ticks = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
    named = {text for tick in ticks if (text := tick.get_text())}
    assert {"0.2", "0.5", "1", "2"} <= named
    assert all(text.replace(".", "").isdigit() for text in named)


def test_the_summary_counts_outcomes_and_seconds(tune):
    assert re.match(
        r"two: 59 runs in \S+ \(CPU \S+ s\); \d+ ok, \d+ out of time, 1 failed; 1 did not count",
        format_progress(tune),
    )
    head, rows = tried_table(tune)
    assert [row[0] for row in rows] == ["quick", "slow"]
    assert sum(int(row[head.index("runs")]) for row in rows) == 59


def test_the_best_pair_is_printed_as_json(tune):
    data = json.loads(json.dumps(best_as_json(tune)))
    assert data["command"] == ["true", "0.05", "{instance}", "{seed}"]
    assert data["gain"]["low"] < data["gain"]["value"] < data["gain"]["high"]
    assert 0.0 <= data["probability"] <= 1.0
    assert data["full"]["limit"] == 1.0
    assert data["template"] == data["command"]


def test_the_summary_counts_the_runs_at_the_full_cut_off(spec, tmp_path):
    runs = [record("ok", 0.05, 1.0), record("out of time", 1.0, 1.0)] * 20
    runs = [dataclasses.replace(run, id=f"{i:026}") for i, run in enumerate(runs)]
    summary = summarize(SavedTune(tmp_path, spec, runs))
    assert summary.sentences[0].startswith("gain over full cut-off: compared with the best command")
    assert [(row[0], row[-1]) for row in summary.table[1]] == [
        ("recommended", "40"), ("quick, full cut-off", "40")
    ]  # fmt: skip


def test_the_number_of_untried_arms_is_warned_of(spec, tmp_path):
    tune = SavedTune(tmp_path, spec, [record("ok", 0.05, 1.0)] * 3)
    assert format_warnings(tune) == ["1 of 2 arms not tried yet"]
    data = best_as_json(tune)
    assert data["runs_of_arms"] == {"quick": 1, "slow": 0}
    assert tune.best().untried == ["slow"]


def test_the_summary_begins_with_the_absence_of_success(spec, tmp_path):
    message = "no run has succeeded: there is no evidence for any command"
    runs = [record("failed", 0.1, 1.0, arm) for arm in ("quick", "slow")]
    tune = SavedTune(tmp_path, spec, runs)
    assert format_warnings(tune) == [message]
    assert best_as_json(tune)["successes"] == 0
    tune = SavedTune(tmp_path, spec, [*runs, record("ok", 0.1, 1.0)])
    assert format_warnings(tune) == []
    assert best_as_json(tune)["successes"] == 1


def test_a_recommended_command_that_never_succeeded_is_named(tmp_path):
    runs = [record("failed", 1e-3, limit) for limit in (0.1, 1.0) for _ in range(30)]
    runs += [record("out of time", limit, limit, "slow") for limit in (0.1, 1.0) for _ in range(30)]
    spec = Spec.from_table(TABLE | {"limits": [0.1, 1.0]})
    tune = SavedTune(tmp_path, spec, [*runs, record("ok", 0.9, 1.0, "slow")])
    assert tune.best().arm == "quick"
    assert format_warnings(tune) == [
        "no run of quick has succeeded: giving up early costs least so far"
    ]


def test_limits_that_may_be_milliseconds_are_warned_of(tmp_path):
    tune = one_arm(tmp_path, [100, 1000], [record("ok", 0.05, 1000.0) for _ in range(9)])
    assert format_warnings(tune) == [
        "every success took at most 0.05 s, and the least limit is 100 s: limits are in seconds"
    ]


def test_the_probability_is_explained_in_the_summary(tune):
    text = summarize(tune).sentences[1]
    assert re.match(
        r"probability that no other pair is better by more than 0\.01 of a success: \d+%; ", text
    )


def test_a_command_line_can_be_pasted(spec):
    words = ("sh", "-c", "a b", "{x}", "{instance}", "{limit:.2f}", "a={seed};rm")
    arm = dataclasses.replace(spec.arms[0], command=words, parameters={"x": 3})
    assert shell_command(arm) == "sh -c 'a b' 3 {instance} {limit:.2f} 'a={seed};rm'"


def test_runs_are_exported_as_they_were_and_read_back(tune, tmp_path):
    scenario = load_aslib(write_scenario(tune, tmp_path / "aslib"))
    assert (scenario.name, scenario.solvers, scenario.cutoff) == ("two", ("quick", "slow"), 1.0)
    done = [run for run in tune.runs if run.outcome == "ok"]
    times = np.sort(scenario.seconds[np.isfinite(scenario.seconds)])
    assert times.tolist() == sorted(run.seconds for run in done)
    limits = scenario.limits[scenario.limits > 0.0]
    assert sorted(limits) == sorted(run.limit for run in tune.runs)


def test_a_busy_machine_is_warned_of_wherever_results_are_shown(spec, tmp_path, no_figures):
    message = "the machine was busy: during the runs, their cores worked for other processes 50% of"
    runs = [record("ok", 1.0, 1.0, arm, others=0.5) for arm in ("quick", "slow") * 4]
    busy = SavedTune(tmp_path, spec, runs)
    assert format_warnings(busy)[0].startswith(message)
    assert format_warnings(busy)[0].endswith("or use fewer workers if you have several")
    assert best_as_json(busy)["other_load"] == 0.5
    assert best_as_json(busy)["warnings"][0].startswith(message)
    page = write_report(busy).read_text()
    claim, command = f"Run {busy.best().arm} for", 'class="command"'
    assert page.index(claim) < page.index(message[1:]) < page.index(command)
    assert best_as_json(SavedTune(tmp_path, spec, runs[:4]))["warnings"] == []  # four seconds
    by_cpu = dataclasses.replace(spec, clock="cpu")
    assert best_as_json(SavedTune(tmp_path, by_cpu, runs))["warnings"] == []


def one_arm(tmp_path, limits, runs):
    return SavedTune(
        tmp_path, Spec.from_table(TABLE | {"arm": TABLE["arm"][:1], "limits": limits}), runs
    )


def test_runs_that_were_cut_off_at_the_recommended_largest_limit_are_counted(tmp_path, no_figures):
    runs = [record("ok", 0.8, 1.0) for _ in range(20)]
    runs += [record("out of time", limit, limit) for limit in (1.0, 1.0, 0.1)]
    tune = one_arm(tmp_path, [0.1, 1.0], runs)
    message = (
        "2 of 22 runs ran out of time at 1 s, the largest limit tried; a longer limit, if you can "
        "wait for it, may be better"
    )
    assert message in summarize(tune).sentences
    assert best_as_json(tune)["out_of_time_at_full_cut_off"] == 2
    page = write_report(tune).read_text()
    assert f"{message}." in page
    assert message in tune._repr_html_()
    # A shorter limit is recommended, or no run of the command reached the largest one.
    early = [record("ok", 0.01, 1.0) for _ in range(20)] + runs[20:]
    for other in (early, runs[:20]):
        tune = one_arm(tmp_path, [0.1, 1.0], other)
        assert "limit tried" not in "".join(summarize(tune).sentences)


def test_a_single_arm_is_compared_with_no_other(tmp_path, no_figures):
    runs = [record("ok", 0.05, 1.0), record("out of time", 1.0, 1.0)] * 20
    runs = [dataclasses.replace(run, id=f"{i:026}") for i, run in enumerate(runs)]
    tune = one_arm(tmp_path, [0.1, 1.0], runs)
    (head, rows), sentences = summarize(tune).table, summarize(tune).sentences
    assert sentences[0].startswith("probability that no other limit is better by more than 0.01")
    assert "; the best limit is better by at most " in sentences[0]
    assert (head[3], len(rows)) == ("gain over full cut-off", 2)
    assert "from the other arms" not in write_report(tune).read_text()
    sentences = summarize(one_arm(tmp_path, 1, runs)).sentences
    assert [text.partition(",")[0] for text in sentences] == [
        "20 of 40 runs ran out of time at 1 s"
    ]


def test_what_to_add_to_the_command_stands_below_it(spec, tmp_path, no_figures):
    arm = dataclasses.replace(spec.arms[0], command=("true", "{x}"), parameters={"x": 3})
    by_cpu = dataclasses.replace(spec, arms=(arm,), limits=(1.135,), clock="cpu")
    page = write_report(SavedTune(tmp_path, by_cpu, [record("ok", 0.3, 1.135)])).read_text()
    assert "<code>true 3</code>" in page
    assert ">Stop it after 1.135\N{NO-BREAK SPACE}s of CPU time.</p>" in page


@pytest.mark.parametrize(
    ("runs", "claim"),
    [
        (1, r"no sure difference from the full cut-off \(gain 0\.\d+\s\[0\.00,\s0\.\d+\] of a s"),
        (20, r"it gains 0\.\d+\s\[0\.\d+,\s0\.\d+\] of a success a run over the full cut-off\."),
    ],
)
def test_a_gain_whose_interval_contains_0_is_no_fact(tmp_path, no_figures, runs, claim):
    records = [record("ok", 0.05, 1.0) for _ in range(8 * runs)]
    records += [record("out of time", 1.0, 1.0) for _ in range(runs)]
    tune = one_arm(tmp_path, [0.1, 1.0], records)
    assert re.search(f"for at most 0.1 s: {claim}", write_report(tune).read_text())
