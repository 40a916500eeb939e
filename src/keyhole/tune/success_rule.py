"""What a run was worth: whether it succeeded, and its reward in the user's own unit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from keyhole.spec_values import unknown_name_error
from keyhole.tune.executor import CommandOutcome
from keyhole.validate import check_number, short_repr

_ENTRIES: Final = ("codes", "pattern", "number", "scale")
_GAP: Final = re.compile(rb"\n\.\.\. \d+ bytes \.\.\.\n")
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class RunScore:
    """What a run that ended by itself came to: a reward, or why there is none."""

    reward: float | None
    reason: str = ""


@dataclass(frozen=True)
class SuccessRule:
    """What counts as success.

    Attributes
    ----------
    codes : tuple of int
        Exit codes.
    pattern : str
        A regular expression that is found in the output, line by line; none if empty.
    number : str
        One with a group: the number that it finds last is the reward; none if empty.
    scale : tuple of float
        The least and the largest reward; a success without a number is worth the largest.
    """

    codes: tuple[int, ...] = (0,)
    pattern: str = ""
    number: str = ""
    scale: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(cls, table: Any) -> "SuccessRule":
        """Return what the table ``[success]`` says."""
        if not isinstance(table, Mapping):
            raise TypeError(f"success must be a table, got {short_repr(table)}")
        for entry in table:
            if entry not in _ENTRIES:
                raise unknown_name_error(f"success.{entry}", _ENTRIES)
        return cls(
            _codes(table.get("codes", [0])),
            _expression("success.pattern", table.get("pattern", "")),
            _expression("success.number", table.get("number", ""), groups=1),
            _scale(table.get("scale", [0, 1])),
        )

    def score_run(self, run: CommandOutcome) -> RunScore:
        """Return what a run that ended by itself came to."""
        if run.signal is not None:
            return RunScore(None, f"ended by signal {run.signal}")
        if run.code not in self.codes:
            return RunScore(None, f"ended with code {run.code}")
        text = _whole_lines(run.output).decode("utf-8", "replace")
        if self.pattern and not re.search(self.pattern, text, re.MULTILINE):
            return RunScore(None, "the pattern was not found")
        if not self.number:
            return RunScore(self.scale[1])
        return self._read(text)

    def _read(self, text: str) -> RunScore:
        found = list(re.finditer(self.number, text, re.MULTILINE))
        if not found:
            return RunScore(None, "the number was not found")
        said = (found[-1].group(1) or "").strip()
        if not _NUMBER.fullmatch(said):
            return RunScore(None, f"the number was {short_repr(said)}")
        return self.within(float(said))

    def within(self, reward: float) -> RunScore:
        """Return a reward that lies on the scale; of another, that it does not."""
        low, high = self.scale
        if low <= reward <= high:
            return RunScore(reward)
        return RunScore(None, f"the reward {reward:g} is not in [{low:g}, {high:g}]")

    @property
    def least(self) -> float:
        """What a run without success earns: the least reward, or 0 if that is above."""
        return min(0.0, self.scale[0])

    @property
    def span(self) -> float:
        """How much better the best reward is than that."""
        return self.scale[1] - self.least

    def as_json(self) -> dict[str, Any]:
        """Return it as a table."""
        return {
            "codes": list(self.codes),
            "pattern": self.pattern,
            "number": self.number,
            "scale": list(self.scale),
        }


def _whole_lines(output: bytes) -> bytes:
    """Return an output without what stands for its middle, and the two lines that are cut there."""
    for gap in _GAP.finditer(output):
        if gap.start() == len(output) - gap.end():  # as much is kept before as after it
            first, last = output[: gap.start()], output[gap.end() :]
            return first[: first.rfind(b"\n") + 1] + last.partition(b"\n")[2]
    return output


def _codes(value: Any) -> tuple[int, ...]:
    good = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
    if not good or not all(type(code) is int and 0 <= code <= 255 for code in value):
        raise TypeError(
            f"success.codes must be a list of exit codes, 0 to 255, got {short_repr(value)}"
        )
    return tuple(value)


def _expression(path: str, value: Any, groups: int = 0) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{path} must be a text, got {short_repr(value)}")
    try:
        found = re.compile(value, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{path} must be a regular expression: {error}") from None
    if value and groups and found.groups != groups:
        raise ValueError(f"{path} must have one group, in (), got {found.groups} in {value!r}")
    return value


def _scale(value: Any) -> tuple[float, float]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise TypeError(f"success.scale must be two numbers, got {short_repr(value)}")
    low, high = (check_number(f"success.scale[{i}]", end) for i, end in enumerate(value))
    if low >= high:
        raise ValueError(f"success.scale must rise, got {low:g} and {high:g}")
    return low, high
