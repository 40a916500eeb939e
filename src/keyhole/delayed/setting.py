"""The vocabulary of delayed feedback, and what the policies of this room have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from keyhole.contract.memory import Field, FloatArray, IntArray
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.policy import known
from keyhole.contract.setting import Fact, Setting
from keyhole.delayed.learner import FEEDBACK, Learner
from keyhole.play.learner import learner_for
from keyhole.validate import Range, choice


def _arm_exists(p: "Policy", arm: int) -> bool:
    return 0 <= arm < p.arms


SETTING: Final = Setting(
    name="delayed",
    facts={
        "arms": Fact("number of arms", Field("int64"), Range(ge=1, lt=2**24), always=True),
        "horizon": Fact("rounds in all", Field("int64"), Range(ge=1, le=2**40)),
        "named": Fact(
            "whether a reward that arrives says whose it is",
            Field("int64"),
            Range(ge=0, le=1),
            always=True,
        ),
        "memory": Fact(
            "how many rewards there is memory for",
            Field("int64"),
            Range(ge=1, le=2**40),
            always=True,
        ),
    },
    decision={"arm": Field("int64")},
    feedback={
        "total": Field("float64"),
        "count": Field("int64"),
        "sources": Field("int64", ("memory",)),
        "rewards": Field("float64", ("memory",)),
    },
    report={
        "phase": Field("int64"),
        "eliminated": Field("int64", ("arms",)),
        "estimates": Field("float64", ("arms",)),
        "judged": Field("int64", ("arms",)),
    },
    allowed=_arm_exists,
)
"""Pull an arm; at the end of the round see what arrives, from this pull or from earlier ones.

Anonymous feedback is the sum of what arrives, ``total``. Named feedback also gives the rewards
one by one: ``count`` of them, with the arms that earned them at the beginning of ``sources`` and
the ``rewards`` themselves beside them, in the order of their pulls. Anonymous, ``count`` is 0.

In a simulation ``memory`` is the number of rounds. A learner begins with little and doubles it when
it no longer holds what `Policy.held` says.
"""

_FIRST_MEMORY: Final = 1024


class Policy(CorePolicy, abstract=True):
    """Base of the policies of this room.

    Kernels read `p.arms` and `p.named`, and `p.horizon` if the class lists it in `needs`. `select`
    returns an ``arm``; `update` may name ``arm`` and ``total``, and with named feedback ``count``,
    ``sources`` and ``rewards``. Arrays that hold rewards have the length "memory". A
    policy that plays in phases writes `recommend`, which fills ``phase[0]``; ``eliminated``, the
    round in which each arm was given up, 0 for those that were not; and ``estimates`` with
    ``judged``, each arm's mean as the last phase found it, and which phase that was, 0 for none.

    Attributes
    ----------
    works_with : tuple of str
        The kinds of feedback that the policy works with.
    """

    setting = SETTING
    learner_class = Learner
    works_with: ClassVar[tuple[str, ...]] = FEEDBACK
    arms: ClassVar[int] = known()
    horizon: ClassVar[int] = known()
    named: ClassVar[int] = known()
    memory: ClassVar[int] = known()

    def recommend(
        p, phase: IntArray, eliminated: IntArray, estimates: FloatArray, judged: IntArray
    ) -> None:
        """Report that there are no phases, and that no arm was given up."""
        phase[0] = 0
        for arm in range(p.arms):
            eliminated[arm] = judged[arm] = 0
            estimates[arm] = 0.0

    def informed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the policy is told, checked; refuse feedback that it does not work with.

        Parameters
        ----------
        values : mapping of str to value
            Facts by name.

        Returns
        -------
        dict
            Those that the policy is told.

        Raises
        ------
        TypeError, ValueError
            If a fact is missing or not allowed.
        """
        told = super().informed(values)
        feedback = FEEDBACK[told["named"]]
        if feedback not in self.works_with:
            allowed = " or ".join(map(repr, self.works_with))
            raise ValueError(f"feedback must be {allowed} for {self}, got {feedback!r}")
        return told

    def held(self, state: Mapping[str, Any], told: int) -> int:
        """Return how many rewards the state holds, or at most as many as it may hold.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays of a learner.
        told : int
            How many rewards it has been told, with named feedback.

        Returns
        -------
        int
            By default all. A policy whose arrays use a place again returns fewer, and its learner
            needs no more memory however long it runs.
        """
        return told

    def learner(
        self, *, arms: int, feedback: str, horizon: int | None = None, seed: int = 0
    ) -> Learner:
        """Return a learner: the policy at work, one decision at a time.

        Parameters
        ----------
        arms : int
            Number of arms, at least 1.
        feedback : {"anonymous", "named"}
            Whether only the sum of what arrives is seen, or each reward and whose it is.
        horizon : int, optional
            Rounds in all, at least 1, for the policies that need it (see `needs`): they stop there.
            Others go on for as long as they are asked.
        seed : int, default 0
            Of the policy's own randomness.

        Returns
        -------
        Learner
            With `ask`, `tell` and `save`.

        Raises
        ------
        TypeError, ValueError
            If a fact that the policy needs is missing, one is not allowed, or the policy does not
            work with the feedback.

        Examples
        --------
        >>> from keyhole.delayed import ODAAF
        >>> learner = ODAAF(expected_delay=2).learner(
        ...     arms=2, horizon=10_000, feedback="anonymous"
        ... )
        >>> learner.ask()
        0
        >>> learner.tell(0)  # nothing has arrived yet
        """
        named = FEEDBACK.index(choice("feedback", feedback, FEEDBACK))
        facts = {"arms": arms, "horizon": horizon, "named": named, "memory": _FIRST_MEMORY}
        learner: Learner = learner_for(self, facts, seed=seed)
        return learner
