"""Learner that divides a resource, and is told the losses; and the words of its studies."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.arm_names import ArmNames, order_by_name
from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.learner_step import RECOMMEND
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.log_learning import float_column
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.validate import Range, check_integer, check_vector, short_repr

_UNIT: Final = Range(ge=0, le=1)


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``allocation``; ``tell(id, losses)`` what was observed.

    Losses are the names of the arms with a loss, or a mapping from all names to 0 or 1 (or bool).
    """

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return the allocation by name."""
        return {"allocation": dict(zip(self.arms, decision["allocation"], strict=True))}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return the allocation as an array's values."""
        return {}, {"allocation": [words["allocation"][arm] for arm in self.arms]}

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, losses: Mapping[str, Any] | Sequence[str]
    ) -> Values:
        """Return 0 or 1 for each arm."""
        return {"losses": self.parse_losses("losses", losses).tolist()}

    def parse_losses(self, name: str, losses: Any) -> FloatArray:
        """Return 0 or 1 for each arm, from names of the arms with a loss, or values by name.

        Where arms are numbers, losses are a vector. Errors call them `name`.
        """
        if isinstance(self.arms, range):
            return zeros_and_ones(name, losses, len(self.arms))
        if isinstance(losses, str) or not isinstance(losses, Mapping | list | tuple | set):
            raise TypeError(
                f"{name} must be names of arms, or 0 or 1 by name; got {short_repr(losses)}"
            )
        for arm in losses:
            self.arm_number(f"an arm of {name}", arm)
        if not isinstance(losses, Mapping):
            arms_with_loss = set(losses)
            losses = {arm: int(arm in arms_with_loss) for arm in self.arms}
        if missing := [arm for arm in self.arms if arm not in losses]:
            raise ValueError(f"{name} must have all arms, or be names only; {missing[0]!r} lacks")
        return zeros_and_ones(name, [losses[arm] for arm in self.arms], len(self.arms))

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the names of the arms with a loss; a vector where arms are numbers."""
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


def zeros_and_ones(name: str, values: Any, entries: int) -> FloatArray:
    """Return zeros and ones as a vector; refuse anything else."""
    if type(values) is list and len(values) == entries and all(map(_is_bit, values)):
        return np.array(values, np.float64)  # the common case first: `tell` runs in every round
    if isinstance(values, np.ndarray) and values.dtype == np.bool_:
        values = values.astype(np.float64)
    elif isinstance(values, list | tuple):
        values = [float(v) if isinstance(v, bool | np.bool_) else v for v in values]
    vector = check_vector(name, values, _UNIT, entries)
    between = np.flatnonzero((vector > 0) & (vector < 1))
    if len(between):
        index = int(between[0])
        raise ValueError(f"{name}[{index}] must be 0 or 1, got {vector[index]:g}")
    return vector


def _is_bit(value: object) -> bool:
    return type(value) in (int, float, bool) and value in (0, 1)


class Learner(CoreLearner):
    r"""Learner that allocates the resource, from losses that an allocation may censor.

    A policy makes it.

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

        If arms have names, it is a dict by name. It is the same if asked again before `tell`.
        """
        self._ask()
        return self._by_name(self._decision["allocation"].copy())

    def _by_name(self, values: FloatArray) -> FloatArray:
        """Return values of the arms as they are, or by name if arms have names."""
        if self._names is None:
            return values
        return cast(FloatArray, dict(zip(self._names, values.tolist(), strict=True)))

    def tell(self, losses: ArrayLike, *, round: int | None = None) -> None:
        """Tell the losses that were observed under the last allocation.

        Parameters
        ----------
        losses : sequence of 0 or 1, or of bool, shape (arms,)
            Whether a loss was observed at each arm. If arms have names: the names of those with a
            loss, or a mapping from all names to 0 or 1. An arm with a sufficient allocation has
            none; since thresholds are unknown, a loss is accepted for every arm.
        round : int, optional
            Round of the losses, from 1, as a check: it must be that of the last `ask`.
        """
        zeros_or_ones = self.vocabulary.parse_losses("losses", losses)
        self._expect_feedback()
        if round is not None and check_integer("round", round) != self.rounds:
            raise ValueError(f"round must be that of the last ask, {self.rounds}; got {round}")
        self._feedback["losses"][:] = zeros_or_ones
        before = self._count_violations()
        self._tell()
        self._warn_of_violation(before, f", in round {self.rounds},")

    def replay(self, allocations: ArrayLike, losses: ArrayLike) -> int:
        """Replay a log, with the same result as `ask` and `tell` in each round, but faster.

        Policies of this setting learn only from their own decisions: an allocation that differs in
        any digit is refused. If a row is refused, the learner does not change.

        Parameters
        ----------
        allocations : sequence of sequences of float, shape (rounds, arms)
            Allocation of each round. If arms have names, a round may have it by name.
        losses : sequence of sequences of 0 or 1, shape (rounds, arms)
            Observed losses of each round. If arms have names: of each round what `tell` takes, or
            an array of 0 or 1.

        Returns
        -------
        int
            Number of rounds.
        """
        arms = self.facts["arms"]
        if self._names is not None:
            allocations, losses = self._log_by_number(self._names, allocations, losses)
        amounts = float_column("allocations", allocations, _UNIT, width=arms)
        loss_rows = float_column("losses", losses, _UNIT, amounts, arms)
        if (between := (loss_rows > 0) & (loss_rows < 1)).any():
            row, arm = np.argwhere(between)[0].tolist()
            raise ValueError(f"losses[{row}, {arm}] must be 0 or 1, got {loss_rows[row, arm]:g}")
        before = self._count_violations()
        rounds = self._replay(allocation=amounts, losses=loss_rows)
        self._warn_of_violation(before)
        return rounds

    def _log_by_number(self, names: ArmNames, allocations: Any, losses: Any) -> tuple[Any, Any]:
        """Return the columns of a log, given by names of arms, in the order of the arms."""
        if isinstance(allocations, list | tuple):
            allocations = [
                order_by_name(f"allocations[{i}]", row, names) for i, row in enumerate(allocations)
            ]
        if isinstance(losses, list | tuple):
            losses = [
                row
                if isinstance(row, np.ndarray)
                else self.vocabulary.parse_losses(f"losses[{i}]", row)
                for i, row in enumerate(losses)
            ]
        return allocations, losses

    def recommend(self) -> FloatArray:
        """Return the estimated threshold of each arm, at the policy's confidence level.

        If arms have names, it is a dict by name.
        """
        return self._by_name(self._recommend()["estimates"])

    def _warn_of_violation(self, before: int, when: str = "") -> None:
        """Warn of the first loss that contradicts an estimate; `before` is the earlier number."""
        # Once: the first loss proves what later ones repeat.
        if before == 0 < self._count_violations():
            warnings.warn(
                f"{self.policy} was told of a loss{when} at an arm that had been given its "
                "estimated threshold: the estimate was too low",
                stacklevel=3,
            )

    def _count_violations(self) -> int:
        """Return the number of losses that contradict an estimate."""
        self._run_step(RECOMMEND)
        return cast(int, self._report["refuted"].item())

    def _fact_texts(self) -> list[str]:
        descriptions = dict(zip(self.facts, super()._fact_texts(), strict=True))
        if "thresholds" in descriptions:
            descriptions["thresholds"] = "thresholds known"
        return list(descriptions.values())
