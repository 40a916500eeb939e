"""Learner that labels arms as above or below a threshold, and the vocabulary of its studies."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.play.setting_learner import ArmLearner
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary

_SHOWN_NAMES: Final = 20  # a page shows at most this number of names of a recommendation


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask()`` returns an ``arm``, ``tell(id, reward)`` takes a reward."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, bool]:
        """Return for each arm's name whether its mean is estimated to be at least the threshold."""
        labels = report["labels"].tolist()
        return {self.arms[arm]: label > 0.5 for arm, label in zip(live, labels, strict=True)}

    def describe_recommendation(self, recommendation: Mapping[str, bool]) -> str:
        """Return the names of the arms that are above the threshold; of many, only the first."""
        names = [name for name, is_above in recommendation.items() if is_above]
        hidden_count = len(names) - _SHOWN_NAMES
        more_text = f" and {hidden_count:,} more" if hidden_count > 0 else ""
        return f"above: {', '.join(names[:_SHOWN_NAMES]) or 'none'}{more_text}"


class Learner(ArmLearner):
    """Learner that returns the arm to pull next, and labels the arms.

    The method `learner` of a policy makes it: ``LSA().learner(arms=10, threshold=0.5)``. Intervals
    in its text are valid at all times at once (`keyhole.confidence_sequences`).

    Examples
    --------
    >>> from keyhole.thresholding import APT
    >>> learner = APT(epsilon=0.05).learner(arms=2, threshold=0.5)
    >>> learner.ask()
    0
    >>> learner.tell(1)
    >>> learner
    APT(epsilon=0.05) after 1 round, 2 arms, threshold 0.5
      arm 0: above, 1 pull, mean 1.00 [0.02, 1.00] at any time
      arm 1: never pulled, taken to be above
    """

    def recommend(self) -> NDArray[np.bool_]:
        """Return for each arm whether its mean is estimated to be at least the threshold.

        If arms have names, the result is a dict with the names as keys.
        """
        if self._names is not None:
            return cast(NDArray[np.bool_], self._recommend_in_words())
        return self._recommend()["labels"] > 0.5
