import pytest

from keyhole.experiment.setting_registry import BUILT_IN
from keyhole.papers.claims import BOUNDS
from keyhole.thresholding.bounds import lsa_regret_bound
from tests.papers.made_up import COMMON, TEN_ARMS, judge, make_claim, result

ROUNDS = (4_000, 40_000)


@pytest.fixture
def steps(monkeypatch):
    """Register a bound that is ten times smaller at the horizon than before."""
    monkeypatch.setitem(
        BOUNDS,
        "thresholding.steps",
        lambda problem, policy, round, horizon: problem.arms / (10 if round == horizon else 1),
    )


def bounded(kind, **more):
    table = {"kind": kind, "policy": "us", "bound": "thresholding.steps"}
    return make_claim(COMMON | table | more)


@pytest.mark.parametrize(
    ("means", "below", "above"),
    [
        ([9, 0.9], "holds", "does not hold"),
        ([11, 1.1], "does not hold", "holds"),
        ([11, 0.9], "does not hold", "does not hold"),
        ([9, 1.0], "undecided", "does not hold"),
        ([10, 1.1], "does not hold", "undecided"),
    ],
)
def test_a_mean_stays_on_one_side_of_a_bound(steps, means, below, above):
    found = result({"us": means}, checkpoints=ROUNDS)
    assert judge(bounded("below-bound"), found)[0] == below
    assert judge(bounded("above-bound"), found)[0] == above


def test_only_the_claimed_rounds_count(steps):
    found = result({"us": [9, 1.1]}, checkpoints=ROUNDS)
    assert judge(bounded("below-bound", rounds=[4_000]), found)[0] == "holds"
    assert judge(bounded("below-bound"), found)[0] == "does not hold"


def test_the_nearest_round_is_shown(steps):
    found = result({"us": [5, 0.9]}, checkpoints=ROUNDS)
    detail = judge(bounded("below-bound"), found)[1]
    assert "2 rounds compared" in detail
    assert "at T = 40,000: 0.900 [0.889, 0.911], the bound is 1.000" in detail


def test_of_one_round_there_is_no_nearest(steps):
    found = result({"us": [5, 0.9]}, checkpoints=ROUNDS)
    detail = judge(bounded("below-bound", rounds=[40_000]), found)[1]
    assert detail == "at T = 40,000: 0.900 [0.889, 0.911], the bound is 1.000"


def test_theorem_1_is_that_of_the_setting():
    value = BOUNDS["thresholding.theorem_1"](TEN_ARMS, None, 40_000, 100_000)
    assert value == lsa_regret_bound(TEN_ARMS.gaps, 40_000)


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_named_by_their_setting(name):
    assert name.partition(".")[0] in BUILT_IN


def test_an_unknown_bound_gets_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'thresholding\.theorem_1'"):
        bounded("below-bound", bound="thresholding.theorem_2")
