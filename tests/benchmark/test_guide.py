import pytest

from keyhole.benchmark.problem_list import all_problems
from keyhole.benchmark.rules import SCALES, SEED
from keyhole.benchmark.summary import summarize
from tools.write_which_policy import (
    GUIDE,
    ROUND_TIMES,
    guide,
    pooled_results,
    round_times,
    seed_results,
)


@pytest.fixture(scope="module")
def content():
    return pooled_results()


def test_the_guide_is_what_the_results_say():
    assert GUIDE.read_text() == guide(), "python tools/write_which_policy.py"


def test_the_times_of_a_round_are_those_of_the_results():
    assert ROUND_TIMES.read_text() == round_times(), "write_which_policy.py"


@pytest.mark.parametrize("seed_number", [0, 1])
def test_the_results_are_of_the_problems_of_the_list_in_full(seed_number):
    content = seed_results()[seed_number]
    assert content.scale == "paper"
    for setting in content.settings:
        found = [(one.name, one.digest, one.horizon) for one in content.of_setting(setting)]
        listed = all_problems(setting)
        assert found == [(one.name, one.digest, one.horizon) for one in listed], setting
    expected = (SCALES["paper"].replications, SEED + seed_number)
    assert all((p.replications, p.seed) == expected for p in content.problems)


def test_the_guide_recommends_the_smallest_ratio_without_many_linear_runs(content):
    text = GUIDE.read_text()
    for one in summarize(content):
        if one.part == "judging":
            least = min(each.linear_share for each in one.ranked)
            safe = [each for each in one.ranked if each.linear_share <= least + 0.05]
            best = min(safe, key=lambda each: each.mean_ratio)
            assert f"| {one.title} ({len(one.problems)} problems) | `{best.policy}`" in text
