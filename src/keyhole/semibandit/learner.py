"""Learner (a policy at work in memory) that divides a resource, and is told the losses.

A user asks it in each round how much every arm (a place where a loss may occur) shall get, and
tells it where losses occurred. An arm with enough has none, how much is enough being unknown.
"""

import warnings
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.arm_names import ArmNames, order_by_name
from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.learner_step import RECOMMEND
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.log_replay import float_column
from keyhole.validate import Range, check_integer

_UNIT: Final = Range(ge=0, le=1)


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
        seen = self.vocabulary.parse_losses("losses", losses)
        self._expect_feedback()
        if round is not None and check_integer("round", round) != self.rounds:
            raise ValueError(f"round must be that of the last ask, {self.rounds}; got {round}")
        self._feedback["losses"][:] = seen
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
        given = float_column("allocations", allocations, _UNIT, wide=arms)
        seen = float_column("losses", losses, _UNIT, given, arms)
        if (between := (seen > 0) & (seen < 1)).any():
            row, arm = np.argwhere(between)[0].tolist()
            raise ValueError(f"losses[{row}, {arm}] must be 0 or 1, got {seen[row, arm]:g}")
        before = self._count_violations()
        rounds = self._replay(allocation=given, losses=seen)
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
        self._do(RECOMMEND)
        refuted: int = self._report["refuted"].item()
        return refuted

    def _known(self) -> list[str]:
        known = dict(zip(self.facts, super()._known(), strict=True))
        if "thresholds" in known:
            known["thresholds"] = "thresholds known"
        return list(known.values())
