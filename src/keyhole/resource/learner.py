"""Learner that chooses an arm and a limit, and the vocabulary of studies that do so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract.state_arrays import Field
from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.learner_summary import describe_reward_range
from keyhole.play.learning_from_log import bool_column, float_column, reward_column
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.resource.cost_functions import COST_READERS
from keyhole.text_formatting import count_text
from keyhole.validation import Range, check_number

_AT_LEAST_0: Final = Range(ge=0)


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask()`` returns an arm and a limit, ``tell`` takes the result.

    Call ``tell(id, reward, consumption)`` for a run within its limit, ``tell(id, exceeded=True)``
    for a run above its limit, and ``tell(id, consumption=..., failed=True)`` for a run that failed
    by itself. The consumption of a failed run counts, and its reward is 0.
    """

    fact_readers = COST_READERS

    @property
    def note_fields(self) -> Mapping[str, Field]:
        """The field `failed`, which is logged but not learnt: whether a run failed by itself."""
        return {"failed": Field("int64")}

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return arm and limit."""
        return super().format_decision(context, decision) | {"limit": decision["limit"]}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return the values of the context (there are none) and the values of the decision."""
        return {}, super().parse_decision(words)[1] | {"limit": float(words["limit"])}

    def parse_feedback(
        self,
        context: Values,
        decision: Values,
        reward: float | None = None,
        consumption: float | None = None,
        *,
        exceeded: bool = False,
        failed: bool = False,
    ) -> Values:
        """Return reward, consumption, and whether the limit was exceeded or the run failed."""
        for name, flag in (("exceeded", exceeded), ("failed", failed)):
            if not isinstance(flag, (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {flag!r}")
        if exceeded:
            is_valid_call = reward is None and consumption is None and not failed
        elif failed:
            # A failed run may be told with a reward of 0 or with none.
            is_valid_call = consumption is not None and not reward
        else:
            is_valid_call = consumption is not None and reward is not None
        if not is_valid_call:
            arguments = "reward and consumption, or exceeded=True alone for a run above its limit"
            if failed:
                arguments = "consumption=... and failed=True for a run that failed by itself"
            raise TypeError(f"tell needs {arguments}")
        if exceeded:
            return {"reward": 0.0, "consumption": 0.0, "exceeded": 1, "failed": 0}
        unit_reward = self.scale.check_reward("reward", self.scale.low if failed else reward)
        used = check_number("consumption", consumption, _AT_LEAST_0)
        limit = decision["limit"]
        if used > limit:
            raise ValueError(
                f"consumption must be at most the limit, {limit:g}, got {used:g}; "
                "a run above its limit is told as exceeded=True"
            )
        return {"reward": unit_reward, "consumption": used, "exceeded": 0, "failed": int(failed)}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the result of the run."""
        if feedback["exceeded"]:
            return {"exceeded": True}
        if feedback.get("failed"):
            return {"consumption": feedback["consumption"], "failed": True}
        reward = self.scale.from_unit(feedback["reward"])
        return {"reward": reward, "consumption": feedback["consumption"]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return the feedback of a run that exceeded its limit."""
        return {"exceeded": True}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> tuple[str, float]:
        """Return the best pair; `live` has the numbers of the arms in use."""
        return self.arms[live[int(report["best_arm"].item())]], report["best_limit"].item()


class Learner(CoreLearner):
    """Learner that chooses the arm to run next and the limit of the run.

    A policy makes it: ``RCUCB().learner(arms=10, limits=[0.5, 1.0], cost=..., penalty=...)``.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> learner = RCUCB().learner(
    ...     arms=1, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2)
    ... )
    >>> learner.ask()
    (0, 1.0)
    >>> learner.tell(reward=0.8, consumption=0.3)
    >>> learner
    RCUCB(alpha=0.5, gain_range=1) after 1 round, 1 arm, 2 limits up to 1
      best so far: arm 0 with limit 1
      arm 0: 1 run
    """

    names_arms = True

    def ask(self, *, exclude: Iterable[Any] | None = None) -> tuple[int, float]:
        """Return the arm to run next and its limit; until `tell`, return the same decision again.

        The arm is a number from 0, or its name if arms have names.

        Parameters
        ----------
        exclude : iterable of int, optional
            Numbers or names of arms that must not be returned: see
            `keyhole.stochastic.Learner.ask`.
        """
        self._ask(None, exclude)
        return self._arm_name(self._decision["arm"].item()), self._decision["limit"].item()

    def tell(
        self,
        reward: float | None = None,
        consumption: float | None = None,
        *,
        exceeded: bool = False,
    ) -> None:
        """Tell how the last run ended: with a reward, or above its limit.

        Parameters
        ----------
        reward : float or bool, optional
            In [0, 1]; True is 1, False is 0. If the learner has a `scale`, rewards, costs and
            penalties are numbers in the units of the scale.
        consumption : float, optional
            Consumption of the run: at least 0, at most the limit.
        exceeded : bool, default False
            Whether the run exceeded the limit; if so, reward and consumption are left out.
        """
        self._require_pending_decision()
        feedback = self.vocabulary.parse_feedback(
            {}, {"limit": self._decision["limit"].item()}, reward, consumption, exceeded=exceeded
        )
        for name, view in self._feedback.items():
            view[()] = feedback[name]
        self._tell()

    def replay(
        self,
        arms: ArrayLike,
        limits: ArrayLike,
        rewards: ArrayLike,
        consumptions: ArrayLike,
        exceeded: ArrayLike,
    ) -> int:
        """Replay a log, with the same result as `ask` and `tell` in each round, but faster.

        If the policy asks for another pair than the log has, it learns from the pair in the log. A
        policy that can learn only from its own decisions refuses such a log (see
        `keyhole.policy.Policy.off_policy`). If a row is refused, the learner does not change.

        Parameters
        ----------
        arms : sequence of int
            Arm of each round; its name, if arms have names.
        limits : sequence of float
            Limit of each round.
        rewards, consumptions : sequence of float
            Feedback of each round; ignored where the limit was exceeded.
        exceeded : sequence of bool
            Whether the limit was exceeded.

        Returns
        -------
        int
            Number of rounds in which the policy asked for the pair in the log.
        """
        arm = self._parse_arm_column("arms", arms)
        limit = float_column("limits", limits, _AT_LEAST_0, arm)
        is_exceeded = bool_column("exceeded", exceeded, arm)
        told_rewards = _fill_where_exceeded(is_exceeded, rewards, self.scale.low)
        reward = reward_column("rewards", told_rewards, self.scale, arm)
        told_consumptions = _fill_where_exceeded(is_exceeded, consumptions, 0.0)
        consumption = float_column("consumptions", told_consumptions, _AT_LEAST_0, arm)
        if (is_above := consumption > limit).any():
            row = int(is_above.argmax())
            raise ValueError(
                f"consumptions[{row}] must be at most the limit, {limit[row]:g}, "
                f"got {consumption[row]:g}"
            )
        exceeded_flags = is_exceeded.astype(np.int64)
        return self._replay(
            arm=arm, limit=limit, reward=reward, consumption=consumption, exceeded=exceeded_flags
        )

    def recommend(self) -> tuple[int, float]:
        """Return the pair that the policy considers best so far."""
        return cast(tuple[int, float], self._recommend_in_words())

    def _format_facts(self) -> list[str]:
        limits = self.facts["limits"]
        limit_text = "any limit" if self.facts["continuous"] else f"{len(limits)} limits"
        return [
            count_text(self.facts["arms"], "arm"),
            f"{limit_text} up to {limits[-1]:g}",
            *describe_reward_range(self.scale),
        ]


def _fill_where_exceeded(exceeded: NDArray[np.bool_], values: ArrayLike, placeholder: float) -> Any:
    """Return a column with a placeholder where the limit was exceeded.

    A column whose length is not that of `exceeded` is returned as it is; the caller refuses it.
    """
    column = np.asarray(values)
    return np.where(exceeded, placeholder, column) if column.shape == exceeded.shape else values
