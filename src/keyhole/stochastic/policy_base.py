"""Base classes of the policies of the classical bandit: rules that choose an option each round."""

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import IndexPolicy as CoreIndexPolicy
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.draws.streams import Stream
from keyhole.kernels.fingerprint import Kernel
from keyhole.stochastic.learner import Learner
from keyhole.stochastic.setting import SETTING, Facts
from keyhole.stochastic.study_adapter import StudyVocabulary


class _RewardCounts(Protocol):
    pulls: FloatArray
    totals: FloatArray


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of the stochastic bandit.

    Kernels read `p.arms`, and `p.horizon` if the class lists it in `needs`. `select` returns an
    ``arm``, `update` may name ``arm`` and ``reward``, and `recommend` fills ``best[0]``: the arm
    that looks best. A policy whose state keeps `pulls` and `totals` need not write `recommend`: it
    is the arm with the highest mean.

    Examples
    --------
    >>> from keyhole.stochastic import UCB1
    >>> learner = UCB1().learner(arms=2)
    >>> for reward in (0, 1, 1):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.recommend()
    1
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    feedback = "the reward of the arm pulled, in [0, 1]"

    if TYPE_CHECKING:  # generated from the known quantities at run time

        @overload
        def learner(
            self,
            *,
            arms: int,
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: Any) -> Any: ...
        def learner(self, *, arms: Any, **facts: Any) -> Any:
            """Return a learner: this policy, asked for one decision at a time."""

    def impute(p, s: _RewardCounts, t: int, rng: Stream, arm: int, update: Kernel) -> None:
        """Impute the mean reward of the arm, or 1/2 for an arm without pulls."""
        pulls = s.pulls[arm]
        update(p, s, t, rng, arm, s.totals[arm] / pulls if pulls > 0.0 else 0.5)

    def recommend(p, s: _RewardCounts, best: IntArray) -> None:
        """Recommend the arm with the highest mean."""
        highest = -1.0
        best[0] = 0
        for arm in range(p.arms):
            if s.pulls[arm] > 0.0 and s.totals[arm] / s.pulls[arm] > highest:
                highest = s.totals[arm] / s.pulls[arm]
                best[0] = arm


class IndexPolicy(CoreIndexPolicy, Policy, abstract=True):
    """Base class of index policies: see `keyhole.contract.policy.IndexPolicy`.

    Examples
    --------
    >>> import math
    >>> class Bold(IndexPolicy):
    ...     def index(p, pulls, total):
    ...         return total / pulls + math.sqrt(1 / pulls)
    >>> Bold().learner(arms=2).ask()
    0
    """

    pending = ("impute", "ignore")
