"""The base classes of the settings' learners: for an arm and its reward, and for any setting."""

from collections.abc import Iterable
from typing import Any, Final, Never, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.drivers.learner_step import ASK, CLAIM, NOT_ASKED, TELL_WITH_NUMBER
from keyhole.play.learner import Learner
from keyhole.play.log_learning import reward_column
from keyhole.play.study_vocabulary import StudyRound
from keyhole.validate import short_repr


class ArmLearner(Learner):
    """The base class of learners that ask for an arm and are told its reward."""

    names_arms = True

    # `ask` and `tell` repeat the code of `_do` instead of calling it: a method call would take a
    # tenth of their time (measured).

    def ask(self, *, exclude: Iterable[Any] | None = None) -> int:
        """Return the arm to pull next, from 0; the same one if asked again before `tell`.

        If arms have names (``learner(arms=["red", "blue"])``), it is the name. The same thread must
        tell its reward: see `keyhole.Learner`.

        Parameters
        ----------
        exclude : iterable of int, optional
            Arms, or their names, that it must not be: the policy decides as if it did not have
            them, and keeps its state. It must be one that can learn from decisions of others
            (`keyhole.policy.Policy.off_policy`).
        """
        if exclude is not None:
            return cast(int, self._arm(self._ask(None, exclude)))
        try:
            arm: int = self._step(self._words, ASK, 0.0)
        except IndexError as error:
            self.raise_kernel_error(error)
        if arm < 0:
            arm = self._handle_code(arm, ASK, 0.0)
        return arm if (names := self._names) is None else names[arm]

    def tell(self, reward: float, *unnamed: Never) -> None:
        """Tell the reward of the arm last asked for: in [0, 1], True for 1, False for 0.

        With a `scale`, rewards are numbers in its units instead.
        """
        if unnamed:
            raise TypeError(
                "tell takes the reward alone: that of the arm last asked for, which the learner "
                f"knows; got {short_repr((reward, *unnamed))}"
            )
        # One test for the usual reward; whole numbers, booleans, NaN and rewards in other units
        # fail it.
        if type(reward) is not float or not 0.0 <= reward <= 1.0 or self._scaled:
            reward = self._convert_unusual_reward(reward)
        try:
            code = self._step(self._words, TELL_WITH_NUMBER, reward)
        except IndexError as error:
            self.raise_kernel_error(error)
        if code < 0:
            self._handle_code(code, TELL_WITH_NUMBER, reward)

    def replay(self, arms: ArrayLike, rewards: ArrayLike) -> int:
        """Replay a log: the same as asking and telling round by round, but much faster.

        If the policy asks for another arm than the log has, it learns from the arm in the log; a
        policy that can learn only from its own decisions refuses such a log (see
        `Policy.off_policy`). A log with an invalid row changes nothing.

        Parameters
        ----------
        arms : sequence of int
            The arm that was pulled in each round; its name, if arms have names.
        rewards : sequence of float or bool, of the same length
            The reward in each round, as for `tell`.

        Returns
        -------
        int
            The number of rounds in which the policy asked for the arm in the log.
        """
        pulled = self._arm_column("arms", arms)
        return self._replay(
            arm=pulled, reward=reward_column("rewards", rewards, self.scale, pulled)
        )

    def _convert_unusual_reward(self, reward: object) -> float:
        """Convert a reward that is no float in [0, 1], or refuse it."""
        if not self._pending:
            self._refuse(NOT_ASKED)
        return self.scale.check_reward("reward", reward)


Values = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

_CALLS: Final = ("ask", "tell", "recommend")


class SettingLearner(Learner):
    """A learner for any setting: the `learner_class` in the base class of its policies.

    `ask`, `tell` and `recommend` take and return the words of the setting's `StudyVocabulary`, in
    which arms are numbers from 0, or names if they have any. A setting with other words defines a
    subclass: its `ask` calls `decide` with the values of the context, its `tell` calls `learn` with
    those of the feedback. It takes no names of arms, unless it sets ``names_arms = True`` and
    converts them, by `vocabulary.arm_number` and `vocabulary.arms`.
    Both refuse other threads between a decision and its feedback.

    Examples
    --------
    A setting whose feedback is a duration::

        class Learner(SettingLearner):
            def ask(self):
                return self.decide()["arm"]

            def tell(self, seconds):
                self.learn(seconds=number("seconds", seconds, Range(ge=0)))
    """

    names_arms = True

    def __init_subclass__(cls) -> None:
        """Refuse names of arms in a subclass with calls of its own, unless it declares them."""
        super().__init_subclass__()
        if "names_arms" not in vars(cls) and not vars(cls).keys().isdisjoint(_CALLS):
            cls.names_arms = False

    def ask(self, *, exclude: Iterable[Any] | None = None, **context: Any) -> Any:
        """Return the next decision.

        Parameters
        ----------
        exclude : iterable of int, optional
            Arms, or their names, that it must not be about: see `keyhole.stochastic.Learner.ask`.
        **context
            The keywords of the vocabulary's `parse_context`.

        Returns
        -------
        Any
            The decision in words of the vocabulary; a dict if there are several. The same one if
            asked again before `tell`.
        """
        values = self.vocabulary.parse_context(**context)
        decided_values = self._decide(values, exclude)
        named_values = self.vocabulary.format_decision(values, decided_values)
        shown_context = self.vocabulary.format_context(values)
        decision = {
            name: value for name, value in named_values.items() if name not in shown_context
        }
        return decision if len(decision) > 1 else next(iter(decision.values()))

    def tell(self, *unnamed: Any, **feedback: Any) -> None:
        """Tell the feedback of the last decision: the arguments of `parse_feedback`."""
        self._expect_feedback()
        waiting = (_values(self._context), _values(self._decision))
        values = self.vocabulary.parse_feedback(*waiting, *unnamed, **feedback)
        if self.vocabulary.round_class is not None:
            values = self._of_round(self.vocabulary.round_class, *waiting, values)
        self.learn(**{name: values[name] for name in self._feedback})

    def _of_round(
        self, round_class: type[StudyRound], context: Values, decision: Values, feedback: Values
    ) -> Values:
        """Return the feedback of a round in which only that of its own decision arrives."""
        round_ = round_class(self.vocabulary, self.policy)
        round_.begin(context, decision)
        round_.add_feedback(context, decision, feedback)
        round_feedback = round_.end(self.facts, self.state, self.rounds)
        if round_feedback is None:
            raise RuntimeError(
                f"{round_class.__name__}.end must return the feedback of a round that began"
            )
        for name, value in round_feedback.facts.items():
            if value != self.facts[name]:
                raise RuntimeError(
                    f"{self.policy} needs {name}={value} after this feedback, but a learner cannot "
                    f"change {name}={self.facts[name]}; use a study"
                )
        # A sequence of feedback may be shorter than its array: what is left stays 0.
        values = {name: np.zeros_like(view) for name, view in self._feedback.items()}
        for name, view in values.items():
            if view.shape:
                view[: len(round_feedback.feedback[name])] = round_feedback.feedback[name]
            else:
                view[()] = round_feedback.feedback[name]
        return values

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
            The decision: ints and floats, or lists of them. The same one if asked again before
            `learn`.

        Raises
        ------
        TypeError, ValueError
            If a value is missing, unknown, or has another shape.
        RuntimeError
            If a decision for another context, or of another thread, is waiting for its feedback.
        """
        return self._decide(context)

    def _decide(self, context: Values, exclude: Iterable[Any] | None = None) -> Values:
        arrays = self._check_arrays("decide", context, self._context)
        self._run_step(CLAIM)
        if self._pending:
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
        return _values(self._decision)

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
        self._expect_feedback()
        arrays = self._check_arrays("learn", feedback, self._feedback)
        for name, view in self._feedback.items():
            view[...] = arrays[name]
        self._tell()

    def _check_arrays(self, method: str, values: Values, views: Arrays) -> Arrays:
        """Return values as arrays; refuse other names, shapes and dtypes than the setting's."""
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


def _values(views: Arrays) -> Values:
    return {name: view.tolist() for name, view in views.items()}
