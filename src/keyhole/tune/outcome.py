"""From how a run ended to what the study is told of it."""

import signal
from dataclasses import dataclass
from typing import Final

from keyhole.tune.command import Arm
from keyhole.tune.executor import CommandOutcome
from keyhole.tune.function_arms import answer
from keyhole.tune.spec import Spec
from keyhole.tune.success_rule import RunScore, SuccessRule
from keyhole.tune.trial_log import EXPIRED

_ALARM: Final = int(getattr(signal, "SIGALRM", 0))


class CannotStartError(ValueError):
    """A command could not be started: no other run of it would do better."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to: see `keyhole.tune.trial_log.TrialRecord`."""

    outcome: str
    seconds: float
    reward: float | None = None
    reason: str = ""


def judge_outcome(spec: Spec, arm: Arm, limit: float, run: CommandOutcome) -> Outcome:
    """Return what a run came to.

    One that its machine slept through, or that was lost, counts for nothing. One that ended by
    itself, but after its limit, is out of time.
    """
    if run.outcome == "could not start":
        raise CannotStartError(f"arm {arm.name!r} could not be started: {run.reason}")
    if run.slept:
        return Outcome(EXPIRED, run.seconds, reason="the machine was asleep meanwhile")
    if run.outcome == "lost":
        return Outcome(EXPIRED, run.seconds, reason=run.reason or "the run was lost")
    if run.outcome == "out of time":
        return Outcome(run.outcome, limit, reason=run.reason)
    seconds = run.seconds if spec.clock == "wall" else run.cpu
    if run.outcome == "out of memory":
        return Outcome(run.outcome, min(seconds, limit), reason=run.reason)
    judged: RunScore | None = spec.success.score_run(run)
    if arm.function:
        seconds, judged = _called(spec.success, limit, run)
    if judged is None or seconds > limit:
        return Outcome("out of time", limit, reason=f"ended after {seconds:.3f} s")
    if judged.reward is None:
        return Outcome("failed", seconds, reason=judged.reason)
    return Outcome("ok", seconds, judged.reward)


def _called(
    success: SuccessRule, limit: float, run: CommandOutcome
) -> tuple[float, RunScore | None]:
    """Return how long a function took, and what it came to; None if its alarm ended it."""
    found = answer(run.output)
    if found is not None and found.raised:
        return found.seconds, RunScore(None, f"raised {found.raised}")
    if found is not None and run.code == 0:
        return found.seconds, _returned(success, found.reward)
    if run.signal == _ALARM:
        return run.seconds, None
    why = f"signal {run.signal}" if run.signal is not None else f"code {run.code}"
    return min(run.seconds, limit), RunScore(None, f"ended with {why}")


def _returned(success: SuccessRule, reward: float | bool) -> RunScore:
    """Return what the answer of a function came to."""
    if reward is False:
        return RunScore(None, "returned False")
    if reward is True:
        return RunScore(success.scale[1])
    return success.within(float(reward))
