"""Files of learners that somebody has edited, and made the checksum right again."""

import hashlib
import json
import random
from contextlib import suppress

import pytest

from keyhole import Learner
from keyhole.delayed import QPMD
from keyhole.stochastic import ImprovedUCB
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import LSA

# Interpreted, a kernel that would read or write beyond an array raises an IndexError.
pytestmark = pytest.mark.interpreted


@pytest.fixture
def learner():
    learner = LSA().learner(arms=3, threshold=0.4, seed=2)
    for reward in (1.0, 0.0, 0.5, 1.0):
        learner.ask()
        learner.tell(reward)
    return learner


def forged(path, change):
    """Edit the content of a file and make its checksum right again."""
    document = json.loads(path.read_text())
    change(document["content"])
    text = json.dumps(document["content"], sort_keys=True, separators=(",", ":"))
    document["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))


FORGERIES = {
    "an arm that there is not": (
        lambda c: c["arrays"]["decision"]["arm"].update(values=[50]),
        "the decision that waits for feedback is none that LSA",
    ),
    "an arm far away": (
        lambda c: c["arrays"]["decision"]["arm"].update(values=[2**31]),
        "the decision that waits for feedback is none that LSA",
    ),
    "a decision before the first round": (lambda c: c.update(rounds=0), "the decision that waits"),
    "rounds below 0": (lambda c: c.update(rounds=-1), r"rounds must lie in \[0, 2\*\*53\], got -1"),
    "rounds beyond measure": (lambda c: c.update(rounds=10**400), "rounds must lie in"),
    "no rounds": (lambda c: c.pop("rounds"), "is damaged: KeyError: 'rounds'"),
    "pending 1": (lambda c: c.update(pending=1), "pending must be true or false, got 1"),
    "one word": (lambda c: c.update(stream=[1]), r"stream must be two whole numbers .* got \[1\]"),
    "a long word": (lambda c: c.update(stream=[1, 2**64]), "stream must be two whole numbers"),
    "a list for arrays": (lambda c: c.update(arrays=[]), "is damaged: "),
    "facts that are none": (lambda c: c.update(facts=3), "is damaged: "),
    "more arms": (lambda c: c["facts"].update(arms=2**24 - 1), "its state has other arrays"),
    "an unknown parameter": (lambda c: c["parameters"].update(beta=1), "parameter of LSA"),
    "another shape": (
        lambda c: c["arrays"]["state"]["pulls"].update(shape=[1, 3]),
        "its state has other arrays",
    ),
    "a shape of no array": (
        lambda c: c["arrays"]["state"]["pulls"].update(shape=[-3, -1]),
        "a shape must be whole numbers from 0",
    ),
    "a count too large": (
        lambda c: c["arrays"]["decision"]["arm"].update(values=[10**30]),
        r"a count must lie in \[-2\*\*63, 2\*\*63\)",
    ),
    "a value that is none": (
        lambda c: c["arrays"]["state"]["pulls"].update(values=[1, "2", 3]),
        "a value must be a number, got '2'",
    ),
    "a program": (lambda c: c.update(module="keyhole.__main__"), "is not known here"),
    "another module": (lambda c: c.update(module="antigravity"), "is not known here"),
    "no class": (lambda c: c.update(policy="pytest", module=__name__), "is not known here"),
}


@pytest.mark.parametrize(("change", "message"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_file_is_refused_before_anything_is_compiled_or_run(
    learner, tmp_path, change, message, capsys
):
    learner.ask()
    learner.save(tmp_path / "it.json")
    forged(tmp_path / "it.json", change)
    with pytest.raises(ValueError, match=message):
        Learner.load(tmp_path / "it.json")
    assert capsys.readouterr().out == ""


def test_a_forged_threshold_or_round_is_refused(tmp_path):
    path = tmp_path / "it.json"
    learner = KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    learner.ask(threshold=2)
    learner.save(path)
    forged(path, lambda c: c["arrays"]["context"]["threshold"].update(values=[4]))
    with pytest.raises(ValueError, match=r"threshold must lie in \[1, 3\], got 4"):
        Learner.load(path)
    late = QPMD(base=ImprovedUCB()).learner(arms=2, horizon=50, feedback="named")
    late.save(path)
    forged(path, lambda c: c.update(rounds=51))
    with pytest.raises(ValueError, match="rounds must be at most the horizon, got 51"):
        Learner.load(path)


def test_nested_too_deeply_is_no_saved_learner(tmp_path):
    (tmp_path / "it.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is not a saved learner"):
        Learner.load(tmp_path / "it.json")


def lsa(draw, learner=None):
    """Make a learner, or play a round of one."""
    if learner is None:
        return LSA().learner(arms=4, threshold=0.5)
    learner.ask()
    learner.tell(draw.random())


def kaplan_meier(draw, learner=None):
    if learner is None:
        return KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    learner.ask(threshold=draw.randint(1, 3))
    learner.tell(censored=True)


def qpmd(draw, learner=None):
    if learner is None:
        return QPMD().learner(arms=3, feedback="named")
    arm = learner.ask()
    learner.tell([(arm, draw.random())] if draw.random() < 0.5 else [])


ODD = [
    0, 1, -1, 2, 50, 2**31, -(2**31), 2**62, 2**63, 10**400, 0.5, -0.5, 1e300, "inf", "nan", "x",
    None, True, [], {}, [1],
]  # fmt: skip


def places(value):
    """Return every place in a document, as containers and keys."""
    found = []
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(entry, dict | list):
            found += places(entry)
    return found


@pytest.mark.parametrize("play", [lsa, kaplan_meier, qpmd])
@pytest.mark.parametrize("edits", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_whatever_a_file_says_it_is_refused_or_does_no_harm(tmp_path, play, edits):
    draw, path = random.Random(3), tmp_path / "it.json"
    learner = play(draw)
    for _ in range(5):
        play(draw, learner)
    learner.ask(**{"threshold": 2} if play is kaplan_meier else {})
    learner.save(path)
    saved = path.read_text()
    loaded = 0
    for _ in range(edits):
        path.write_text(saved)

        def change(content):
            for _ in range(draw.choice((1, 1, 2))):
                holder, key = draw.choice(places(content))
                holder[key] = draw.choice(ODD)

        forged(path, change)
        with suppress(ValueError, RuntimeError):  # a decision at another threshold is waiting
            again = Learner.load(path)
            loaded += 1
            repr(again)
            for _ in range(3):
                play(draw, again)
    assert loaded > edits // 20  # else it would have shown nothing
