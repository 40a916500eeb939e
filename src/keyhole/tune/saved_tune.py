"""A saved tune (runs of commands, to learn which is best): its runs, advice, and replays."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from keyhole.cached_property import cached_property
from keyhole.contract.policy import Policy
from keyhole.extras import require_extra
from keyhole.text_formatting import count_text
from keyhole.tune import folder as places
from keyhole.tune.interval import Interval
from keyhole.tune.recommendation import TOLERANCE, Best, CommandLimitEstimate
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.value_estimates import ValueEstimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from keyhole.study.log_export import Replay

_REGRET_QUANTILE: Final = 0.95


class SavedTune:
    """The contents of a tune folder: its spec and its runs.

    Attributes
    ----------
    spec : Spec
        The spec of the tune.
    runs : list of TrialRecord
        The runs that count, in the order in which they ended.
    expired : list of TrialRecord
        Runs that do not count and were repeated.
    """

    def __init__(self, folder: Path, spec: Spec, records: Sequence[TrialRecord]) -> None:
        self.folder, self.spec = folder, spec
        self.runs = list({record.id: record for record in records if record.is_counted}.values())
        self.expired = [record for record in records if not record.is_counted]
        self.elapsed = max((record.elapsed for record in records), default=0.0)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a tune folder; a tuner may be at work in it."""
        folder = Path(folder)
        spec = places.read_spec(folder)
        return cls(folder, spec, places.read_runs(folder, spec))

    @cached_property
    def gains(self) -> ValueEstimates:
        """Posterior estimates of the gains of all pairs."""
        return ValueEstimates(self.spec, self.runs)

    def runs_of(self, arm: str) -> list[TrialRecord]:
        """Return the runs of an arm."""
        return [run for run in self.runs if run.arm == arm]

    def estimate_pair(self, arm: int, place: int) -> CommandLimitEstimate:
        """Return the estimates of a pair, given the indices of its arm and its limit."""
        gains = self.gains
        return CommandLimitEstimate(
            arm=self.spec.names[arm],
            limit=self.spec.limits[place],
            gain=gains.gain(arm, place),
            success_rate=gains.success_rate(arm, place),
            seconds=Interval.from_draws(gains.seconds[:, arm, place]),
            runs=int(gains.run_counts[arm, place]),
        )

    def best(self) -> Best:
        """Return the pair with the largest mean gain, of those that were tried.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        return self._best

    @cached_property
    def _best(self) -> Best:
        if not self.runs:
            raise ValueError(f"{self.folder}: nothing has been run yet")
        gains = self.gains
        arm, place = gains.best_pair()
        tried = np.where(gains.run_counts > 0, gains.draws.mean(axis=0), -np.inf)
        # Where no arm was tried at the full cut-off, the estimates there of all arms must do.
        at_full = (
            tried[:, -1] if np.isfinite(tried[:, -1]).any() else gains.draws.mean(axis=0)[:, -1]
        )
        full = int(at_full.argmax())
        tried_arms = gains.run_counts[:, 0] > 0
        # Over all pairs, tried or not: an untried pair may be the best one.
        behind = gains.comparison_gains.max(axis=(1, 2)) - gains.comparison_gains[:, arm, place]
        return Best(
            **vars(self.estimate_pair(arm, place)),
            # An arm that was never run is the best with the same probability as any other arm.
            probability=float(
                (behind <= TOLERANCE * self.spec.success.span).mean() * tried_arms.mean()
            ),
            regret_bound=float(np.quantile(behind, _REGRET_QUANTILE)),
            full=self.estimate_pair(full, len(self.spec.limits) - 1),
            gain_over_full=self._gain_over_full(arm, place, full),
            runs_of_arms={name: len(self.runs_of(name)) for name in self.spec.names},
            successes=sum(run.outcome == "ok" for run in self.runs),
        )

    def _gain_over_full(self, arm: int, place: int, full: int) -> Interval:
        """Return the gain of a pair less that of the best command at the full cut-off.

        Which command that is, is uncertain: mean and lower end compare with the best of each draw,
        the upper end with the command that has the largest mean.
        """
        draws, tried = self.gains.cut_off_gains, self.gains.run_counts[:, 0] > 0
        mine, theirs = draws[:, arm, place], draws[:, :, -1]
        least = Interval.from_draws(mine - theirs[:, tried].max(axis=1))
        return Interval(least.value, least.low, Interval.from_draws(mine - theirs[:, full]).high)

    def replay(self, policy: Policy, **facts: Any) -> "Replay":
        """Replay another policy on the recorded decisions: see `keyhole.study.Study.replay`."""
        with places.open_study(self.folder, self.spec) as study:
            return study.replay(policy, **facts)

    def plot(self, *, axes: "Axes | None" = None) -> "Axes":
        """Draw the gain of a run by time limit and command, with 95 % intervals.

        A circle marks the recommended pair. Commands without runs are left out, and so are the
        limits above the largest one that a command was run with.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        require_extra("plots", "SavedTune.plot()")
        from keyhole.pages.chart_figure import plot_chart
        from keyhole.tune.charts import gain_chart

        return plot_chart(gain_chart(self), axes)

    def __repr__(self) -> str:
        """Return name, number of arms and number of runs."""
        arms = count_text(len(self.spec.arms), "arm")
        return f"SavedTune({self.spec.name}: {arms}, {count_text(len(self.runs), 'run')})"

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the recommendation, a table of the arms, and a picture."""
        from keyhole.tune.summary import tune_html

        return tune_html(self)
