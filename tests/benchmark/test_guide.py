import pytest

from keyhole.benchmark import read_results
from keyhole.benchmark.problem_list import all_problems
from keyhole.benchmark.rules import SCALES, SEED
from keyhole.benchmark.summary import summarize
from tools.write_which_policy import GUIDE, RESULTS, ROUND_TIMES, guide, round_times


@pytest.fixture(scope="module")
def content():
    return read_results(RESULTS)


def test_the_guide_is_what_the_results_say():
    assert GUIDE.read_text() == guide(), "python tools/write_which_policy.py"


def test_the_times_of_a_round_are_those_of_the_results():
    assert ROUND_TIMES.read_text() == round_times(), "write_which_policy.py"


def test_the_results_are_of_the_problems_of_the_list_in_full(content):
    assert content.scale == "paper"
    for setting in content.settings:
        found = [(one.name, one.digest, one.horizon) for one in content.of_setting(setting)]
        listed = all_problems(setting)
        assert found == [(one.name, one.digest, one.horizon) for one in listed], setting
    replications = SCALES["paper"].replications
    assert all((p.replications, p.seed) == (replications, SEED) for p in content.problems)


def test_the_guide_recommends_the_smallest_ratio_without_many_linear_runs(content):
    text = GUIDE.read_text()
    for one in summarize(content):
        if one.part == "judging":
            least = min(each.linear_share for each in one.ranked)
            safe = [each for each in one.ranked if each.linear_share <= least + 0.05]
            best = min(safe, key=lambda each: each.ratio)
            assert f"| {one.title} ({len(one.problems)} problems) | `{best.policy}` |" in text
