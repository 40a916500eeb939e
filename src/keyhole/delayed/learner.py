"""A policy at work while feedback is late: ask for an arm, tell what has arrived."""

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract.policy import Policy
from keyhole.drivers.policy_step import PLAN
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.log_columns import float_column, int_column
from keyhole.validate import Range, check_integer, check_number

# By how much, relatively, sums of sums may round up.
_ROUNDING: Final = 1e-9
# What a learner with more memory has otherwise.
_MEMORY: Final = (
    "facts", "state", "_words", "_head", "_rng", "_context", "_decision", "_feedback", "_report",
    "_ledger",
)  # fmt: skip


class Learner(CoreLearner):
    """Decides which arm to pull next, from what has arrived so far.

    Made by a policy. With anonymous feedback, tell the sum of the rewards that have arrived since
    the last pull; with named feedback, each of them with the arm that earned it. No more is
    believed than the pulls so far can have earned: one reward in [0, 1] each, of its own arm.

    Examples
    --------
    >>> from keyhole.delayed import QPMD
    >>> learner = QPMD().learner(arms=2, feedback="named")
    >>> learner.ask()
    0
    >>> learner.tell([])
    >>> learner.ask()  # still waiting for the first reward of arm 0
    0
    >>> learner.tell([(0, 1.0), (0, 0.0)])
    >>> learner.ask()
    1
    """

    _ledger: dict[str, NDArray[Any]]
    """Of each arm the pulls, and the rewards told of it; and the sum of all that was told."""

    def _prepare(self, policy: Policy, told: dict[str, Any]) -> None:
        super()._prepare(policy, told)
        if self.scale.low and not told["named"]:
            raise ValueError(
                "scale must begin at 0 where feedback is anonymous, since a sum does not say of "
                f"how many rewards it is; got {tuple(self.scale)}"
            )
        arms = told["arms"]
        self._ledger = {
            "pulls": np.zeros(arms, np.int64),
            "told": np.zeros(arms, np.int64),
            "sum": np.zeros(1),
        }

    def _kept(self) -> dict[str, dict[str, NDArray[Any]]]:
        return super()._kept() | {"ledger": self._ledger}

    def ask(self) -> int:
        """Return the arm to pull next, from 0; the same one if asked again before `tell`.

        Raises a RuntimeError when the horizon has been reached, if the policy needs one.
        """
        if self.rounds == self.facts.get("horizon") and not self._pending:
            raise RuntimeError(f"the horizon of {self.rounds} rounds has been reached")
        return self._ask()

    def tell(self, arrived: float | Sequence[tuple[int, float]], *, rounds: int = 1) -> None:
        """Report what has arrived by the end of the round of the last pull.

        What is only known for several rounds together, such as a day, is told at the end of the
        last of them, and nothing (0, or an empty list) for those before. So long it has been
        waiting, and this wait is part of the delay: with n rounds together the longest delay is n -
        1 rounds longer, the expected one about half of that; policies want to be told so. More than
        the pulls so far can have earned is refused, and nothing changes then.

        Parameters
        ----------
        arrived : float or sequence of (int, float or bool)
            Anonymous feedback: the sum of the rewards. Named: pairs of an arm and a reward in
            [0, 1] (True is 1, False is 0), in any order, an empty list for none. With a `scale`,
            rewards are numbers in its units.
        rounds : int, default 1
            For how many rounds the arm was pulled since it was asked for: as if nothing had arrived
            in all but the last. Refused where the policy asks for another arm meanwhile.

        Warns
        -----
        UserWarning
            If more has arrived than the policy's own bound of the delay allows.
        """
        self._expect_feedback()
        if rounds == 1 and type(rounds) is int:
            self._tell_of(arrived)
            return
        before = copy(self)
        try:
            self._wait(check_integer("rounds", rounds, Range(ge=1)))
            self._tell_of(arrived)
        except BaseException:
            vars(self).update(vars(before))
            raise

    def _wait(self, rounds: int) -> None:
        """Play the arm last asked for, until so many rounds have begun with this one."""
        arm = self._decision["arm"].item()
        nothing: Any = [] if self.facts["named"] else 0.0
        for gone in range(1, rounds):
            self._tell_of(nothing)
            over = self.rounds == self.facts.get("horizon")
            if over or self._ask() != arm:
                why = "the horizon is reached" if over else f"{self.policy} asks for another arm"
                raise ValueError(f"rounds must be at most {gone}, when {why}; got {rounds}")

    def _tell_of(self, arrived: Any) -> None:
        if self.facts["named"]:
            self._write_pairs(arrived)
        else:
            self._write_sum(arrived)
        self._tell()

    def replay(
        self, arms: ArrayLike, arrived: ArrayLike | Sequence[Sequence[tuple[int, float]]]
    ) -> int:
        """Go through a log, as asking and telling round by round; sums go much faster.

        A policy that learns of its own decisions alone refuses any other (see
        `Policy.off_policy`). A log with a row that is refused changes nothing.

        Parameters
        ----------
        arms : sequence of int
            Which arm was pulled in each round.
        arrived : sequence of the same length
            What `tell` is told in each round.

        Returns
        -------
        int
            How many rounds there were.
        """
        self._expect_no_decision()
        pulled = int_column("arms", arms, Range(ge=0, lt=self.facts["arms"]))
        if (left := self.facts.get("horizon", math.inf) - self.rounds) < len(pulled):
            raise ValueError(f"arms must have at most {left} entries, the rounds left")
        if self.facts["named"]:
            return self._replay_pairs(pulled.tolist(), cast(Any, arrived))
        sums = float_column("arrived", arrived, Range(ge=0), pulled) / self.scale.span
        before = self._ledger["sum"].item()
        # As one after the other would be added, to the bit.
        total = np.add.accumulate(np.concatenate([[before], sums]))
        most = (self.rounds + np.arange(1, len(sums) + 1)) * (1.0 + _ROUNDING)
        if (above := total[1:] > most).any():
            at, span = int(above.argmax()), self.scale.span
            raise ValueError(
                f"arrived[{at}] must be at most {span * (most[at] - total[at]):g}, which is what "
                f"the pulls so far can have earned, got {span * sums[at]:g}"
            )
        with self._alone():
            rounds = self._replay(arm=pulled, total=sums, count=np.zeros(len(sums), np.int64))
            self._ledger["pulls"] += np.bincount(pulled, minlength=self.facts["arms"])
            self._ledger["sum"][0] = total[-1]
        self._compare_with_bound(sums.max(initial=0.0), told_by=3)
        return rounds

    def _replay_pairs(self, arms: list[int], arrived: Sequence[Any]) -> int:
        if len(arrived) != len(arms):
            raise ValueError(
                f"arrived must have {len(arms)} entries, one a round; got {len(arrived)}"
            )
        before = copy(self)
        try:
            for row, (arm, pairs) in enumerate(zip(arms, arrived, strict=True)):
                if (taken := self.ask()) != arm:
                    raise ValueError(
                        f"row {row} of the log must be what {self.policy} decides there (arm "
                        f"{taken}), got arm {arm}: it cannot learn from decisions of others"
                    )
                self.tell(pairs)
        except BaseException:
            vars(self).update(vars(before))
            raise
        return len(arms)

    def _write_sum(self, arrived: Any) -> None:
        most = self.rounds * (1.0 + _ROUNDING) - self._ledger["sum"].item()
        total = arrived
        if type(arrived) is not float or not 0.0 <= arrived <= most or self._scaled:
            span = self.scale.span
            if isinstance(arrived, bool | np.bool_) and not self._scaled:
                arrived = float(arrived)
            total = check_number("arrived", arrived, Range(ge=0, le=most * span)) / span
        self._feedback["total"][()] = total
        self._feedback["count"][()] = 0
        self._compare_with_bound(total)

    def _tell(self, feedback: float | None = None) -> None:
        """Have the policy learn, and enter the pull and what was told into the ledger."""
        super()._tell()
        self._ledger["pulls"][self._decision["arm"].item()] += 1
        self._ledger["sum"][0] += self._feedback["total"].item()
        if count := self._feedback["count"].item():
            told = self._ledger["told"]
            for arm in self._feedback["sources"][:count].tolist():
                told[arm] += 1

    def _compare_with_bound(self, rewards: float, *, told_by: int = 5) -> None:
        longest = cast(Any, self.policy).longest_delay()
        if rewards > longest + 1:
            warnings.warn(
                f"more has arrived in one round than delays of at most {longest} rounds allow, as "
                f"{self.policy} was told: the wait until it is told is delay, too",
                stacklevel=told_by,
            )

    def _write_pairs(self, arrived: Any) -> None:
        if type(arrived) is list and not arrived:  # the common case first
            self._feedback["total"][()] = self._feedback["count"][()] = 0
            return
        if isinstance(arrived, (str, int, float)) or not hasattr(arrived, "__len__"):
            raise TypeError(f"arrived must be a list of (arm, reward) pairs, got {arrived!r}")
        pairs = [self._pair(f"arrived[{i}]", pair) for i, pair in enumerate(arrived)]
        for arm, count in Counter(arm for arm, _ in pairs).items():
            due = self._due(arm)
            if count > due:
                raise ValueError(
                    f"arrived must have at most {due} rewards of arm {arm}, one for each of its "
                    f"pulls that none has been told of; got {count}"
                )
        self._reserve(len(pairs))
        for i, (arm, reward) in enumerate(pairs):
            self._feedback["sources"][i] = arm
            self._feedback["rewards"][i] = reward
        self._feedback["count"][()] = len(pairs)
        self._feedback["total"][()] = sum(reward for _, reward in pairs)
        self._compare_with_bound(len(pairs))

    def _due(self, arm: int) -> int:
        """Return how many pulls of an arm, the last one included, have brought no reward yet."""
        last = int(self._decision["arm"].item() == arm)
        return int(self._ledger["pulls"][arm] - self._ledger["told"][arm]) + last

    def _reserve(self, rewards: int) -> None:
        """Double the memory until it holds so many rewards more than the policy does."""
        policy = cast(Any, self.policy)
        memory: int = self.facts["memory"]
        needed = policy.buffered_rounds(self.state, int(self._ledger["told"].sum())) + rewards
        if needed <= memory:
            return
        while memory < needed:
            memory *= 2
        larger = type(self).__new__(type(self))
        larger._loaded, larger.scale = self._loaded, self.scale
        larger._prepare(policy, self.facts | {"memory": memory})
        larger._words[:PLAN] = self._words[:PLAN]
        roomy = larger._kept()
        for group, views in self._kept().items():
            for name, view in views.items():
                roomy[group][name][tuple(map(slice, view.shape))] = view
        vars(self).update({name: vars(larger)[name] for name in _MEMORY})

    def _pair(self, name: str, pair: Any) -> tuple[int, float]:
        try:
            arm, reward = pair
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a pair (arm, reward), got {pair!r}") from None
        return (
            check_integer(f"{name}[0]", arm, Range(ge=0, le=self.facts["arms"] - 1)),
            self._check_reward(f"{name}[1]", reward),
        )

    def _check_restored(self) -> None:
        horizon = self.facts.get("horizon")
        if horizon is not None and self.rounds > horizon:
            raise ValueError(f"rounds must be at most the horizon, got {self.rounds}")
        pulls, told = self._ledger["pulls"], self._ledger["told"]
        if pulls.sum() != self.rounds_told or (told < 0).any() or (told > pulls).any():
            raise ValueError("its ledger must have a pull a round, and no more rewards than pulls")
        rewards, policy = int(told.sum()), cast(Any, self.policy)
        if not 0 <= policy.buffered_rounds(self.state, rewards) <= rewards:
            raise ValueError(f"it must hold no more than the {rewards} rewards that it was told")
