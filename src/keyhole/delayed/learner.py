"""Learner of rewards that arrive late; the vocabulary and the rounds of its studies."""

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.drivers.learner_step import PLAN
from keyhole.kernels.fingerprint import Kernel
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.study_vocabulary import Values, Words
from keyhole.policy import Field, Policy, RoundFeedback, StudyRound
from keyhole.policy import StudyVocabulary as CoreVocabulary
from keyhole.validation import Range, check_integer, check_number

_REWARD_FIELDS: Final = MappingProxyType({"reward": Field("float64")})
_SUM_FIELDS: Final = MappingProxyType({"total": Field("float64"), "rounds": Field("float64")})
# A sum of all sums may exceed the number of pulls by this share of it, since sums are rounded.
ROUNDING: Final = 1e-9


class Round(StudyRound):
    """The round of the last decision, which collects feedback until the next decision."""

    def __init__(self, vocabulary: CoreVocabulary, policy: Policy) -> None:
        super().__init__(vocabulary, policy)
        self._arm = -1  # the arm of the round, or -1 outside of a round
        self._pairs: list[tuple[int, float]] = []
        self._round_sum = 0.0  # the sum of the rewards that arrived in this round
        self._sum_of_all = 0.0  # the sum of the rewards that arrived in all rounds

    def begin(self, context: Values, decision: Values) -> None:
        """Begin the round of a decision."""
        self._arm = decision["arm"]

    def add_feedback(self, context: Values, decision: Values, feedback: Values) -> None:
        """Add a reward whose arm is known."""
        self._pairs.append((decision["arm"], feedback["reward"]))
        self._add_to_sums(feedback["reward"])

    def check_sum(self, values: Values, rounds: int) -> None:
        """Refuse a negative sum, and a sum that makes all sums together exceed `rounds`."""
        largest = max(0.0, rounds - self._sum_of_all)
        span = self.vocabulary.scale.span
        # If no reward can still come, there is no slack: only 0 is accepted.
        slack = ROUNDING * rounds if largest > 0.0 else 0.0
        check_number("total", values["total"] * span, Range(ge=0, le=(largest + slack) * span))

    def add_sum(self, values: Values) -> None:
        """Add a sum of rewards."""
        self._add_to_sums(values["total"])

    def _add_to_sums(self, value: float) -> None:
        self._round_sum = math.fsum((self._round_sum, value))
        self._sum_of_all = math.fsum((self._sum_of_all, value))

    def end(
        self, facts: Mapping[str, Any], state: Mapping[str, Any], feedback_count: int
    ) -> RoundFeedback | None:
        """End the round; return its feedback and enough memory, or None if there is no round."""
        if self._arm < 0:
            return None
        pairs = self._pairs if facts["named"] else []
        # The policy has not learnt the feedback of this round yet.
        buffered = cast(Any, self.policy).buffered_rewards(state, feedback_count - len(self._pairs))
        memory: int = facts["memory"]
        while memory < buffered + len(pairs):
            memory *= 2
        decision = {"arm": self._arm}
        feedback = {
            "total": self._round_sum,
            "count": len(pairs),
            "sources": [arm for arm, _ in pairs],
            "rewards": [reward for _, reward in pairs],
        }
        self._arm = -1
        self._pairs = []
        self._round_sum = 0.0
        return RoundFeedback({}, decision, feedback, {"memory": memory})

    def longest_arrays(self, feedback_count: int) -> dict[str, int]:
        """Return an upper bound on the memory, which is doubled until all feedback fits."""
        return {"memory": 2 * (self.vocabulary.facts["memory"] + feedback_count)}

    def to_json(self) -> list[Any]:
        """Return the arm, the rewards and the sum of the round, and the sum of all rounds."""
        return [self._arm, self._pairs, self._round_sum, self._sum_of_all]

    def restore(self, content: Any) -> None:
        """Restore the round from the result of `to_json`."""
        self._arm, pairs, self._round_sum, self._sum_of_all = content
        self._pairs = [(int(arm), float(reward)) for arm, reward in pairs]


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask()`` returns an ``arm``, and ends the round of the last ``ask``.

    Named feedback is told by ``tell(id, reward)``, anonymous feedback by ``tell_sum(total)``. The
    policy learns what arrived in a round when the round ends.
    """

    round_class = Round

    def check_study(self) -> None:
        """Check that the scale begins at 0 if feedback is anonymous.

        A sum does not say how many rewards it has, so the smallest reward of a scale cannot be
        subtracted for each reward.
        """
        if self.scale.low and not self.facts["named"]:
            raise ValueError(
                "scale must begin at 0 where feedback is anonymous, since a sum does not say how "
                f"many rewards it has; got {tuple(self.scale)}"
            )

    @property
    def feedback_fields(self) -> Mapping[str, Field]:
        """The fields of the feedback of a decision: a reward."""
        return _REWARD_FIELDS

    @property
    def has_feedback(self) -> bool:
        """Whether feedback is named; only then `tell` is allowed."""
        return bool(self.facts["named"])

    def parse_feedback(self, context: Values, decision: Values, reward: float) -> Values:
        """Return the reward."""
        if not self.has_feedback:
            raise TypeError("tell is for named feedback; anonymous feedback is told by tell_sum")
        return super().parse_feedback(context, decision, reward)

    @property
    def sum_fields(self) -> Mapping[str, Field]:
        """The fields of `tell_sum`, a sum of rewards and its number of rounds, or none."""
        return {} if self.has_feedback else _SUM_FIELDS

    def parse_sum(self, total: float, *, rounds: int = 1) -> Values:
        """Return the sum that has arrived, divided by the span of the scale, and its rounds."""
        unit_sum = check_number("total", total, Range(ge=0)) / self.scale.span
        return {"total": unit_sum, "rounds": float(check_integer("rounds", rounds, Range(ge=1)))}

    def format_sum(self, values: Values) -> Words:
        """Return the sum, in the units of the scale, and its number of rounds."""
        return {"total": values["total"] * self.scale.span, "rounds": int(values["rounds"])}


class Learner(CoreLearner):
    """Learner that returns the arm to pull next, from the rewards that have arrived so far.

    The method `learner` of a policy makes it. With anonymous feedback, tell the sum of the rewards
    that have arrived since the last pull; with named feedback, pairs of an arm and a reward. A pull
    earns one reward in [0, 1]. Feedback that exceeds what the pulls so far can have earned is
    refused.

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

    names_arms = True
    _ledger: dict[str, NDArray[Any]]
    """Pulls of each arm, the number of its told rewards, and the sum of all told rewards."""

    def _allocate(self, policy: Policy, facts: dict[str, Any], step: Kernel | None = None) -> None:
        super()._allocate(policy, facts, step)
        self.vocabulary.check_study()
        arms = facts["arms"]
        self._ledger = {
            "pulls": np.zeros(arms, np.int64),
            "told": np.zeros(arms, np.int64),
            "sum": np.zeros(1),
        }

    def _views_to_save(self) -> dict[str, dict[str, NDArray[Any]]]:
        return super()._views_to_save() | {"ledger": self._ledger}

    def ask(self) -> int:
        """Return the number of the arm to pull next, from 0, or the arm's name if arms have names.

        Until `tell` is called, the same arm is returned again. If the policy needs the horizon, and
        this number of rounds has been played, a RuntimeError is raised.
        """
        if self.rounds == self.facts.get("horizon") and not self._has_pending_decision:
            raise RuntimeError(f"the horizon of {self.rounds} rounds has been reached")
        return cast(int, self._arm_name(self._ask()))

    def tell(self, arrived: float | Sequence[tuple[int, float]], *, rounds: int = 1) -> None:
        """Tell the rewards that have arrived by the end of the round of the last pull.

        If rewards become known for n rounds together, such as those of a day, tell them in the last
        of these rounds, and 0 or an empty list in the others. This wait is part of the delay. So
        add n - 1 rounds to the longest delay that is given to the policy, and (n - 1) / 2 rounds to
        the expected delay. Feedback that exceeds what the pulls so far can have earned is refused,
        and the learner stays as it was.

        Parameters
        ----------
        arrived : float or sequence of (int, float or bool)
            Anonymous feedback is the sum of the rewards. Named feedback is a list of pairs of an
            arm and a reward in [0, 1] (True is 1, False is 0), in any order; it is empty if nothing
            arrived. With a `scale`, rewards are numbers in its units. If arms have names, the pairs
            have the names.
        rounds : int, default 1
            The number of rounds in which the arm was pulled since `ask`. All that arrived must have
            arrived in the last of these rounds. The number is refused if the policy would ask for
            another arm before the last round.

        Warns
        -----
        UserWarning
            If more has arrived than the policy's bound on the delay allows.
        """
        self._require_pending_decision()
        if rounds == 1 and type(rounds) is int:
            self._tell_round(arrived)
            return
        backup = copy(self)
        try:
            self._pass_rounds_without_feedback(check_integer("rounds", rounds, Range(ge=1)))
            self._tell_round(arrived)
        except BaseException:
            # `_step` is not restored: once machine code exists, it replaces the `_step` of the
            # learner for which it was made, which is this one and not the copy.
            vars(self).update(vars(backup) | {"_step": self._step})
            raise

    def _pass_rounds_without_feedback(self, rounds: int) -> None:
        """Pass all rounds but the last without feedback; the policy must ask for the same arm."""
        arm = self.ask()
        most_rounds = self.facts.get("horizon", math.inf) - self.rounds + 1
        if rounds > most_rounds:
            raise ValueError(
                f"rounds must be at most {most_rounds}, with which the horizon is reached; "
                f"got {rounds}"
            )
        nothing: Any = [] if self.facts["named"] else 0.0
        for told_rounds in range(1, rounds):
            self._tell_round(nothing)
            if self.ask() != arm:
                raise ValueError(
                    f"rounds must be at most {told_rounds}, after which {self.policy} asks for "
                    f"another arm; got {rounds}"
                )

    def _tell_round(self, arrived: Any) -> None:
        if self.facts["named"]:
            self._write_pairs(arrived)
        else:
            self._write_sum(arrived)
        self._tell()

    def _write_sum(self, arrived: Any) -> None:
        largest_sum = self.rounds * (1.0 + ROUNDING) - self._ledger["sum"].item()
        total = arrived
        # A float within the range, the most frequent case, needs no further check.
        if type(arrived) is not float or not 0.0 <= arrived <= largest_sum or self._has_scale:
            span = self.scale.span
            if isinstance(arrived, bool | np.bool_) and not self._has_scale:
                arrived = float(arrived)
            total = check_number("arrived", arrived, Range(ge=0, le=largest_sum * span)) / span
        self._feedback["total"][()] = total
        self._feedback["count"][()] = 0
        self._warn_above_bound(total)

    def _tell(self, feedback: float | None = None) -> None:
        """Update the policy by the feedback in `_feedback`; add it and the pull to the ledger."""
        super()._tell()
        self._ledger["pulls"][self._decision["arm"].item()] += 1
        self._ledger["sum"][0] += self._feedback["total"].item()
        # Only named feedback has a count; sums do not say how many rewards they have.
        if count := self._feedback["count"].item():
            told = self._ledger["told"]
            for arm in self._feedback["sources"][:count].tolist():
                told[arm] += 1

    def _warn_above_bound(self, arrived: float) -> None:
        """Warn if so many rewards, or such a sum, cannot arrive in a round."""
        longest = cast(Any, self.policy).longest_delay()
        # At most longest + 1 rewards can arrive in a round: the reward of its own pull and those of
        # the `longest` pulls before it.
        if arrived > longest + 1:
            warnings.warn(
                f"more has arrived in one round than is possible with delays of at most {longest} "
                f"rounds, as {self.policy} assumes; delays include the wait until rewards are told",
                stacklevel=5,
            )

    def _write_pairs(self, arrived: Any) -> None:
        if type(arrived) is list and not arrived:  # the most frequent case
            self._feedback["total"][()] = self._feedback["count"][()] = 0
            return
        if isinstance(arrived, (str, int, float)) or not hasattr(arrived, "__len__"):
            raise TypeError(f"arrived must be a list of (arm, reward) pairs, got {arrived!r}")
        pairs = [self._parse_pair(f"arrived[{i}]", pair) for i, pair in enumerate(arrived)]
        for arm, count in Counter(arm for arm, _ in pairs).items():
            # The ledger does not count the pull of the present round yet.
            pulls = self._ledger["pulls"][arm] + (self._decision["arm"].item() == arm)
            rewards_due = pulls - self._ledger["told"][arm]
            if count > rewards_due:
                text = (
                    f"arrived must have at most {rewards_due} rewards of arm {arm}, one for each "
                    f"of its pulls without a reward so far; got {count}"
                )
                raise ValueError(self._insert_arm_names(text))
        self._reserve_memory(len(pairs))
        for i, (arm, reward) in enumerate(pairs):
            self._feedback["sources"][i] = arm
            self._feedback["rewards"][i] = reward
        self._feedback["count"][()] = len(pairs)
        self._feedback["total"][()] = sum(reward for _, reward in pairs)
        self._warn_above_bound(len(pairs))

    def _reserve_memory(self, count: int) -> None:
        """Double the memory until `count` rewards fit beside those that the policy buffers."""
        policy = cast(Any, self.policy)
        memory: int = self.facts["memory"]
        needed = policy.buffered_rewards(self.state, int(self._ledger["told"].sum())) + count
        if needed <= memory:
            return
        while memory < needed:
            memory *= 2
        # Compiled code reads arrays of fixed lengths. So a learner with longer arrays is made, the
        # header (before `PLAN`) and all arrays are copied into it, and this learner takes over its
        # attributes.
        larger_learner = type(self).__new__(type(self))
        vars(larger_learner).update(vars(self))
        larger_learner._allocate(policy, self.facts | {"memory": memory}, self._step)
        larger_learner._memory[:PLAN] = self._memory[:PLAN]
        larger_views = larger_learner._views_to_save()
        for group, views in self._views_to_save().items():
            for name, view in views.items():
                larger_views[group][name][tuple(map(slice, view.shape))] = view
        vars(self).update(vars(larger_learner))

    def _parse_pair(self, name: str, pair: Any) -> tuple[int, float]:
        try:
            arm, reward = pair
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a pair (arm, reward), got {pair!r}") from None
        return (
            self.vocabulary.arm_number(f"{name}[0]", arm),
            self.scale.check_reward(f"{name}[1]", reward),
        )

    def _check_restored(self) -> None:
        horizon = self.facts.get("horizon")
        if horizon is not None and self.rounds > horizon:
            raise ValueError(f"rounds must be at most the horizon, got {self.rounds}")
        pulls = self._ledger["pulls"]
        told = self._ledger["told"]
        if pulls.sum() != self.rounds_told or (told < 0).any() or (told > pulls).any():
            raise ValueError("its ledger must have one pull a round and no more rewards than pulls")
        rewards = int(told.sum())
        if not 0 <= cast(Any, self.policy).buffered_rewards(self.state, rewards) <= rewards:
            raise ValueError(f"it must hold no more than the {rewards} rewards that it was told")
