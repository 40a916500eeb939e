import json
import math
from pathlib import Path

import jsonschema
import pytest

from keyhole.benchmark.report import write_benchmark_page
from keyhole.benchmark.results_file import (
    BenchmarkResults,
    ProblemRecord,
    ResultRecord,
    read_results,
    schema,
    write_results,
)
from keyhole.benchmark.summary import (
    policies_on_problem_table,
    ratio_interval,
    situation_table,
    summarize,
)
from tests.html import parse
from tools.write_which_policy import pool_seeds

SCHEMA = Path(__file__).parents[2] / "docs" / "benchmark.schema.json"


def result(policy, mean, *, better=(), error=1.0, yardstick=False, **changes):
    given = {
        "policy": policy, "entry": {"name": policy}, "yardstick": yardstick, "mean": mean,
        "std_error": error, "quantile_90": 2 * mean, "worst": 3 * mean, "linear": 0,
        "nanoseconds": 50.0, "better": list(better),
    }  # fmt: skip
    return ResultRecord(**given | changes)


def problem(name, results, **changes):
    given = {
        "setting": "delayed", "name": name, "part": "tuning", "situation": "sums",
        "title": "two arms", "digest": name, "horizon": 1000, "replications": 100, "seed": 29,
        "wrong_choice": 300.0, "results": results,
    }  # fmt: skip
    return ProblemRecord(**given | changes)


def content(*problems, scale="quick"):
    return BenchmarkResults(
        format="keyhole-benchmark", version=1, keyhole="0", scale=scale, problems=list(problems)
    )


FOUND = content(
    problem(
        "one",
        [
            result("A", 10.0, linear=5),
            result("B", 20.0, better=["A"]),
            result("C", 40.0, better=["A", "B"]),
            result("Oracle", 1.0, yardstick=True),
        ],
    ),
    problem("two", [result("A", 40.0, better=["B"]), result("B", 10.0)]),
)


def test_a_file_that_is_written_is_read_again(tmp_path):
    write_results(tmp_path / "x.json", FOUND)
    assert read_results(tmp_path / "x.json") == FOUND
    assert json.loads((tmp_path / "x.json").read_text()) == FOUND.model_dump(mode="json")


def test_the_schema_in_the_documentation_is_that_of_the_models(tmp_path):
    assert SCHEMA.read_text() == schema(), (
        "python -c \"from keyhole.benchmark.results_file import schema; print(schema(), end='')\""
    )
    write_results(tmp_path / "x.json", FOUND)
    jsonschema.validate(json.loads((tmp_path / "x.json").read_text()), json.loads(schema()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "x.json: "),
        ("[]", "it is no results file of the benchmark"),
        ('{"format": "keyhole-benchmark", "version": 9}', "a newer version of Keyhole wrote it"),
        ('{"format": "keyhole-benchmark", "version": 1}', "keyhole"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_results(tmp_path / "x.json")


def test_a_situation_is_summed_up_over_its_problems():
    (summary,) = summarize(FOUND)
    assert [one.policy for one in summary.standings] == ["B", "A", "Oracle", "C"]
    assert [one.policy for one in summary.ranked] == ["B", "A"]  # C plays one of two
    a, b = (next(x for x in summary.ranked if x.policy == name) for name in "AB")
    # A ten-thousandth of 300 is added to both means.
    assert a.ratios == pytest.approx((1, 40.03 / 10.03))
    assert a.mean_ratio == pytest.approx((40.03 / 10.03) ** 0.5)
    assert b.mean_ratio == pytest.approx((20.03 / 10.03) ** 0.5)
    assert b.worst_ratio == pytest.approx(60.03 / 10.03)
    assert (a.ranks, b.ranks, a.first_places, b.mean_rank) == ((1, 2), (2, 1), 1, 1.5)
    assert a.linear_share == 5 / 200


def test_a_policy_with_more_linear_runs_is_not_the_best():
    lucky = [result("Lucky", 0.0), result("Safe", 10.0)]
    stuck = [result("Lucky", 290.0, linear=100), result("Safe", 20.0)]
    (summary,) = summarize(content(problem("one", lucky), problem("two", stuck)))
    assert [one.policy for one in summary.ranked] == ["Lucky", "Safe"]
    assert summary.best.policy == "Safe"


def test_tables_say_who_plays_and_who_is_a_yardstick():
    (summary,) = summarize(FOUND)
    rows = {row[0]: row for row in situation_table(summary).rows}
    assert list(rows) == ["B", "A", "Oracle (yardstick) (plays 1 of 2)", "C (plays 1 of 2)"]
    assert rows["A"][4:7] == ["1.5", "1 of 2", "2.5 %"]
    shown = {row[0]: row for row in policies_on_problem_table(FOUND.problems[0]).rows}
    assert list(shown) == ["Oracle (yardstick)", "A", "B", "C"]
    assert shown["C"][2:4] == ["80", "120"]
    assert [shown[name][6] for name in shown] == ["", "1", "2", "3"]


def test_two_seeds_are_pooled():
    again = content(
        problem("one", [result("A", 30.0, error=2.0, linear=1), result("B", 20.0)], seed=30)
    )
    first = content(problem("one", [result("A", 10.0, better=["B"]), result("B", 20.0)]))
    (pooled,) = pool_seeds(first, again).problems
    a = pooled.results[0]
    assert (pooled.replications, a.mean, a.worst, a.linear, a.better) == (200, 20, 90, 1, [])
    assert a.std_error == pytest.approx(5**0.5 / 2)
    with pytest.raises(ValueError, match="of the same scale, problems and policies"):
        pool_seeds(first, content(problem("two", [result("A", 30.0)])))


def test_an_interval_over_runs_alone_is_that_of_their_means():
    (wide,) = content(problem("one", [result("A", 200.0, error=2.0), result("B", 100.0)])).problems
    interval = ratio_interval([wide], "A", "B")
    error = 1.96 * 0.01 * 2**0.5
    assert interval.value == pytest.approx(2, rel=1e-3)
    assert interval.low == pytest.approx(2 * math.exp(-error), rel=2e-3)
    assert interval.high == pytest.approx(2 * math.exp(error), rel=2e-3)


def test_an_interval_over_problems_holds_those_that_go_the_other_way():
    def pair(name, mean):
        return problem(name, [result("A", mean, error=0.0), result("B", 100.0, error=0.0)])

    interval = ratio_interval([pair("one", 400.0), pair("two", 50.0)], "A", "B")
    # With two problems, one in four drawings has the first twice, and one the second.
    assert (interval.low, interval.high) == pytest.approx((0.5, 4), rel=1e-2)
    (summary,) = summarize(content(pair("one", 400.0), pair("two", 50.0)))
    assert summary.runner_up == "A, no difference shown"
    (summary,) = summarize(content(pair("one", 400.0), pair("two", 150.0)))
    assert summary.runner_up == "A, 2.45 (1.50 to 4.00) times"


def test_linear_runs_do_not_count_where_no_policy_can_learn():
    hard = [result("A", 290.0, linear=60), result("B", 295.0, linear=100)]
    easy = [result("A", 10.0, linear=1), result("B", 10.0)]
    (summary,) = summarize(content(problem("hard", hard), problem("easy", easy)))
    assert summary.uncounted_problems == 1
    assert {one.policy: one.linear_share for one in summary.standings} == {"A": 0.01, "B": 0}


def test_the_page_names_the_best_of_each_situation(tmp_path):
    text = write_benchmark_page(tmp_path, FOUND).read_text()
    page = parse(text)
    (best, *tables) = page.all("table")
    assert "delayed: sums" in best.words()
    assert [cell.words() for cell in best.all("b")] == ["B"]
    assert len(tables) == 3  # the situation, and two problems
    assert "profile-delayed-sums-tuning" in text
