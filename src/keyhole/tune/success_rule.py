"""Success rule of a tune, which gives a run its reward and its outcome (ok, failed, ...)."""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from keyhole.runner import CommandResult
from keyhole.tune.arms import Arm, check_table, parse_function_answer, read_fields
from keyhole.tune.trial_log import EXPIRED
from keyhole.validation import check_flag, check_number, short_repr

if TYPE_CHECKING:
    from keyhole.tune.spec import Spec

_GAP: Final = re.compile(rb"\n\.\.\. \d+ bytes \.\.\.\n")
_LINE_END: Final = re.compile(r"\r*\n|\r")  # progress bars write a lone CR
_CONTROL_SEQUENCE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # such as colours (ECMA-48)
_ALARM: Final = int(getattr(signal, "SIGALRM", 0))
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class RunScore:
    """Score of a run: its reward, or None and the reason why it failed."""

    reward: float | None
    reason: str = ""


def _check_codes(path: str, value: object) -> tuple[int, ...]:
    codes = tuple(value) if isinstance(value, Sequence) else ()
    if not codes or not all(type(code) is int and 0 <= code <= 255 for code in codes):
        raise TypeError(f"{path} must be a list of exit codes, 0 to 255, got {short_repr(value)}")
    return codes


def _check_expression(path: str, value: object, *, has_group: bool = False) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{path} must be a text, got {short_repr(value)}")
    try:
        expression = re.compile(value, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{path} must be a regular expression: {error}") from None
    if value and has_group and expression.groups != 1:
        raise ValueError(f"{path} must have one group, in (), got {expression.groups} in {value!r}")
    return value


def _check_scale(path: str, value: object) -> tuple[float, float]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise TypeError(f"{path} must be two numbers, got {short_repr(value)}")
    low, high = (check_number(f"{path}[{i}]", end) for i, end in enumerate(value))
    if low >= high:
        raise ValueError(f"{path} must rise, got {low:g} and {high:g}")
    return low, high


@dataclass(frozen=True)
class SuccessRule:
    """Rule that decides whether a run has succeeded, and with which reward.

    Attributes
    ----------
    codes : tuple of int
        Exit codes of success.
    pattern : str
        Regular expression that must match in the output (multi-line mode); "" for none.
    number : str
        Regular expression with a group; in the last match, the group is the reward. "" for none.
    scale : tuple of float
        The least and the largest reward. A success without a number earns the largest.
    at_limit : bool
        Whether a run that reaches its limit is judged as well, by its output alone.
    """

    codes: Annotated[tuple[int, ...], _check_codes] = (0,)
    pattern: Annotated[str, _check_expression] = ""
    number: Annotated[str, partial(_check_expression, has_group=True)] = ""
    scale: Annotated[tuple[float, float], _check_scale] = (0.0, 1.0)
    at_limit: Annotated[bool, check_flag] = False

    @classmethod
    def from_table(cls, value: object) -> "SuccessRule":
        """Make a rule of the table ``[success]`` of a spec."""
        defaults = vars(cls())
        table = check_table("success", value, defaults)
        rule = cls(**read_fields(cls, "success", {**defaults, **table}))
        if rule.at_limit and not (rule.pattern or rule.number):
            raise ValueError(
                "success.at_limit needs success.pattern or success.number, to judge the output of "
                "a run at its limit"
            )
        return rule

    def check_limits(self, limits: Sequence[float]) -> None:
        """Refuse several limits for runs that are judged at their limit."""
        if self.at_limit and len(limits) > 1:
            raise ValueError(
                f"success.at_limit must have one limit, got {len(limits)}: what a run has printed "
                "by one limit says nothing of other limits; to compare times, make them a "
                "parameter of the command: grid = { time = [1, 10] }"
            )

    def score_run(self, run: CommandResult) -> RunScore:
        """Return the score of a run that exited."""
        if run.signal is not None:
            return RunScore(None, f"ended by signal {run.signal}")
        if run.code not in self.codes:
            return RunScore(None, f"ended with code {run.code}")
        return self.score_output(run)

    def score_output(self, run: CommandResult) -> RunScore:
        """Return the score of a run by its output alone."""
        text = _read_output(run.output, is_whole=run.code is not None)
        if self.pattern and not re.search(self.pattern, text, re.MULTILINE):
            return RunScore(None, "the pattern was not found")
        if not self.number:
            return RunScore(self.scale[1])
        matches = list(re.finditer(self.number, text, re.MULTILINE))
        if not matches:
            return RunScore(None, "the number was not found")
        # The group is None if it is in an alternative that did not match.
        number = (matches[-1].group(1) or "").strip()
        if not _NUMBER.fullmatch(number):
            return RunScore(None, f"the number was {short_repr(number)}")
        return self.score_reward(float(number))

    def score_reward(self, reward: float) -> RunScore:
        """Return the score of a reward; a reward outside the scale is a failure."""
        low, high = self.scale
        if low <= reward <= high:
            return RunScore(reward)
        return RunScore(None, f"the reward {reward:g} is not in [{low:g}, {high:g}]")

    @property
    def least_reward(self) -> float:
        """Reward of a run without success: 0, or the least reward of the scale if it is below 0."""
        return min(0.0, self.scale[0])

    @property
    def reward_span(self) -> float:
        """Difference between the largest reward and `least_reward`."""
        return self.scale[1] - self.least_reward


def _read_output(output: bytes, *, is_whole: bool) -> str:
    """Return an output as text, without incomplete lines.

    Lines are incomplete where the runner left out a part of a long output. If the run was killed
    (not `is_whole`), a last line without a line end counts as incomplete, too.
    """
    text = _decode_output(output)
    for gap in _GAP.finditer(output):
        # The runner's marker is in the middle of the bytes. A line of the command that only looks
        # like the marker is not.
        if gap.start() == len(output) - gap.end():
            start, end = _decode_output(output[: gap.start()]), _decode_output(output[gap.end() :])
            text = start[: start.rfind("\n") + 1] + end.partition("\n")[2]
    return text if is_whole else text[: text.rfind("\n") + 1]


def _decode_output(output: bytes) -> str:
    """Return an output as text with plain line ends, without colours or a byte order mark."""
    text = output.decode("utf-8", "replace").removeprefix("\ufeff")
    return _LINE_END.sub("\n", _CONTROL_SEQUENCE.sub("", text))


class CannotStartError(ValueError):
    """A command could not be started: the tune ends."""


@dataclass(frozen=True)
class Outcome:
    """Outcome, seconds and reward of a run: see `keyhole.tune.trial_log.TrialRecord`."""

    outcome: str
    seconds: float
    reward: float | None = None
    reason: str = ""


def judge_outcome(spec: "Spec", arm: Arm, limit: float, run: CommandResult) -> Outcome:
    """Return the outcome of a run.

    A run is expired if it was lost, or if the machine slept during the run. A run that exited after
    its limit is out of time, unless `success.at_limit` is set and its output fulfils the rule.
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
        seconds, score = _score_function_call(spec.success, limit, run)
    # A run may still exit in the moment between its limit and the signal that kills it.
    if score is None or seconds > limit:
        return _judge_at_limit(spec, limit, run, f"ended after {seconds:.3f} s")
    if score.reward is None:
        return Outcome("failed", seconds, reason=score.reason)
    return Outcome("ok", seconds, score.reward)


def _judge_at_limit(spec: "Spec", limit: float, run: CommandResult, reason: str) -> Outcome:
    """Return the outcome of a run that reached its limit."""
    # The seconds are the limit, since the time that the kill took says nothing of the command.
    if not spec.success.at_limit:
        return Outcome("out of time", limit, reason=reason)
    score = spec.success.score_output(run)
    if score.reward is None:
        return Outcome("out of time", limit, reason=score.reason)
    return Outcome("ok", limit, score.reward, "judged at its limit")


def _score_function_call(
    success: SuccessRule, limit: float, run: CommandResult
) -> tuple[float, RunScore | None]:
    """Return the seconds and the score of a function's run; no score if its alarm killed it."""
    answer = parse_function_answer(run.output)
    if answer is not None and answer.failure:
        return answer.seconds, RunScore(None, f"raised {answer.failure}")
    if answer is not None and run.code == 0:
        # `is` tells True and False from the rewards 1 and 0, which equal them.
        if answer.result is False:
            return answer.seconds, RunScore(None, "returned False")
        reward = success.scale[1] if answer.result is True else float(answer.result)
        return answer.seconds, success.score_reward(reward)
    if run.signal == _ALARM:
        return run.seconds, None
    ending = f"code {run.code}"
    if run.signal is not None:
        ending = f"signal {run.signal}"
    return min(run.seconds, limit), RunScore(None, f"ended with {ending}")
