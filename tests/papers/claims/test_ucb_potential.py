import numpy as np
import pytest

from keyhole import simulate
from keyhole.papers.abernethy2016.ucb_potential import potential_bound
from keyhole.papers.claims import Result
from keyhole.stochastic import HoeffdingUCB, Problem, RoundRobin
from keyhole.threshold import DKWUCB
from keyhole.threshold import Problem as Thresholds
from keyhole.threshold import RoundRobin as InTurn
from tests.papers.agreement import agree
from tests.papers.made_up import WORDS, judge, make_claim

pytestmark = pytest.mark.interpreted

MEANS = [0.5, 0.9, 0.1]
HORIZON = 1000


def claim(policy, control, **more):
    table = {
        "kind": "computed",
        "by": "keyhole.papers.abernethy2016.ucb_potential:potential_lemma",
        "policy": policy,
        "negative_control": control,
        "problem": "made-up",
    }
    table |= {"lemma": 1, "metrics": ["pulls[0]", "pulls[2]"]}
    return make_claim(WORDS | table | more)


@pytest.fixture(scope="module")
def classical():
    problem = Problem(MEANS)
    policies = [HoeffdingUCB(), RoundRobin()]
    curves = simulate(problem, policies, horizon=HORIZON, replications=4, details=True)
    return Result("Made up", problem, curves)


@pytest.mark.parametrize("lemma", [1, 2])
def test_the_lemmas_hold_of_the_policy_and_not_of_its_negative_control(classical, lemma):
    finding = judge(claim("HoeffdingUCB()", "RoundRobin()", lemma=lemma), classical)
    status, detail, _ = finding
    assert status == "holds"
    assert "RoundRobin() breaks it" in detail
    agree(finding)
    ours = ["regret", "bound", "difference"] if lemma == 1 else ["potential"]
    names = [number.name for number in finding.numbers]
    assert names == ours + [f"RoundRobin(): {name}" for name in ours]
    turned = claim("RoundRobin()", "HoeffdingUCB()", lemma=lemma)
    assert judge(turned, classical)[0] == "does not hold"


def test_lemma_1_is_of_the_arms_that_are_not_the_best(classical):
    pulls = np.stack([classical.values("HoeffdingUCB()", f"pulls[{arm}]") for arm in (0, 2)], 1)
    bound = potential_bound(HoeffdingUCB(), pulls, horizon=HORIZON).mean()
    detail = judge(claim("HoeffdingUCB()", "RoundRobin()"), classical)[1]
    assert f"bound {bound:.0f}"[:9] in detail


def test_in_the_threshold_bandit_wrong_pulls_count():
    problem = Thresholds([[0.95, 0.1], [0.2, 0.05]], feedback="uncensored")
    curves = simulate(problem, [DKWUCB(), InTurn()], horizon=2000, replications=6, details=True)
    found = Result("Made up", problem, curves)
    wrong = ["wrong_pulls[0]", "wrong_pulls[1]"]
    assert judge(claim("DKWUCB()", "RoundRobin()", metrics=wrong), found)[0] == "holds"
