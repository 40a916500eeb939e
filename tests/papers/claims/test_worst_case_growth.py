import pytest
from pydantic import ValidationError

from keyhole.papers.claims.worst_case_growth import WorstCaseGrowth
from tests.papers.made_up import WORDS, result

X = {"a": 100, "b": 100, "c": 400, "d": 400, "e": 1600, "f": 1600}
MEANS = {
    "a": {"us": 10, "bad": 50},
    "b": {"us": 6, "bad": 10},
    "c": {"us": 12, "bad": 200},
    "d": {"us": 20, "bad": 40},
    "e": {"us": 13, "bad": 800},
    "f": {"us": 40, "bad": 160},
}


def claim(**more):
    table = {"kind": "worst-power", "policy": "us", "x": X}
    return WorstCaseGrowth.model_validate(WORDS | table | more)


def found():
    return {key: result({name: [m] for name, m in means.items()}) for key, means in MEANS.items()}


def test_the_worst_problem_of_each_horizon_counts():
    assert claim(at_most=0.6).judge(found())[0] == "holds"
    assert claim(at_most=0.4).judge(found())[0] == "does not hold"
    assert claim(at_least=0.4).problem_keys == tuple(X)
    assert "means 10" in claim(at_most=0.6).judge(found())[1]


def test_a_linear_negative_control_breaks_a_root_in_the_worst_case():
    assert claim(at_most=0.6, negative_control="bad").judge(found())[0] == "holds"
    assert claim(at_most=1.1, negative_control="bad").judge(found())[0] == "undecided"


@pytest.mark.parametrize("x", [{"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 2, "c": 3, "d": 4}])
def test_there_are_three_numbers(x):
    with pytest.raises(ValidationError, match="x must have three different numbers"):
        claim(x=x, at_most=1)
