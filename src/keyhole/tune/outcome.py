"""The outcome of a command's run (ok, failed, out of time, ...), by its result and success rule."""

import signal
from dataclasses import dataclass
from typing import Final

from keyhole.runner import CommandResult
from keyhole.tune.arms import Arm
from keyhole.tune.function_arms import find_answer
from keyhole.tune.spec import Spec
from keyhole.tune.success_rule import RunScore, SuccessRule
from keyhole.tune.trial_log import EXPIRED

_ALARM: Final = int(getattr(signal, "SIGALRM", 0))


class CannotStartError(ValueError):
    """A command could not be started, which ends the tune."""


@dataclass(frozen=True)
class Outcome:
    """Outcome, seconds and reward of a run: see `keyhole.tune.trial_log.TrialRecord`."""

    outcome: str
    seconds: float
    reward: float | None = None
    reason: str = ""


def judge_outcome(spec: Spec, arm: Arm, limit: float, run: CommandResult) -> Outcome:
    """Return the outcome of a run.

    A run that was lost, or during which the machine slept, is expired. A run that exited, but after
    its limit, is out of time, unless `success.at_limit` has its output judged.
    """
    if run.outcome == "could not start":
        raise CannotStartError(f"arm {arm.name!r} could not be started: {run.reason}")
    if run.slept:
        return Outcome(EXPIRED, run.seconds, reason="the machine slept during the run")
    if run.outcome == "lost":
        return Outcome(EXPIRED, run.seconds, reason=run.reason or "the run was lost")
    if run.outcome == "out of time":
        return _judge_at_limit(spec, limit, run, run.reason)
    seconds = run.seconds if spec.clock == "wall" else run.cpu
    if run.outcome == "out of memory":
        return Outcome(run.outcome, min(seconds, limit), reason=run.reason)
    score: RunScore | None = spec.success.score_run(run)
    if arm.function:
        seconds, score = _score_call(spec.success, limit, run)
    # A run may still exit in the moment between its limit and the signal that kills it.
    if score is None or seconds > limit:
        return _judge_at_limit(spec, limit, run, f"ended after {seconds:.3f} s")
    if score.reward is None:
        return Outcome("failed", seconds, reason=score.reason)
    return Outcome("ok", seconds, score.reward)


def _judge_at_limit(spec: Spec, limit: float, run: CommandResult, reason: str) -> Outcome:
    """Return the outcome of a run that reached its limit."""
    # The limit, not the seconds: how long the kill took says nothing of the command.
    if not spec.success.at_limit:
        return Outcome("out of time", limit, reason=reason)
    score = spec.success.score_output(run)
    if score.reward is None:
        return Outcome("out of time", limit, reason=score.reason)
    return Outcome("ok", limit, score.reward, "judged at its limit")


def _score_call(
    success: SuccessRule, limit: float, run: CommandResult
) -> tuple[float, RunScore | None]:
    """Return the seconds and the score of a function; None if its alarm killed it."""
    found = find_answer(run.output)
    if found is not None and found.failure:
        return found.seconds, RunScore(None, f"raised {found.failure}")
    if found is not None and run.code == 0:
        return found.seconds, _score_returned(success, found.result)
    if run.signal == _ALARM:
        return run.seconds, None
    why = f"signal {run.signal}" if run.signal is not None else f"code {run.code}"
    return min(run.seconds, limit), RunScore(None, f"ended with {why}")


def _score_returned(success: SuccessRule, reward: float | bool) -> RunScore:
    """Return the score of the value that a function returned."""
    # By identity, not equality: the numbers 0 and 1 are rewards.
    if reward is False:
        return RunScore(None, "returned False")
    if reward is True:
        return RunScore(success.scale[1])
    return success.score_reward(float(reward))
