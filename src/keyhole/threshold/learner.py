"""A threshold policy at work: ask for an arm, given a threshold; tell what was seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyhole.contract.memory import FloatArray, IntArray
from keyhole.play.learner import Learner as CoreLearner
from keyhole.validate import Range, integer


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

    def ask(self, *, threshold: int) -> int:
        """Return the arm to pull, from 0, now that the threshold is known.

        The same if asked again with the same threshold before `tell`; with another one that is
        refused, and so is a threshold that the policy cannot go on with.

        Parameters
        ----------
        threshold : int
            From 1 to the number of levels.
        """
        level = integer("threshold", threshold, Range(ge=1, le=self.facts["levels"]))
        self._enter()
        try:
            shown = self._context["threshold"]
            if self._pending and level != shown.item():
                raise RuntimeError(
                    f"tell must come first: the decision at threshold {shown.item()} is waiting "
                    f"for its feedback"
                )
            shown[()] = level
            self._ask()
            arm: int = self._decision["arm"].item()
            return arm
        finally:
            self._leave()

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
        self._enter()
        try:
            self._expect_feedback()
            threshold: int = self._context["threshold"].item()
            self._feedback["value"][()] = seen(self.facts, threshold, value, censored)
            self._tell()
        finally:
            self._leave()

    def _check_restored(self) -> None:
        least = 1 if self.rounds else 0  # 0 before the first round
        integer(
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


def seen(facts: Mapping[str, Any], threshold: int, value: int | None, censored: bool) -> int:
    """Return the level that was seen of a sample: the threshold for one that is hidden."""
    if not isinstance(censored, bool | np.bool_):
        raise TypeError(f"censored must be True or False, got {censored!r}")
    if (value is None) != bool(censored):
        raise TypeError(
            f"exactly one of value and censored=True must be told, got value {value!r} and "
            f"censored {censored}"
        )
    if not facts["censored"]:
        if censored:
            raise ValueError("censored must be False where feedback is uncensored, got True")
        return integer("value", value, Range(ge=0, le=facts["levels"]))
    if censored:
        return threshold
    level = integer("value", value, Range(ge=0, le=facts["levels"]))
    if level >= threshold:
        raise ValueError(
            f"value must be below the threshold {threshold}, since a sample that reaches it "
            f"is censored; got {level} (tell censored=True)"
        )
    return level
