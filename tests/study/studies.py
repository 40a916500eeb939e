"""Studies to test on, and what all of them must keep."""

from keyhole.study import Study
from keyhole.study.definition import Definition
from keyhole.study.events import CHANGED
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.study.state import State
from keyhole.thresholding import LSA

ARMS = ("a", "b", "c")


class Clock:
    """A clock that a test sets."""

    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


def labels(path, name="labels", policy=None, arms=ARMS, **given):
    """Begin a study of the simplest kind; on a file it is not flushed."""
    given.setdefault("threshold", 0.5)
    if not str(path).startswith("postgresql"):
        given.setdefault("durability", "process_crash")
    return Study.create(path, name, policy or LSA(), arms, **given)


def fold_of(study):
    """Return the state that a study has in memory, with all that others have written."""
    return study._turns.submit(lambda turn: turn.fold)


def fingerprint(fold):
    """Return all that there is to a state."""
    learnt = fold.arrays_to_save()
    return {
        "seq": fold.seq,
        "rounds": fold.rounds,
        "told": fold.told,
        "arms": fold.arms.names,
        "live": fold.arms.live.tolist(),
        "open": list(fold.open.items()),
        "returned": list(fold.returned),
        "renewed": dict(fold.renewed),
        "round": fold.round_as_json(),
        "policy": fold.head.to_bytes(),
        "mind": learnt,
    }


def decision(fold, context, now=2000.0):
    """Return the decision that a state leads to; the state is used up."""
    return fold.decide(fold.vocabulary.parse_context(**context), now)


def check_state_is_fold(study, context=None):
    """Fold the log afresh, event by event, and from a snapshot: always the same state."""
    context = context or {}
    here, log, policies = fold_of(study), study.log(), study._turns.policies
    expected = fingerprint(here)
    kept = make_snapshot(here)
    others = [
        fold_all(study.head, log, policies),
        one_by_one(study.head, log, policies),
    ]
    if log:
        others.append(read_snapshot((here.seq, kept), log[-1], policies))
        half = fold_all(study.head, log[: len(log) // 2], policies)
        if half.since == here.since and half.last is not None:
            half = read_snapshot((half.seq, make_snapshot(half)), half.last, policies)
            half.apply_all(log[len(log) // 2 :])
            others.append(half)
    for other in others:
        assert fingerprint(other) == expected
    study._turns._fold = None  # what is asked of the states now uses them up
    if here.head.pending != "wait" or not here.open:
        taken = [decision(fold, context) for fold in (here, *others)]
        assert len(set(taken)) == 1
    reports = [report(fold) for fold in (here, *others)]
    assert all(one == reports[0] for one in reports)


def one_by_one(head, log, policies):
    """Fold a log, an event at a time, looking at the state after each."""
    fold = fold_all(head, log[:0], policies)
    last_change = max((row.seq for row in log if row.kind == 10), default=0)
    if last_change:
        fold = fold_all(head, log[:last_change], policies)
    for row in log[last_change:]:
        fold.apply_all([row])
        fold.arrays_to_save()
        report(fold)
    return fold


def report(fold):
    """Return what a state recommends; None where it recommends nothing."""
    return fold.report() if fold.vocabulary.has_recommendation() else None


def fold_all(head, rows, policies):
    """Return the state after all events of a log."""
    rows = list(rows)
    change = next((row for row in reversed(rows) if row.kind == CHANGED), None)
    if change is not None:
        head = Definition.from_bytes(change.body, policies)
    fold = State(head, 0 if change is None else change.seq)
    fold.apply_all(rows)
    return fold
