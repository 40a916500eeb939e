"""Learner (a policy at work in memory) that chooses one option in each round, and sees its reward.

Several settings (kinds of decision problems) share it; an arm is one of the options.
"""

from typing import Any, Never

from numpy.typing import ArrayLike

from keyhole.drivers.learner_step import ASK, NOT_ASKED, TELL_WITH_NUMBER
from keyhole.play.learner import Learner
from keyhole.play.log_replay import reward_column
from keyhole.validate import short_repr


class ArmLearner(Learner):
    """The base class of learners that ask for an arm and are told its reward."""

    names_arms = True

    # `ask` and `tell` repeat the code of `_do` instead of calling it: a method call would take a
    # tenth of their time (measured).

    def ask(self) -> int:
        """Return the arm to pull next, from 0; the same one if asked again before `tell`.

        If arms have names (``learner(arms=["red", "blue"])``), it is the name. The same thread must
        tell its reward: see `keyhole.Learner`.
        """
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
            reward = self._unusual(reward)
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

    def _unusual(self, reward: Any) -> float:
        """Convert a reward that is no float in [0, 1], or refuse it."""
        if not self._pending:
            self._refuse(NOT_ASKED)
        return self.scale.check_reward("reward", reward)
