"""Studies for tests, and the invariants that all of them keep."""

from keyhole.study import Study
from keyhole.study.definition import Definition
from keyhole.study.events import POLICY_CHANGED
from keyhole.study.log_state import find_corrections
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


def state_of(study):
    """Return the state that a study has in memory, with all that others have written."""
    return study._writer.submit(lambda transaction: transaction.state)


def fingerprint(state):
    """Return all that there is to a state."""
    learnt = state.arrays_to_save()
    return {
        "seq": state.seq,
        "rounds": state.rounds,
        "told": state.feedback_count,
        "arms": state.arms.names,
        "live": state.arms.numbers_in_use.tolist(),
        "open": list(state.pending.items()),
        "returned": list(state.to_ask_again),
        "renewed": dict(state.rounds_when_asked_again),
        "round": state.study_round and state.study_round.to_json(),
        "policy": state.definition.to_bytes(),
        "mind": learnt,
    }


def decision(state, context, now=2000.0):
    """Return the decision that a state leads to; the state is used up."""
    return state.decide(state.vocabulary.parse_context(**context), now)


def check_rebuilt_states_agree(study, context=None):
    """Check that log, single events and snapshot lead to the same state."""
    context = context or {}
    here, log, policies = state_of(study), study.log(), study._writer.policies
    expected = fingerprint(here)
    kept = make_snapshot(here)
    others = [
        apply_log(study.definition, log, policies),
        one_by_one(study.definition, log, policies),
    ]
    if log:
        others.append(read_snapshot(kept, log[-1], policies))
        half = apply_log(study.definition, log[: len(log) // 2], policies)
        # Of the log, since a state of a snapshot does not keep the corrections before it.
        has_all_changes = (
            half.definition_seq == here.definition_seq and half.corrections == find_corrections(log)
        )
        if has_all_changes and half.last_event is not None:
            half = read_snapshot(make_snapshot(half), half.last_event, policies)
            half.apply_all(log[len(log) // 2 :])
            others.append(half)
    for other in others:
        assert fingerprint(other) == expected
    study._writer._state = None  # what is asked of the states now uses them up
    if here.definition.pending != "wait" or not here.pending:
        taken = [decision(state, context) for state in (here, *others)]
        assert len(set(taken)) == 1
    reports = [report(state) for state in (here, *others)]
    assert all(one == reports[0] for one in reports)


def one_by_one(definition, log, policies):
    """Apply a log, an event at a time, looking at the state after each."""
    corrections = find_corrections(log)
    state = apply_log(definition, log[:0], policies, corrections)
    last_change = max((row.seq for row in log if row.kind == POLICY_CHANGED), default=0)
    if last_change:
        state = apply_log(definition, log[:last_change], policies, corrections)
    for row in log[last_change:]:
        state.apply_all([row])
        state.arrays_to_save()
        report(state)
    return state


def report(state):
    """Return what a state recommends; None where it recommends nothing."""
    return state.recommend() if state.vocabulary.has_recommendation() else None


def apply_log(definition, rows, policies, corrections=None):
    """Return the state after all events of a log."""
    rows = list(rows)
    change = next((row for row in reversed(rows) if row.kind == POLICY_CHANGED), None)
    if change is not None:
        definition = Definition.from_bytes(change.body, policies)
    since = 0 if change is None else change.seq
    state = State(definition, since, corrections or find_corrections(rows))
    state.apply_all(rows)
    return state
