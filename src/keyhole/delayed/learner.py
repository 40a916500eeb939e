"""A policy at work while feedback is late: ask for an arm, tell what has arrived."""

from collections.abc import Sequence
from typing import Any, Final

from keyhole.core.learner import Learner as CoreLearner
from keyhole.core.validate import Range, integer, number, unit

FEEDBACK: Final = ("anonymous", "named")
"""What is seen of what arrives, in the order of the fact `named`: its sum, or each reward."""


class Learner(CoreLearner):
    """Decides which arm to pull next, from what has arrived so far.

    Made by a policy. With anonymous feedback, tell the sum of the rewards that have arrived since
    the last pull; with named feedback, each of them with the arm that earned it.

    Examples
    --------
    >>> from keyhole.delayed import QPMD
    >>> learner = QPMD().learner(arms=2, horizon=100, feedback="named")
    >>> learner.ask()
    0
    >>> learner.tell([])
    >>> learner.ask()  # still waiting for the first reward of arm 0
    0
    >>> learner.tell([(0, 1.0), (0, 0.0)])
    >>> learner.ask()
    1
    """

    def ask(self) -> int:
        """Return the arm to pull next.

        Returns
        -------
        int
            From 0. Asking again before `tell` gives the same arm.

        Raises
        ------
        RuntimeError
            If the horizon has been reached.
        """
        self._enter()
        try:
            if self.rounds == self.facts["horizon"] and not self._pending:
                raise RuntimeError(f"the horizon of {self.rounds} rounds has been reached")
            self._ask()
            arm: int = self._decision["arm"].item()
            return arm
        finally:
            self._leave()

    def tell(self, arrived: float | Sequence[tuple[int, float]]) -> None:
        """Report what has arrived by the end of the round of the last pull.

        Parameters
        ----------
        arrived : float or sequence of (int, float or bool)
            Anonymous feedback: the sum of the rewards. Named: pairs of an arm and a reward in
            [0, 1] (True is 1, False is 0), in any order, an empty list for none.

        Raises
        ------
        RuntimeError
            If no arm has been asked for since the last `tell`.
        TypeError, ValueError
            If what is told is not allowed, or more than the pulls so far can have earned. Nothing
            changes then; tell again.
        """
        self._enter()
        try:
            self._expect_feedback()
            if self.facts["named"]:
                self._write_pairs(arrived)
            else:
                total = number("arrived", arrived, Range(ge=0, le=self._most()))
                self._feedback["total"][()] = total
                self._feedback["count"][()] = 0
            self._tell()
        finally:
            self._leave()

    def _most(self) -> int:
        """Return how many rewards can arrive in this round: those of the pulls in flight."""
        bound = getattr(self.policy, "bound", None)
        return self.rounds if bound is None else min(self.rounds, int(bound) + 1)

    def _write_pairs(self, arrived: Any) -> None:
        if isinstance(arrived, (str, int, float)) or not hasattr(arrived, "__len__"):
            raise TypeError(f"arrived must be a list of (arm, reward) pairs, got {arrived!r}")
        if len(arrived) > self._most():
            raise ValueError(
                f"arrived must have at most {self._most()} entries, one for each pull in flight; "
                f"got {len(arrived)}"
            )
        pairs = [self._pair(f"arrived[{i}]", pair) for i, pair in enumerate(arrived)]
        for i, (arm, reward) in enumerate(pairs):
            self._feedback["sources"][i] = arm
            self._feedback["rewards"][i] = reward
        self._feedback["count"][()] = len(pairs)
        self._feedback["total"][()] = sum(reward for _, reward in pairs)

    def _pair(self, name: str, pair: Any) -> tuple[int, float]:
        try:
            arm, reward = pair
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a pair (arm, reward), got {pair!r}") from None
        return (
            integer(f"{name}[0]", arm, Range(ge=0, le=self.facts["arms"] - 1)),
            unit(f"{name}[1]", reward),
        )

    def _check_restored(self) -> None:
        if self.rounds > self.facts["horizon"]:
            raise ValueError(f"rounds must be at most the horizon, got {self.rounds}")

    def _known(self) -> list[str]:
        known = dict(zip(self.facts, super()._known(), strict=True))
        return list((known | {"named": f"{FEEDBACK[self.facts['named']]} feedback"}).values())

    def _learnt(self) -> list[str]:
        arms = range(self.facts["arms"])
        if "phase" in self.state and "length" in self.state:
            return [self._phase(), *(f"arm {arm}: {self._phased(arm)}" for arm in arms)]
        if "totals" in self.state and "pulls" in self.state:
            return [f"arm {arm}: {self._used(arm)}" for arm in arms]
        return super()._learnt()

    def _phase(self) -> str:
        phase, length = int(self.state["phase"][0]), int(self.state["length"][0])
        if caution := self.policy.caution(self.facts, None):
            return caution
        bridge = ", in the bridge after it" if self.state["bridging"][0] else ""
        return f"phase {phase}{bridge}: tolerance {0.5**phase:g}, {length} pulls an arm by its end"

    def _phased(self, arm: int) -> str:
        given_up, total = int(self.state["eliminated"][arm]), self.state["totals"][arm]
        left = f"given up in round {given_up}" if given_up else "left"
        return f"{left}, credited with {total:g}"

    def _used(self, arm: int) -> str:
        # What a base has been fed, or what has arrived: never the pulls that are still waited for.
        counted = self.state.get("arrived", self.state["pulls"])
        n, total = int(counted[arm]), self.state["totals"][arm]
        mean = f", mean {total / n:.3g}" if n else ""
        return f"{n} reward{'' if n == 1 else 's'} used{mean}"
