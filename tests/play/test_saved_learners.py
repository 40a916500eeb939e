"""Learners that version 0.2.0 saved are read, and go on, the same.

See tests/saved/README.md. In half of them a decision waits for its feedback.
"""

import json
from pathlib import Path

import pytest

from keyhole import Learner
from keyhole.stochastic import KnownVarianceUCB
from keyhole.threshold import MonotoneKLUCB

pytestmark = pytest.mark.interpreted

SAVED = Path(__file__).parents[1] / "saved" / "learners"
EXPECTED = json.loads((SAVED / "expected.json").read_text())
GO_ON = 25


def bit(n):
    return n * 7919 % 11 % 2


def pull(learner, n):
    low, high = learner.scale
    arm = learner.ask()
    learner.tell(high if bit(n) else low)
    return arm


def pull_at_a_threshold(learner, n):
    arm = learner.ask(threshold=1 + n % 3)
    learner.tell(censored=True) if bit(n) else learner.tell(0)
    return arm


def run(learner, n):
    decided = learner.ask()
    if bit(n):
        learner.tell(exceeded=True)
    else:
        learner.tell(reward=0.8, consumption=0.01 * (n % 20))
    return list(decided)


def fund(learner, n):
    given = learner.ask()
    learner.tell([float(amount < 0.2 + 0.1 * i) for i, amount in enumerate(given)])
    return given.tolist()


def pull_with_late_sums(learner, n):
    arm = learner.ask()
    learner.tell(2.0 * bit(n))
    return arm


def pull_with_late_rewards(learner, n):
    arm = learner.ask()
    learner.tell([(arm, float(bit(n)))] if n % 3 else [])
    return arm


ROUND = {
    "stochastic": pull,
    "thresholding": pull,
    "threshold": pull_at_a_threshold,
    "resource": run,
    "semibandit": fund,
    "sums": pull_with_late_sums,
    "delayed": pull_with_late_rewards,
}


def went_on(learner, name):
    """Return what a learner decides from where it is, and what it recommends then."""
    start = learner.rounds_told
    play = ROUND[EXPECTED[name]["plays"]]
    decided = [play(learner, n) for n in range(start, start + GO_ON)]
    return {"told": start, "decided": decided, "recommended": recommended(learner)}


def recommended(learner):
    """Return what a learner recommends, as JSON; None where its setting recommends nothing."""
    report = learner.recommend() if hasattr(learner, "recommend") else None
    return json.loads(json.dumps(report, default=lambda value: value.tolist()))


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_learner_goes_on_as_it_would_have(name):
    expected = EXPECTED[name]
    learner = Learner.load(SAVED / f"{name}.json")
    assert str(learner.policy) == expected["policy"]
    assert went_on(learner, name) == expected["went_on"]


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_learner_is_saved_again_with_all_that_it_knew(name, tmp_path):
    Learner.load(SAVED / f"{name}.json").save(tmp_path / "learner.json")
    contents = [
        json.loads((folder / file).read_text())["content"]
        for folder, file in ((SAVED, f"{name}.json"), (tmp_path, "learner.json"))
    ]
    # What stopping policies keep since then is nothing, for rewards that they learnt before.
    new = contents[1]["arrays"]["state"].keys() - contents[0]["arrays"]["state"].keys()
    assert new == ({"evidence_histogram"} if "stopping" in name else set())
    for array in new:
        assert not any(contents[1]["arrays"]["state"].pop(array)["values"])
    if policy := {"threshold_capped": MonotoneKLUCB, "stochastic_scale": KnownVarianceUCB}.get(
        name
    ):
        contents[0] |= {"policy": policy.__name__, "module": policy.__module__}  # renamed since
    assert contents[0] == contents[1]
