import numpy as np
import pytest

from keyhole import Curves
from keyhole.papers.claims import Result
from keyhole.play.simulation_plan import Plan
from keyhole.semibandit import CTS, Problem
from tests.papers.made_up import WORDS, make_claim

# The best set, arms 0 and 1, leaves 0.1 over.
PROBLEM = Problem([0.9, 0.8, 0.3], [0.5, 0.4, 0.5], resource=1.0)
TABLE = WORDS | {
    "kind": "computed",
    "by": "keyhole.papers.verma2019.threshold_equivalence:best_allocation",
    "problem": "made-up",
    "policy": "us",
    "metric": "estimates[0]",
    "at_least": 0.9,
}


def judged(rows, **more):
    """Judge estimates: each row so many times."""
    table = np.array([row for row, times in rows for _ in range(times)])
    names = [f"estimates[{arm}]" for arm in range(3)]
    curves = Curves((10,), names, {"us": table.T[None]})
    claim = make_claim(TABLE | more)
    return claim.judge({"made-up": Result("Made up", PROBLEM, curves)})


GOOD, HIGH, LOW = [0.55, 0.45, 1.0], [0.56, 0.45, 0.5], [0.5, 0.39, 0.5]


def test_estimates_need_not_be_close_to_lead_to_the_best_allocation():
    status, detail, _ = judged([(GOOD, 99), (HIGH, 1)])
    assert status == "holds"
    assert detail.startswith("in 99 of 100 replications at the end")


@pytest.mark.parametrize("bad", [HIGH, LOW])
def test_estimates_that_are_too_high_or_too_low_do_not_lead_to_the_best_allocation(bad):
    assert judged([(GOOD, 50), (bad, 50)])[0] == "does not hold"
    assert judged([(GOOD, 90), (bad, 10)])[0] == "undecided"


def test_another_metric_is_refused():
    plan = Plan.make(PROBLEM, {"us": CTS()}, horizon=10, checkpoints=None, seed=0, details=True)
    make_claim(TABLE).check(plan)
    with pytest.raises(ValueError, match=r"metric must be 'estimates\[0\]', .* got 'regret'"):
        make_claim(TABLE | {"metric": "regret"}).check(plan)
