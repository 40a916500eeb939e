"""From how a run ended to what the study is told of it."""

import signal
from dataclasses import dataclass
from typing import Final

from keyhole.tune.command import Arm
from keyhole.tune.executor import Ended
from keyhole.tune.functions import answer
from keyhole.tune.records import LAPSED
from keyhole.tune.success import Judgement, Success

_ALARM: Final = int(getattr(signal, "SIGALRM", 0))


class CannotStartError(ValueError):
    """A command could not be started: no other run of it would do better."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to: see `keyhole.tune.records.Record`."""

    outcome: str
    seconds: float
    reward: float | None = None
    reason: str = ""


def outcome_of(success: Success, arm: Arm, limit: float, run: Ended) -> Outcome:
    """Return what a run came to.

    One that its machine slept through, or that was lost, counts for nothing. One that ended by
    itself, but after its limit, is out of time.
    """
    if run.outcome == "could not start":
        raise CannotStartError(f"arm {arm.name!r} could not be started: {run.reason}")
    if run.slept:
        return Outcome(LAPSED, run.seconds, reason="the machine was asleep meanwhile")
    if run.outcome == "lost":
        return Outcome(LAPSED, run.seconds, reason=run.reason or "the run was lost")
    if run.outcome in ("out of time", "out of memory"):
        return Outcome(run.outcome, min(run.seconds, limit), reason=run.reason)
    seconds, judged = run.seconds, None
    if not arm.function:
        judged = success.judged(run)
    elif (found := answer(run.output)) is not None:
        seconds, judged = found[0], _returned(success, found[1])
    elif run.signal != _ALARM:
        why = f"signal {run.signal}" if run.signal is not None else f"code {run.code}"
        seconds, judged = min(seconds, limit), Judgement(None, f"ended with {why}")
    if judged is None or seconds > limit:
        return Outcome("out of time", limit, reason=f"ended after {seconds:.3f} s")
    if judged.reward is None:
        return Outcome("failed", seconds, reason=judged.reason)
    return Outcome("ok", seconds, judged.reward)


def _returned(success: Success, reward: float | bool) -> Judgement:
    """Return what the answer of a function came to."""
    if reward is False:
        return Judgement(None, "returned False")
    if reward is True:
        return Judgement(success.scale[1])
    return success.within(float(reward))
