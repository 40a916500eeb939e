"""The means by arm (option) of the feedback told to a study, and the arms without feedback."""

from collections.abc import Callable
from math import inf
from typing import TypeVar

from keyhole.study import arm_means
from keyhole.study import best_chances as chances
from keyhole.study.cached_state import ReadOnlyReplica
from keyhole.study.decision_counts import DecisionCounts
from keyhole.study.storage.fork_lock import FORK_LOCK

_T = TypeVar("_T")


class FeedbackMeans:
    """Base class of studies: summaries of the feedback told so far, read from the log alone."""

    _replica: ReadOnlyReplica

    def means(
        self, *, most_events: int | None = None
    ) -> dict[str, dict[str, arm_means.ArmMean]] | None:
        """Return the means of the feedback told so far, with intervals that hold at all times.

        An interval contains the arm's mean at all times at once, with 95 % confidence for each arm:
        who looks every day, and stops or changes something then, is not misled. It needs that all
        rewards of an arm have the same mean, and that whether and when they are told does not
        depend on them; rewards strictly between 0 and 1 make it wider than needed.

        With ``on_timeout="no_reward"`` the rewards of 0 that were assumed count. There a success is
        told before a failure is assumed, and an interval of all that was told by now would not
        hold. So means and intervals leave out what was told of decisions after the oldest pending
        one: what comes before it is complete, and in the order of the decisions an interval holds
        wherever one stops. Means are then of the reward within the timeout.

        Parameters
        ----------
        most_events : int, optional
            Return None if more events than this are yet to be read; by default all are read.

        Returns
        -------
        dict of str to dict of str to ArmMean
            For each arm the mean of each number in its feedback, by its name, such as "reward".

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         for reward in (1, 0, 1):
        ...             study.tell(study.ask(), reward)
        ...         print(study.means()["blue"]["reward"])
        0.00 [0.00, 0.98]
        """
        return self._summarize(arm_means.arm_means, most_events)

    def explain_intervals(self, *, most_events: int | None = None) -> str | None:
        """Return what the intervals of `means` mean, or why there are none.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.
        """
        return self._summarize(arm_means.explain_intervals, most_events)

    def arms_without_feedback(self, *, most_events: int | None = None) -> list[str] | None:
        """Return the arms in use for which the policy has no feedback yet, in order.

        A recommendation may name them: without feedback, a policy has only its assumptions about an
        arm. A decision that expired counts as feedback with ``on_timeout="no_reward"``.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(), 1)
        ...         print(study.arms_without_feedback())
        ['blue']
        """
        return self._summarize(arm_means.arms_without_feedback, most_events)

    def best_chances(self, *, most_events: int | None = None) -> dict[str, float] | None:
        """Return the chance of each arm in use to have the highest mean, by the policy's posterior.

        It is a probability given the prior of the policy (`a` and `b` of `OptimisticThompson`) and
        the rewards that `means` counts: no error rate that is guaranteed, which only a policy that
        can stop has. Of pending decisions it knows nothing. A reward x strictly between 0 and 1
        counts as x of a success. Empty where the policy has no such posterior, as `UCB1`, or means
        have no intervals.

        Parameters
        ----------
        most_events : int, optional
            As in `means`.

        Examples
        --------
        >>> import tempfile
        >>> from keyhole.stochastic import OptimisticThompson
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = f"{folder}/s.db"
        ...     with Study.create(storage, "s", OptimisticThompson(), ["red", "blue"]) as study:
        ...         study.tell(study.ask(), 1)
        ...         chances = study.best_chances()
        >>> {arm: round(chance, 3) for arm, chance in chances.items()}
        {'red': 0.667, 'blue': 0.333}
        """
        return self._summarize(chances.best_chances, most_events)

    def _summarize(
        self, work: Callable[[DecisionCounts], _T], most_events: int | None
    ) -> _T | None:
        """Return the result of `work` on the counts; None if more events are yet to be read."""
        counts = self._replica.count_decisions(inf if most_events is None else most_events)
        with FORK_LOCK.shared():
            return None if counts is None else work(counts)
