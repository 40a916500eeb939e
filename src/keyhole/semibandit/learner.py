"""Learner (a policy at work in memory) that divides a resource, and is told the losses.

A user asks it in each round how much every arm (a place where a loss may occur) shall get, and
tells it where losses occurred. An arm with enough has none, how much is enough being unknown.
"""

import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.learner_step import RECOMMEND
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.replay_column_checks import float_column
from keyhole.validate import Range, check_integer, check_vector

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

    def ask(self) -> FloatArray:
        """Return the allocation: in [0, 1] for each arm, with a sum of at most the resource.

        It is the same if asked again before `tell`.
        """
        self._ask()
        given: FloatArray = self._decision["allocation"].copy()
        return given

    def tell(self, losses: ArrayLike, *, round: int | None = None) -> None:
        """Tell the losses that were observed under the last allocation.

        Parameters
        ----------
        losses : sequence of 0 or 1, or of bool, shape (arms,)
            Whether a loss was observed at each arm. An arm with a sufficient allocation has none;
            since thresholds are unknown, a loss is accepted for every arm.
        round : int, optional
            Round of the losses, from 1, as a check: it must be that of the last `ask`.
        """
        seen = zeros_and_ones("losses", losses, self.facts["arms"])
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
            Allocation of each round.
        losses : sequence of sequences of 0 or 1, shape (rounds, arms)
            Observed losses of each round.

        Returns
        -------
        int
            Number of rounds.
        """
        arms = self.facts["arms"]
        given = float_column("allocations", allocations, _UNIT, wide=arms)
        seen = float_column("losses", losses, _UNIT, given, arms)
        if (between := (seen > 0) & (seen < 1)).any():
            row, arm = np.argwhere(between)[0].tolist()
            raise ValueError(f"losses[{row}, {arm}] must be 0 or 1, got {seen[row, arm]:g}")
        before = self._count_violations()
        rounds = self._replay(allocation=given, losses=seen)
        self._warn_of_violation(before)
        return rounds

    def recommend(self) -> FloatArray:
        """Return the estimated threshold of each arm, at the policy's confidence level."""
        return self._recommend()["estimates"]

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


def zeros_and_ones(name: str, values: Any, entries: int) -> FloatArray:
    """Return zeros and ones as a vector; refuse anything else."""
    if type(values) is list and len(values) == entries and all(map(_is_bit, values)):
        return np.array(values, np.float64)  # the common case first: `tell` runs in every round
    if isinstance(values, np.ndarray) and values.dtype == np.bool_:
        values = values.astype(np.float64)
    elif isinstance(values, list | tuple):
        values = [float(v) if isinstance(v, bool | np.bool_) else v for v in values]
    found = check_vector(name, values, _UNIT)
    if len(found) != entries:
        raise ValueError(f"{name} must have {entries} entries, one for each arm; got {len(found)}")
    between = np.flatnonzero((found > 0) & (found < 1))
    if len(between):
        at = int(between[0])
        raise ValueError(f"{name}[{at}] must be 0 or 1, got {found[at]:g}")
    return found


def _is_bit(value: Any) -> bool:
    return type(value) in (int, float, bool) and value in (0, 1)
