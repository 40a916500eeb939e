"""A threshold policy at work: ask for an arm, given a threshold; tell what was seen."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.policy import Policy
from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.log_columns import int_column
from keyhole.validate import Range, check_integer


class Learner(CoreLearner):
    """Decides which arm to pull for a threshold, and which arm is best at each level.

    Made by a policy: ``DKWUCB().learner(arms=3, levels=10, feedback="uncensored", horizon=500)``.

    Examples
    --------
    >>> from keyhole.threshold import KaplanMeierUCB
    >>> learner = KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    >>> learner.ask(threshold=2)
    0
    >>> learner.tell(censored=True)  # it reached level 2; how much more, nobody knows
    >>> learner.ask(threshold=3)  # nothing is known of arm 0 at level 3
    0
    >>> learner.tell(1)
    >>> learner
    KaplanMeierUCB() after 2 rounds, 2 arms, levels 3, censored feedback, horizon 100
      arm 0: level 1 2 of 2, level 2 1 of 2, level 3 0 of 1
      arm 1: level 1 0 of 0, level 2 0 of 0, level 3 0 of 0
    """

    def _prepare(self, policy: Policy, told: dict[str, Any]) -> None:
        super()._prepare(policy, told)
        # Made once: that takes longer than a round.
        self._thresholds = Range(ge=1, le=told["levels"])
        self._samples = Range(ge=0, le=told["levels"])

    def ask(self, *, threshold: int) -> int:
        """Return the arm to pull, from 0, now that the threshold is known.

        The same if asked again with the same threshold before `tell`; with another one that is
        refused, and so is a threshold that the policy cannot go on with.

        Parameters
        ----------
        threshold : int
            From 1 to the number of levels.
        """
        level = check_integer("threshold", threshold, self._thresholds)
        arm = self._ask(level)
        if level != (shown := self._context["threshold"].item()):  # a decision was waiting
            raise RuntimeError(
                f"tell must come first: the decision at threshold {shown} is waiting for its "
                f"feedback"
            )
        return arm

    def tell(self, value: int | None = None, *, censored: bool = False) -> None:
        """Report what was seen of the sample of the arm last asked for.

        Parameters
        ----------
        value : int, optional
            The sample, from 0 to the number of levels; with censored feedback only a sample below
            the threshold can be seen.
        censored : bool, default False
            True, in place of a value, if the sample reached the threshold and is hidden.
        """
        self._expect_feedback()
        threshold: int = self._context["threshold"].item()
        self._tell(
            observed_sample(self._samples, self.facts["censored"], threshold, value, censored)
        )

    def replay(self, thresholds: ArrayLike, arms: ArrayLike, values: ArrayLike) -> int:
        """Go through a log: as asking and telling round by round, and much faster.

        Where an arm of the log is not the one that the policy asks for, the policy learns of the
        arm in the log. One that cannot refuses the log (see `Policy.off_policy`): of its
        own decisions alone, any policy learns. A log with a row that is refused changes nothing.

        Parameters
        ----------
        thresholds, arms, values : sequence of int, of the same length
            Threshold, arm and sample of each round. With censored feedback a sample that reached
            the threshold is given as the threshold.

        Returns
        -------
        int
            In how many rounds the policy asked for the arm in the log.
        """
        shown = int_column("thresholds", thresholds, self._thresholds)
        pulled = int_column("arms", arms, Range(ge=0, lt=self.facts["arms"]), shown)
        seen = int_column("values", values, self._samples, shown)
        if self.facts["censored"] and (above := seen > shown).any():
            at = int(above.argmax())
            raise ValueError(
                f"values[{at}] must be at most the threshold {shown[at]}, which stands for all "
                f"samples that reach it, got {seen[at]}"
            )
        return self._replay(threshold=shown, arm=pulled, value=seen)

    def _check_restored(self) -> None:
        least = 1 if self.rounds else 0  # 0 before the first round
        check_integer(
            "threshold",
            self._context["threshold"].item(),
            Range(ge=least, le=self.facts["levels"]),
        )

    def recommend(self) -> IntArray:
        """Return the arm that looks best at each level, that of c at position c - 1."""
        return self._recommend()["best"]

    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Return the estimated survival functions, and of how many pulls each number is the mean.

        Both have shape (arms, levels), level j at position j - 1: the estimated chance that a
        sample of the arm reaches the level, 0 where nothing is known.
        """
        report = self._recommend()
        return report["survival"], report["support"]


def observed_sample(
    samples: Range, hides: bool, threshold: int, value: int | None, censored: bool
) -> int:
    """Return the level that was seen of a sample: the threshold for one that is hidden.

    `samples` are those there can be, and `hides` is whether feedback is censored.
    """
    if not isinstance(censored, (bool, np.bool_)):
        raise TypeError(f"censored must be True or False, got {censored!r}")
    if (value is None) != bool(censored):
        raise TypeError(
            f"exactly one of value and censored=True must be told, got value {value!r} and "
            f"censored {censored}"
        )
    if not hides:
        if censored:
            raise ValueError("censored must be False where feedback is uncensored, got True")
        return check_integer("value", value, samples)
    if censored:
        return threshold
    level = check_integer("value", value, samples)
    if level >= threshold:
        raise ValueError(
            f"value must be below the threshold {threshold}, since a sample that reaches it "
            f"is censored; got {level} (tell censored=True)"
        )
    return level
