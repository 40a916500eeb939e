"""What rooms share where a decision is an arm and its feedback a reward."""

from typing import Any, Never

from numpy.typing import ArrayLike

from keyhole.drivers.policy_step import ASK, NOT_ASKED, TELL_WITH_NUMBER
from keyhole.play.learner import Learner
from keyhole.play.log_columns import int_column
from keyhole.validate import Range, short_repr


class ArmLearner(Learner):
    """Asks for arms and is told rewards: base of the learners of rooms that are about that."""

    # `_do` and what leads to it in one piece: a call of a method on the way takes a tenth of all
    # (measured).

    def ask(self) -> int:
        """Return the arm to pull next, from 0; the same one if asked again before `tell`.

        For the thread that tells its reward: see `keyhole.Learner`.
        """
        try:
            arm: int = self._step(self._words, ASK, 0.0)
        except IndexError as error:
            self.raise_kernel_error(error)
        return arm if arm >= 0 else self._handle_code(arm, ASK, 0.0)

    def tell(self, reward: float, *unnamed: Never) -> None:
        """Report the reward of the arm last asked for: in [0, 1], True for 1, False for 0.

        A learner with a `scale` of its own is told numbers in its units instead.
        """
        if unnamed:
            raise TypeError(
                "tell takes the reward alone: that of the arm last asked for, which the learner "
                f"knows; got {short_repr((reward, *unnamed))}"
            )
        if type(reward) is not float or not 0.0 <= reward <= 1.0 or self._scaled:
            reward = self._unusual(reward)
        try:
            code = self._step(self._words, TELL_WITH_NUMBER, reward)
        except IndexError as error:
            self.raise_kernel_error(error)
        if code < 0:
            self._handle_code(code, TELL_WITH_NUMBER, reward)

    def replay(self, arms: ArrayLike, rewards: ArrayLike) -> int:
        """Go through a log: as asking and telling round by round, and much faster.

        Where an arm of the log is not the one that the policy asks for, the policy learns of the
        arm in the log. One that cannot refuses the log (see `Policy.off_policy`): of its
        own decisions alone, any policy learns. A log with a row that is refused changes nothing.

        Parameters
        ----------
        arms : sequence of int
            Which arm was pulled in each round.
        rewards : sequence of float or bool, of the same length
            The reward in each round, as `tell` is told it.

        Returns
        -------
        int
            In how many rounds the policy asked for the arm in the log.
        """
        pulled = int_column("arms", arms, Range(ge=0, lt=self.facts["arms"]))
        return self._replay(arm=pulled, reward=self._check_rewards("rewards", rewards, pulled))

    def _unusual(self, reward: Any) -> float:
        """Return a reward as a float in [0, 1]; refuse what is none."""
        if not self._pending:
            self._refuse(NOT_ASKED)
        return self._check_reward("reward", reward)
