"""Base classes of learners: `ArmLearner` decides on an arm, `SettingLearner` is for any setting."""

from collections.abc import Iterable
from typing import Any, Final, Never, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.drivers.learner_step import ASK, NOT_ASKED, SET_OWNER, TELL_WITH_NUMBER
from keyhole.play.learner import Learner
from keyhole.play.learning_from_log import reward_column
from keyhole.validation import short_repr


class ArmLearner(Learner):
    """The base class of learners that decide on an arm and are told its reward."""

    names_arms = True

    # `ask` and `tell` repeat the code of `_run_step`, since a call of it would take a tenth of
    # their time (measured).

    def ask(self, *, exclude: Iterable[Any] | None = None) -> int:
        """Return the arm to pull next, from 0. Until `tell`, the same arm is returned again.

        If arms have names (``learner(arms=["red", "blue"])``), this returns the name of the arm.
        The same thread must tell the reward: see `keyhole.Learner`.

        Parameters
        ----------
        exclude : iterable of int, optional
            Arms, or their names, to leave out. The policy decides as if it did not have them, and
            keeps its state. The policy must be able to learn from decisions of others
            (`keyhole.policy.Policy.off_policy`).
        """
        if exclude is not None:
            return cast(int, self._arm_name(self._ask(None, exclude)))
        try:
            arm: int = self._step(self._memory, ASK, 0.0)
        except IndexError as error:
            self.raise_kernel_error(error)
        if arm < 0:
            arm = self._retry_or_raise(arm, ASK, 0.0)
        return arm if (names := self._names) is None else names[arm]

    def tell(self, reward: float, *unnamed: Never) -> None:
        """Tell the reward of the arm last asked for: in [0, 1], True for 1, False for 0.

        With a `scale`, rewards are numbers in its units instead.
        """
        if unnamed:
            raise TypeError(
                "tell takes the reward alone: the learner knows the arm last asked for; got "
                f"{short_repr((reward, *unnamed))}"
            )
        # The usual reward, a float in [0, 1] without a scale, needs no more than this test.
        if type(reward) is not float or not 0.0 <= reward <= 1.0 or self._has_scale:
            reward = self._convert_unusual_reward(reward)
        try:
            code = self._step(self._memory, TELL_WITH_NUMBER, reward)
        except IndexError as error:
            self.raise_kernel_error(error)
        if code < 0:
            self._retry_or_raise(code, TELL_WITH_NUMBER, reward)

    def replay(self, arms: ArrayLike, rewards: ArrayLike) -> int:
        """Replay a log: the same as asking and telling round by round, but much faster.

        If the policy decides on another arm than the log has, it learns from the arm in the log; a
        policy that can learn only from its own decisions refuses such a log (see
        `Policy.off_policy`). A log with an invalid row changes nothing.

        Parameters
        ----------
        arms : sequence of int
            The arm that was pulled in each round; its name, if arms have names.
        rewards : sequence of float or bool
            The reward in each round, as for `tell`; as many as `arms`.

        Returns
        -------
        int
            The number of rounds in which the policy decided on the arm in the log.
        """
        arm_numbers = self._parse_arm_column("arms", arms)
        reward_numbers = reward_column("rewards", rewards, self.scale, arm_numbers)
        return self._replay(arm=arm_numbers, reward=reward_numbers)

    def _convert_unusual_reward(self, reward: object) -> float:
        """Return a reward in the units of policies; refuse an impossible reward."""
        if not self._has_pending_decision:
            self._raise_error_of_code(NOT_ASKED)
        return self.scale.check_reward("reward", reward)


Values = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

_METHODS_WITH_ARMS: Final = ("ask", "tell", "recommend")


class SettingLearner(Learner):
    """A learner for any setting; policies name this class, or a subclass, as their `learner_class`.

    `ask`, `tell` and `recommend` take and return *words*: the form in which users give and see the
    values of the setting (`StudyVocabulary`). Arms are numbers from 0, or names if they have any. A
    setting with other words, or whose feedback belongs to the round in which it arrives and not to
    a decision (`Setting.by_round`), defines a subclass. Its `ask` calls `decide` with the values of
    the context, and its `tell` calls `learn` with the values of the feedback. A subclass that
    defines `ask`, `tell` or `recommend` takes no names of arms, unless it sets ``names_arms =
    True`` and converts names, by `vocabulary.arm_number` and `vocabulary.arms`. Between a decision
    and its feedback, `decide` and `learn` refuse other threads.

    Examples
    --------
    A setting whose feedback is a duration::

        class Learner(SettingLearner):
            def ask(self):
                return self.decide()["arm"]

            def tell(self, seconds):
                self.learn(seconds=check_number("seconds", seconds, Range(ge=0)))
    """

    names_arms = True

    def __init_subclass__(cls) -> None:
        """Let a subclass that overrides a method take no arm names, unless it sets `names_arms`."""
        super().__init_subclass__()
        if "names_arms" not in vars(cls) and not vars(cls).keys().isdisjoint(_METHODS_WITH_ARMS):
            cls.names_arms = False

    def ask(self, *, exclude: Iterable[Any] | None = None, **context: Any) -> Any:
        """Return the next decision.

        Parameters
        ----------
        exclude : iterable of int, optional
            Arms, or their names, to leave out: see `keyhole.stochastic.Learner.ask`.
        **context
            The keywords of the vocabulary's `parse_context`.

        Returns
        -------
        Any
            The decision in words of the vocabulary; a dict if there are several words. Until
            `tell`, the same decision is returned again.
        """
        values = self.vocabulary.parse_context(**context)
        # `format_decision` returns the words of the context, too.
        all_words = self.vocabulary.format_decision(values, self._decide_or_repeat(values, exclude))
        context_words = self.vocabulary.format_context(values)
        decision = {name: word for name, word in all_words.items() if name not in context_words}
        return decision if len(decision) > 1 else next(iter(decision.values()))

    def tell(self, *unnamed: Any, **feedback: Any) -> None:
        """Tell the feedback of the last decision.

        The arguments are those of `parse_feedback` beside `context` and `decision`.
        """
        if self.vocabulary.round_class is not None:
            raise TypeError(
                f"{type(self).__name__}.tell must be defined: in the setting "
                f"{self.policy.setting.name!r} feedback belongs to rounds (or use a study)"
            )
        self._require_pending_decision()
        context = _arrays_as_lists(self._context)
        decision = _arrays_as_lists(self._decision)
        values = self.vocabulary.parse_feedback(context, decision, *unnamed, **feedback)
        self.learn(**{name: values[name] for name in self._feedback})

    def recommend(self) -> Any:
        """Return the policy's recommendation, in words of the vocabulary."""
        return self._recommend_in_words()

    def decide(self, **context: Any) -> Values:
        """Return the policy's decision for a context, as values by name.

        Parameters
        ----------
        **context
            All values of the setting's context: numbers, or sequences in the declared shape.

        Returns
        -------
        dict
            The decision, as numbers or lists of numbers. Until `learn`, the same decision is
            returned again.

        Raises
        ------
        TypeError, ValueError
            If a value is missing, unknown, or has another shape.
        RuntimeError
            If a decision for another context, or of another thread, is waiting for its feedback.
        """
        return self._decide_or_repeat(context)

    def _decide_or_repeat(self, context: Values, exclude: Iterable[Any] | None = None) -> Values:
        arrays = self._check_arrays("decide", context, self._context)
        self._run_step(SET_OWNER)
        if self._has_pending_decision:
            for name, view in self._context.items():
                if not np.array_equal(view, arrays[name]):
                    raise RuntimeError(
                        f"tell must come first: the decision for {name} {view.tolist()} is waiting "
                        "for its feedback"
                    )
        else:
            for name, view in self._context.items():
                view[...] = arrays[name]
        self._ask(None, exclude)
        return _arrays_as_lists(self._decision)

    def learn(self, **feedback: Any) -> None:
        """Have the policy learn the feedback of the last decision.

        Parameters
        ----------
        **feedback
            All values of the setting's feedback.

        Raises
        ------
        TypeError, ValueError
            If a value is missing, unknown, or has another shape.
        RuntimeError
            If no decision of this thread is waiting for feedback.
        """
        self._require_pending_decision()
        arrays = self._check_arrays("learn", feedback, self._feedback)
        for name, view in self._feedback.items():
            view[...] = arrays[name]
        self._tell()

    def _check_arrays(self, method: str, values: Values, views: Arrays) -> Arrays:
        """Return values as arrays; refuse names, shapes and dtypes that are not the setting's."""
        if set(values) != set(views):
            names = ", ".join(views) or "nothing"
            got = ", ".join(values) or "nothing"
            raise TypeError(f"{method} takes {names} in this setting, got {got}")
        arrays = {name: np.asarray(value) for name, value in values.items()}
        for name, value in arrays.items():
            if value.shape != views[name].shape:
                raise ValueError(
                    f"{name} must have the shape {views[name].shape}, got {value.shape}"
                )
            if not np.can_cast(value.dtype, views[name].dtype, "same_kind"):
                raise TypeError(f"{name} must be {views[name].dtype}, got {value.dtype}")
        return arrays


def _arrays_as_lists(views: Arrays) -> Values:
    return {name: view.tolist() for name, view in views.items()}
