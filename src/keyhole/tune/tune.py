"""A tune that was begun: what was run, what follows from it, and what it is good for elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from keyhole.cached import cached_property
from keyhole.contract.policy import Policy
from keyhole.tune import folder as places
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord, read
from keyhole.tune.value_estimates import Interval, ValueEstimates

if TYPE_CHECKING:
    from keyhole.study.log_export import Replay

_CLOSE: Final = 0.01
"""Pairs are alike that differ by no more than this share of what a success is worth."""
_LOSS: Final = 0.95
_RESOLUTION: Final = 2.0
"""No interval is narrower than so many runs more, or fewer, would make it."""


@dataclass(frozen=True)
class CommandLimit:
    """A command with a limit, and what is known of it.

    Attributes
    ----------
    arm : str
        The command's name.
    limit : float
        When to give up, in seconds.
    gain : Known
        What a run is worth, in the unit of the reward.
    done : Known
        The share of runs that succeed.
    seconds : Known
        How long a run takes on average.
    runs : int
        How many runs tell of it: those with this limit, or a larger one.
    """

    arm: str
    limit: float
    gain: Interval
    done: Interval
    seconds: Interval
    runs: int


@dataclass(frozen=True)
class Best(CommandLimit):
    """The pair that is recommended.

    Attributes
    ----------
    sure : float
        The probability that no other pair, run or not, is better by more than a hundredth of what a
        success is worth.
    loss : float
        By how much, with probability 95 %, the best pair is better at most.
    full : Pair
        The command that looks best at the full cut-off.
    more : Known
        How much more a run is worth than with the best command at the full cut-off, whichever of
        those that were run that is: below 0 where it is likely to be another one by itself.
    runs_of_arms : dict of str to int
        How often each command was run.
    successes : int
        How many runs succeeded, of all commands: of 0, nothing speaks for any command.
    """

    sure: float
    loss: float
    full: CommandLimit
    more: Interval
    runs_of_arms: dict[str, int]
    successes: int

    @property
    def untried(self) -> list[str]:
        """The commands that were never run."""
        return [arm for arm, runs in self.runs_of_arms.items() if runs == 0]


class Tune:
    """What the folder of a tune holds.

    Attributes
    ----------
    spec : Spec
        What is tuned.
    runs : list of Record
        The runs that count, in the order in which they ended.
    expired : list of Record
        Those that count for nothing and were done again.
    """

    def __init__(self, folder: Path, spec: Spec, records: Sequence[TrialRecord]) -> None:
        self.folder, self.spec = folder, spec
        self.runs = list({one.id: one for one in records if one.is_counted}.values())
        self.expired = [one for one in records if not one.is_counted]
        self.elapsed = max((one.elapsed for one in records), default=0.0)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what a folder holds; a tuner may be at work in it."""
        folder = Path(folder)
        spec = places.read_spec(folder)
        path = folder / places.RUNS
        return cls(folder, spec, list(read(path, spec.names)) if path.exists() else [])

    @cached_property
    def gains(self) -> ValueEstimates:
        """What every pair is worth."""
        return ValueEstimates(self.spec, self.runs)

    def of(self, arm: str) -> list[TrialRecord]:
        """Return the runs of an arm."""
        return [run for run in self.runs if run.arm == arm]

    def pair(self, arm: int, place: int) -> CommandLimit:
        """Return what is known of a command, by its number, with a limit, by its."""
        return CommandLimit(**self._pair(arm, place))

    def _pair(self, arm: int, place: int) -> dict[str, Any]:
        gains, runs = self.gains, int(self.gains.told[arm, place])
        least = _RESOLUTION / (runs + _RESOLUTION)
        success, limit = self.spec.success, self.spec.limits[place]
        worst = -float(self.spec.objective.penalty(success.least)(limit))
        return {
            "arm": self.spec.arms[arm].name,
            "limit": limit,
            "gain": Interval.of(
                gains.draws[:, arm, place], least * success.span, (worst, success.scale[1])
            ),
            "done": Interval.of(gains.done[:, arm, place], least, (0.0, 1.0)),
            "seconds": Interval.of(gains.seconds[:, arm, place]),
            "runs": runs,
        }

    def best(self) -> Best:
        """Return the pair that is worth the most, of those that were tried.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        if not self.runs:
            raise ValueError(f"{self.folder}: nothing has been run yet")
        gains = self.gains
        tried = np.where(gains.told > 0, gains.draws.mean(axis=0), -np.inf)
        arm, place = divmod(int(tried.argmax()), tried.shape[1])
        at_full = (
            tried[:, -1] if np.isfinite(tried[:, -1]).any() else gains.draws.mean(axis=0)[:, -1]
        )
        full = int(at_full.argmax())
        tried_arms = gains.told[:, 0] > 0
        behind = gains.order_values.max(axis=(1, 2)) - gains.order_values[:, arm, place]
        return Best(
            **self._pair(arm, place),
            # Of an arm that was never run all that is known is that it may be the best as well.
            sure=float((behind <= _CLOSE * self.spec.success.span).mean() * tried_arms.mean()),
            loss=float(np.quantile(behind, _LOSS)),
            full=self.pair(full, len(self.spec.limits) - 1),
            more=self._more(arm, place, full),
            runs_of_arms={name: len(self.of(name)) for name in self.spec.names},
            successes=sum(run.outcome == "ok" for run in self.runs),
        )

    def _more(self, arm: int, place: int, full: int) -> Interval:
        """Return how much more a pair is worth than the best command at the full cut-off.

        Which of those that were run that is, is not known: value and lower end are against the best
        of each draw, the upper end is against the command that looks best.
        """
        draws, tried = self.gains.cut_off_values, self.gains.told[:, 0] > 0
        mine, theirs = draws[:, arm, place], draws[:, :, -1]
        least = Interval.of(mine - theirs[:, tried].max(axis=1))
        return Interval(least.value, least.low, Interval.of(mine - theirs[:, full]).high)

    def replay(self, policy: Policy, **facts: Any) -> "Replay":
        """Return what another policy would have asked: see `keyhole.study.Study.replay`."""
        with places.open_study(self.folder, self.spec) as study:
            return study.replay(policy, **facts)

    def __repr__(self) -> str:
        """Return what it is and how far it has come."""
        return f"Tune({self.spec.name}: {len(self.spec.arms)} arms, {len(self.runs)} runs)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how far it has come, what it recommends, and each arm."""
        from keyhole.results.html import Table
        from keyhole.tune.summary import POOLED, arms_table, format_progress, format_recommendation

        if not self.runs:
            return Table(
                format_progress(self), ["arm"], [[arm.name] for arm in self.spec.arms]
            ).html()
        said = " ".join(
            f"{text}." for text in (format_progress(self), *format_recommendation(self))
        )
        return Table(f"{said} {POOLED}", *arms_table(self)).html()
