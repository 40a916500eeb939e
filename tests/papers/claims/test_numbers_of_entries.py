"""Text and numbers agree in the verdict on every shipped claim."""

import numpy as np
import pytest

from keyhole import Curves
from keyhole.papers import ENTRY_FILES
from keyhole.papers.claims import Result
from tests.papers.agreement import agree
from tests.papers.conftest import entry_of

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("problems_made_once")]
RUNS = 12


def made_up(entry, key):
    """Return results on a problem that nobody has played: all rises to at most 1, with noise."""
    plan = entry.spec(key, "quick").plan
    metrics = plan.declared_metrics
    share = np.array([metric.drawn == "share" for metric in metrics])[:, None]
    size = len(plan.checkpoints), len(metrics), RUNS
    rise = np.linspace(0.1, 1.0, size[0])[:, None, None]
    rng, values = np.random.default_rng(1), {}
    for i, policy in enumerate(plan.policies):
        noise = rng.uniform(size=size)
        values[policy] = np.where(share, noise < 0.5, rise * (3.0 + i + noise) / 30)
    curves = Curves(plan.checkpoints, metrics, values)
    return Result(entry.problems[key].title, plan.problem, curves, plan.policies)


# Their problems or computations take most of the time; others have claims of all their kinds.
DEAR = (
    "bengs2022-examples", "bengs2022-zooming", "bengs2022-zooming-rivals", "crowd-labels", "tune",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR)) for name in ENTRY_FILES]
)
def test_the_numbers_of_shipped_claims_are_those_of_their_text(name):
    entry = entry_of(name)
    results = {key: made_up(entry, key) for key in entry.problems}
    for i, claim in enumerate(entry.claims):
        verdict = claim.verdict(results)
        assert verdict.id == f"{name}/{i + 1}"
        assert verdict.numbers or verdict.status == "undecided"
        agree(verdict)
