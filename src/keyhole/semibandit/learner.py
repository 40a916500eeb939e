"""Learner that divides a resource and is told the losses; the vocabulary of its studies."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.learner_step import RECOMMEND
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.validation import Range, check_vector, short_repr

_UNIT: Final = Range(ge=0, le=1)


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask()`` returns an ``allocation``, and ``tell`` takes the losses.

    Losses are the names of the arms with a loss, or a mapping from all names to 0 or 1 (or bool).
    If arms are numbers, losses are a vector.
    """

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return the allocation by name."""
        return {"allocation": dict(zip(self.arms, decision["allocation"], strict=True))}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return no context, and the allocation as a list in the order of the arms."""
        return {}, {"allocation": [words["allocation"][arm] for arm in self.arms]}

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, losses: Mapping[str, Any] | Sequence[str]
    ) -> Values:
        """Return 0 or 1 for each arm."""
        return {"losses": self.parse_losses(losses).tolist()}

    def parse_losses(self, losses: Any) -> FloatArray:
        """Return 0 or 1 for each arm."""
        if isinstance(self.arms, range):
            return check_binary_vector("losses", losses, len(self.arms))
        if isinstance(losses, str) or not isinstance(losses, Mapping | list | tuple | set):
            raise TypeError(
                f"losses must be names of arms, or 0 or 1 by name; got {short_repr(losses)}"
            )
        for arm in losses:
            self.arm_number("an arm of losses", arm)  # raises an error for an unknown arm
        if not isinstance(losses, Mapping):
            arms_with_loss = set(losses)
            losses = {arm: int(arm in arms_with_loss) for arm in self.arms}
        if missing := [arm for arm in self.arms if arm not in losses]:
            raise ValueError(f"losses by name must have all arms; {missing[0]!r} is missing")
        return check_binary_vector("losses", [losses[arm] for arm in self.arms], len(self.arms))

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the names of the arms with a loss; if arms are numbers, a vector."""
        if isinstance(self.arms, range):
            return {"losses": feedback["losses"]}
        losses_by_arm = zip(self.arms, feedback["losses"], strict=True)
        return {"losses": [arm for arm, loss in losses_by_arm if loss]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return feedback without a loss."""
        return {"losses": [0] * len(self.arms) if isinstance(self.arms, range) else []}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, float]:
        """Return the estimated threshold of each arm, by name."""
        return dict(zip(self.arms, report["estimates"].tolist(), strict=True))


def check_binary_vector(name: str, values: Any, entries: int) -> FloatArray:
    """Return a vector of zeros and ones; refuse anything else."""
    if type(values) is list and len(values) == entries and all(map(_is_zero_or_one, values)):
        return np.array(values, np.float64)  # the common case first: `tell` runs in every round
    if isinstance(values, np.ndarray) and values.dtype == np.bool_:
        values = values.astype(np.float64)
    elif isinstance(values, list | tuple):
        values = [float(v) if isinstance(v, bool | np.bool_) else v for v in values]
    vector = check_vector(name, values, _UNIT, entries)
    fractions = np.flatnonzero((vector > 0) & (vector < 1))
    if len(fractions):
        index = int(fractions[0])
        raise ValueError(f"{name}[{index}] must be 0 or 1, got {vector[index]:g}")
    return vector


def _is_zero_or_one(value: object) -> bool:
    return type(value) in (int, float, bool) and value in (0, 1)


class Learner(CoreLearner):
    r"""Learner that allocates the resource, and learns from losses that an allocation may censor.

    `Policy.learner` makes it.

    Examples
    --------
    >>> from keyhole.semibandit import CSBDT
    >>> learner = CSBDT(gamma=0.01).learner(arms=3, resource=1.5)
    >>> learner.ask()
    array([0.5, 0.5, 0.5])
    >>> learner.tell([1, 0, 0])
    >>> print("\n".join(repr(learner).splitlines()[1:]))
      first phase, search of up to 1,019 rounds: 0 of 3 thresholds settled
      arm 0: threshold above 0.5, at most 1; trying 0.75, 0 of 51 rounds without a loss
      arm 1: threshold above 0, at most 1; trying 0.5, 1 of 51 rounds without a loss
      arm 2: threshold above 0, at most 1; trying 0.5, 1 of 51 rounds without a loss
    """

    names_arms = True

    def ask(self) -> FloatArray:
        """Return the allocation: in [0, 1] for each arm, with a sum of at most the resource.

        If arms have names, it is a dict by name. Until `tell`, the same allocation is returned.
        """
        self._ask()
        return self._name_values(self._decision["allocation"].copy())

    def _name_values(self, values: FloatArray) -> FloatArray:
        """Return values of the arms as they are, or by name if arms have names."""
        if self._names is None:
            return values
        return cast(FloatArray, dict(zip(self._names, values.tolist(), strict=True)))

    def tell(self, losses: ArrayLike) -> None:
        """Tell the losses that were observed under the last allocation.

        Parameters
        ----------
        losses : sequence of 0 or 1, or of bool, shape (arms,)
            Whether a loss was observed at each arm. If arms have names, `losses` are the names of
            the arms with a loss, or a mapping from all names to 0 or 1. An arm with a sufficient
            allocation has no loss; but since thresholds are unknown, a loss is accepted for every
            arm.
        """
        loss_vector = self.vocabulary.parse_losses(losses)
        self._require_pending_decision()
        self._feedback["losses"][:] = loss_vector
        had_refuting_losses = self._count_refuting_losses() > 0
        self._tell()
        # Warn once: later losses of this kind prove no more than the first.
        if not had_refuting_losses and self._count_refuting_losses() > 0:
            warnings.warn(
                f"{self.policy} was told of a loss, in round {self.rounds}, at an arm that had "
                "been given its estimated threshold: the estimate was too low",
                stacklevel=2,
            )

    def recommend(self) -> FloatArray:
        """Return the estimated threshold of each arm, at the policy's confidence level.

        If arms have names, the result is a dict by name.
        """
        return self._name_values(self._recommend()["estimates"])

    def _count_refuting_losses(self) -> int:
        self._run_step(RECOMMEND)
        return cast(int, self._report["refuted"].item())
