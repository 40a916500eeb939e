import hashlib
from functools import cache

import pytest

from keyhole.benchmark import problem_list
from keyhole.benchmark.problem_list import make_contests, select_entrants
from keyhole.benchmark.rules import SCALES, SITUATIONS, VARIANTS
from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from tools.draw_problems import FOLDER, drawn_file, rules

all_problems = cache(problem_list.all_problems)


@pytest.mark.parametrize("setting", BUILT_IN)
def test_every_problem_and_policy_can_play_and_names_are_unique(setting):
    problems = all_problems(setting)
    assert len({problem.name for problem in problems}) == len(problems)
    assert len({problem.digest for problem in problems}) == len(problems)
    assert {problem.situation for problem in problems} <= SITUATIONS[setting].keys()
    contests = make_contests(problems, [], SCALES["quick"])
    assert len(contests) == len(problems)
    assert all(contest.wrong_choice_loss > 0 for contest in contests)
    played = {entrant.entry["name"] for contest in contests for entrant in contest.entrants}
    left_out = {name for name, values in VARIANTS.get(setting, {}).items() if not values}
    assert played == find_setting(setting).policies.keys() - left_out


@pytest.mark.parametrize("part", ["tuning", "judging"])
@pytest.mark.parametrize("setting", BUILT_IN)
def test_every_situation_has_problems_of_both_parts(setting, part):
    found = [problem.situation for problem in all_problems(setting) if problem.part == part]
    assert set(found) == SITUATIONS[setting].keys()
    assert len(found) >= 8


@pytest.mark.parametrize(
    ("setting", "situation", "fewest", "most"),
    [
        ("semibandit", "common threshold", 3, 11),
        ("semibandit", "common threshold, many arms", 12, 32),
    ],
)
def test_situations_split_by_the_number_of_arms_have_so_many(setting, situation, fewest, most):
    problems = [one for one in all_problems(setting) if one.situation == situation]
    arms = [
        contest.spec.plan.problem.arms for contest in make_contests(problems, [], SCALES["quick"])
    ]
    assert min(arms) >= fewest
    assert max(arms) <= most


def test_arms_that_cross_differ_by_a_fifth_at_most_and_none_is_always_the_best():
    problems = [p for p in all_problems("threshold") if p.situation == "uncensored, crossing"]
    for contest in make_contests(problems, [], SCALES["quick"]):
        gaps = contest.spec.plan.problem.gaps
        assert gaps.max() <= 0.2
        assert gaps.max(axis=1).min() > 0


@pytest.mark.parametrize("setting", BUILT_IN)
def test_drawn_problems_are_those_of_the_seed_and_are_never_drawn_again(setting):
    assert (FOLDER / f"{setting}.toml").read_text() == drawn_file(setting)
    drawn = [problem for problem in all_problems(setting) if problem.drawn]
    assert len(drawn) >= 4
    assert all(one.name.startswith("drawn-") and one.title.startswith("drawn: ") for one in drawn)


def test_the_text_of_all_drawn_problems_has_one_digest():
    text = "".join(drawn_file(setting) for setting in rules())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "58f6ecff0c3ac8c3"


def test_what_a_wrong_choice_loses_is_computed_by_hand():
    wanted = {
        "stochastic": ("ten-arms", 0.1 * 20_000),
        "delayed": ("fifty-arms", 0.1 * 100_000),
        "semibandit": ("thirds", 0.6 * 5000),
        "thresholding": ("tao-1", 5),
        # Gaps by level: .15, .25; .15, .25; .1, .2; .35, .25; .4, .35.
        "threshold": ("crossing", (0.2 + 0.2 + 0.15 + 0.3 + 0.375) / 5 * 10_000),
    }
    for setting, (name, loss) in wanted.items():
        problem = [one for one in all_problems(setting) if one.name == name]
        (contest,) = make_contests(problem, [], SCALES["paper"])
        assert contest.wrong_choice_loss == pytest.approx(loss), setting


def test_a_policy_that_is_made_for_one_sequence_plays_no_other():
    listed = [one for one in all_problems("threshold") if one.part == "tuning"]
    contests = make_contests(listed, ["KMUCB", "OPTIM"], SCALES["quick"])
    assert {contest.problem.name: [e.label for e in contest.entrants] for contest in contests} == {
        "cyclic": ["KMUCB"],
        "falling": ["OPTIM"],
    }


def test_a_policy_that_hears_names_plays_no_sums():
    contests = make_contests(all_problems("delayed"), ["QPMD"], SCALES["quick"])
    assert {contest.problem.situation for contest in contests} == {"named"}


def test_variants_have_labels_of_their_own():
    labels = [one.label for one in select_entrants("resource", ["RCUCB", "StoOO", "FixedLimit"])]
    assert labels == ["RCUCB", "RCUCB(alpha=0.1)", "FixedLimit(base=KLUCB)"]
