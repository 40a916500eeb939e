"""Claims that a user's own function judges."""

import re
from pathlib import Path

import pytest

from keyhole.papers import Entry
from keyhole.papers.claims.claim import ControlledClaim
from tests.papers.conftest import TINY
from tests.papers.made_up import COMMON, make_claim, result

PAGE = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
FUNCTION = next(one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "tail" in one)
CLAIM = next(one for one in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "my_claims" in one)
CHECK = """

def check_tail_mean(claim, plan):
    if claim.high > plan.problem.arms:
        raise ValueError(f"high must be at most the number of arms, got {claim.high:g}")
"""


@pytest.fixture
def load(tmp_path):
    def load(claim=CLAIM, function=FUNCTION):
        (tmp_path / "my_claims.py").write_text(function)
        (tmp_path / "mine.toml").write_text(TINY + claim)
        return Entry.from_file(tmp_path, "mine.toml", "mine").claims[-1]

    return load


def test_the_function_of_the_documentation_judges_a_claim(load):
    claim = load(CLAIM.replace("2.5", "3.0", 1).replace("high = 2.5", "high = 3.0"), FUNCTION)
    assert (claim.problem_keys, claim.subject) == (("easy",), "LSA")
    found = {"easy": result({"LSA": [1, 1], "Uniform": [9, 9]}, title="Easy")}
    verdict = claim.verdict(found)
    assert (verdict.status, verdict.kind) == ("holds", "computed: my_claims.py:tail_mean")
    assert verdict.detail.startswith("worst tenth: 1.")
    assert verdict.claim == "LSA on Easy: Even in bad runs few labels are wrong."
    (number,) = verdict.numbers
    assert number.at_most == claim.high
    assert load(CLAIM.replace("2.5", "0.5")).verdict(found).status == "does not hold"


def test_it_may_have_a_negative_control(load):
    claim = load(CLAIM + 'negative_control = "Uniform"')
    assert isinstance(claim, ControlledClaim)
    found = {"easy": result({"LSA": [1, 1], "Uniform": [9, 9]})}
    assert "Uniform breaks it: worst tenth: 9" in claim.verdict(found).detail
    found = {"easy": result({"LSA": [1, 1], "Uniform": [1, 1]})}
    assert claim.verdict(found).status == "undecided"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("my_claims.py:tail_mean", "my_claims.py", r"by must be \"module:function\" or \"file"),
        (
            "my_claims.py:tail_mean",
            "my_claims.py:tail_men",
            r"function must be .*did you mean",
        ),
        ("my_claims.py:tail_mean", "no_such_module:f", "by: 'no_such_module' cannot be imported"),
        ('problem = "easy"', 'problem = "esay"', r"tail_mean\)\.problem must be one of easy, hard"),
        ('policy = "LSA"', 'policy = "APT"', r"\.policy must be one of LSA, Uniform; got 'APT'"),
        ("high = 2.5", 'high = "much"', "high must be a valid number"),
        ("high = 2.5", "low = 2.5", r"each field must be one of .*got 'low'"),
        ("high = 2.5", "", "high must be given"),
        ("high = 2.5", "high = 9.0", "high must be at most the number of arms, got 9"),
    ],
)
def test_bad_input_is_refused_in_one_line(load, old, new, message):
    assert old in CLAIM
    with pytest.raises(ValueError, match=message) as caught:
        load(CLAIM.replace(old, new), FUNCTION + CHECK)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("def tail_mean(policy): ...", "must have the parameter 'results'"),
        (
            "def tail_mean(results, *policies): ...",
            "'policies' must be one that can be given by its",
        ),
        ("def tail_mean(results, text): ...", "'text' must be renamed"),
        (
            "def tail_mean(results, problem, policy, high): ...",
            "a problem must be named",
        ),
        ("def tail_mean(results, x: Missing): ...", "name 'Missing' is not defined"),
        ("def tail_mean(:", "cannot be imported: SyntaxError"),
    ],
)
def test_a_function_that_cannot_judge_is_refused(load, function, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(CLAIM, function)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 'holds'", "must return a Finding, got 'holds'"),
        ("raise KeyError(policy)", r"tail_mean\): KeyError: 'LSA'"),
    ],
)
def test_a_function_that_fails_says_where(load, body, message):
    head = FUNCTION.partition('    """')[0]
    function = f"{head}    {body}\n"
    claim = load(CLAIM, function)
    with pytest.raises(ValueError, match=message):
        claim.verdict({"easy": result({"LSA": [1, 1]})})


def test_a_module_that_is_installed_may_have_the_function():
    by = "keyhole.papers.claims.judgements:policy_spread"
    table = {"kind": "computed", "by": by, "narrow": ["a"], "wide": ["a", "b"]}
    verdict = make_claim(COMMON | table).verdict({"made-up": result({"a": [1, 1], "b": [2, 2]})})
    assert (verdict.status, verdict.kind) == ("holds", "computed: policy_spread")


def test_names_in_a_tuple_of_a_function_are_checked(load):
    function = FUNCTION.replace(
        "high: float\n", "high: float, among: tuple[PolicyName, ...] = ()\n"
    )
    assert load(CLAIM + 'among = ["Uniform"]', function)
    with pytest.raises(ValueError, match=r"among\[0\] must be one of LSA, Uniform; got 'Nobody'"):
        load(CLAIM + 'among = ["Nobody"]', function)


def test_places_that_are_left_out_are_in_no_order(load):
    function = FUNCTION.replace(
        "high: float\n", "high: float, early: int = None, late: int = None\n"
    )
    assert load(CLAIM, function)
    with pytest.raises(ValueError, match="late must come after early, got 2 after 3"):
        load(CLAIM + "early = 3\nlate = 2", function)
