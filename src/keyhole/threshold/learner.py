"""Learner that returns the arm to pull at a threshold, and the vocabulary of its studies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.cached_property import cached_property
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.drivers.learner_step import NOT_ASKED, TELL_WITH_NUMBER
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.learning_from_log import int_column
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.validation import Range, check_integer


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask(threshold=...)``, with a level from 1, returns an ``arm``.

    Feedback is told by ``tell(id, value)`` or ``tell(id, censored=True)``.
    """

    @cached_property
    def threshold_range(self) -> Range:
        """The allowed thresholds, cached since making a `Range` takes longer than a round."""
        return Range(ge=1, le=self.facts["levels"])

    @cached_property
    def sample_range(self) -> Range:
        """The allowed samples."""
        return Range(ge=0, le=self.facts["levels"])

    def parse_context(self, *, threshold: int) -> Values:  # type: ignore[override]
        """Return the threshold."""
        return {"threshold": check_integer("threshold", threshold, self.threshold_range)}

    def format_context(self, context: Values) -> Words:
        """Return the threshold."""
        return context

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, value: int | None = None, *, censored: bool = False
    ) -> Values:
        """Return the sample, or the threshold if the sample is censored."""
        if not isinstance(censored, (bool, np.bool_)):
            raise TypeError(f"censored must be True or False, got {censored!r}")
        if (value is None) != bool(censored):
            raise TypeError(
                f"exactly one of value and censored=True must be told, got value {value!r} and "
                f"censored {censored}"
            )
        threshold = context["threshold"]
        has_censored_feedback = self.facts["censored"]
        if censored:
            if has_censored_feedback:
                return {"value": threshold}
            raise ValueError("censored must be False where feedback is uncensored, got True")
        sample = check_integer("value", value, self.sample_range)
        if has_censored_feedback and sample >= threshold:
            raise ValueError(
                f"value must be below the threshold {threshold}, since a sample that reaches it "
                f"is censored; got {sample} (tell censored=True)"
            )
        return {"value": sample}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the sample, or ``censored``."""
        is_censored = self.facts["censored"] and feedback["value"] >= context["threshold"]
        return {"censored": True} if is_censored else {"value": feedback["value"]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return a sample of 0."""
        return {"value": 0}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[int, str]:
        """Return the best arm's name by level; `live` has the numbers of the arms in use."""
        best = report["best"].tolist()
        return {level: self.arms[live[int(arm)]] for level, arm in enumerate(best, 1)}


class Learner(CoreLearner):
    """Learner that returns the arm to pull at a threshold, and recommends an arm for each level.

    The method `learner` of a policy makes it:
    ``DKWUCB().learner(arms=3, levels=10, feedback="uncensored", horizon=500)``.

    Examples
    --------
    >>> from keyhole.threshold import KaplanMeierUCB
    >>> learner = KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    >>> learner.ask(threshold=2)
    0
    >>> learner.tell(censored=True)  # it reached level 2
    >>> learner.ask(threshold=3)  # no arm has a sample at level 3 yet
    0
    >>> learner.tell(1)
    >>> learner
    KaplanMeierUCB() after 2 rounds, 2 arms, levels 3, censored feedback, horizon 100
      arm 0: 2 of 2 reached level 1, 1 of 2 reached level 2, 0 of 1 reached level 3
      arm 1: 0 of 0 reached level 1, 0 of 0 reached level 2, 0 of 0 reached level 3
    """

    names_arms = True

    def ask(self, *, threshold: int, exclude: Iterable[Any] | None = None) -> int:
        """Return the arm to pull at a threshold: its number from 0, or its name if arms have names.

        Until `tell`, the same arm is returned again for the same threshold, and other thresholds
        are refused. A threshold is always refused if the policy does not allow it, as `OPTIM` does
        not allow thresholds that rise.

        Parameters
        ----------
        threshold : int
            From 1 to the number of levels.
        exclude : iterable of int, optional
            Numbers or names of arms that must not be returned: see
            `keyhole.stochastic.Learner.ask`.
        """
        level = check_integer("threshold", threshold, self.vocabulary.threshold_range)
        arm = self._ask(level, exclude)
        # If a decision is pending, `_ask` returns it again, and its threshold may be another one.
        decided_level = self._context["threshold"].item()
        if level != decided_level:
            raise RuntimeError(
                f"tell must come first: the decision at threshold {decided_level} has no feedback "
                "yet"
            )
        return cast(int, self._arm_name(arm))

    def tell(self, value: int | None = None, *, censored: bool = False) -> None:
        """Tell the feedback of the last decision: the sample, or that the sample is censored.

        Parameters
        ----------
        value : int, optional
            The sample, from 0 to the number of levels. With censored feedback it must be below the
            threshold.
        censored : bool, default False
            Whether the sample reached the threshold and is censored. If so, `value` is left out.
        """
        if not self._has_pending_decision:
            self._raise_error_of_code(NOT_ASKED)
        # Nothing may be written before `_run_step`, which refuses calls from other threads.
        context = {"threshold": self._context["threshold"].item()}
        feedback = self.vocabulary.parse_feedback(context, {}, value, censored=censored)
        self._run_step(TELL_WITH_NUMBER, feedback["value"])

    def replay(self, thresholds: ArrayLike, arms: ArrayLike, values: ArrayLike) -> int:
        """Replay a log, as `ask` and `tell` would in every round, but much faster.

        The policy learns from the arm in the log, whatever arm it asks for. A policy that learns
        only from its own decisions refuses a log with other decisions (see `Policy.off_policy`).
        If a row is refused, the learner stays as it was.

        Parameters
        ----------
        thresholds, arms, values : sequence of int, of the same length
            Threshold, arm and sample of each round. If arms have names, `arms` are names. With
            censored feedback a sample that reached the threshold is given as the threshold.

        Returns
        -------
        int
            The number of rounds in which the policy asked for the arm in the log.
        """
        levels = int_column("thresholds", thresholds, self.vocabulary.threshold_range)
        pulled_arms = self._parse_arm_column("arms", arms, levels)
        samples = int_column("values", values, self.vocabulary.sample_range, levels)
        if self.facts["censored"] and (is_above := samples > levels).any():
            row = int(is_above.argmax())
            raise ValueError(
                f"values[{row}] must be at most the threshold {levels[row]}, which stands for all "
                f"samples that reach it, got {samples[row]}"
            )
        return self._replay(threshold=levels, arm=pulled_arms, value=samples)

    def _check_restored(self) -> None:
        threshold = self._context["threshold"].item()
        lowest_threshold = 1 if self.rounds else 0  # 0 before the first round
        check_integer("threshold", threshold, Range(ge=lowest_threshold, le=self.facts["levels"]))

    def recommend(self) -> IntArray:
        """Return the recommended arm for each level, level c at position c - 1.

        If arms have names, the result is a dict from levels to names.
        """
        if self._names is not None:
            return cast(IntArray, self._recommend_in_words())
        return self._recommend()["best"]

    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Return the estimated survival functions, and the sample size of each estimate.

        Both have shape (arms, levels), level j at position j - 1. A survival function holds the
        chances that a sample of the arm reaches the levels. Where there are no samples, the
        estimate is 0.
        """
        report = self._recommend()
        return report["survival"], report["support"]
