"""The argument of each check: a policy and a problem, with methods that play them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.cached_property import cached_property
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem, metrics_for
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.metric import STOP_METRICS
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.learner import Learner, make_learner
from keyhole.play.simulation import simulate
from keyhole.play.simulation_plan import Plan
from keyhole.validation import DEFAULT_SEED

REPLICATIONS: Final = 4
Decision = tuple[object, ...]


@dataclass(frozen=True)
class CheckContext:
    """The policy and problem of a check, the horizon and the seed.

    Parameters
    ----------
    policy : Policy
        The policy to check.
    problem : Problem
        A problem of its setting.
    horizon : int
        Rounds to play, at least 2.
    seed : int
        The seed of all random numbers.
    failing : mapping of str to str
        Checks that are known to fail, by name, each with the reason.
    """

    policy: Policy
    problem: Problem
    horizon: int = 100
    seed: int = DEFAULT_SEED
    failing: Mapping[str, str] = field(default_factory=dict)

    def learner(self, replication: int = 0) -> Any:
        """Return a learner that knows the same quantities as the policy in a simulation."""
        # In a learner, an index beyond an array raises an IndexError; the engine does not check.
        with bounds_checked():
            return make_learner(self.policy, self.facts, seed=self.seed, replication=replication)

    def environment(self, replication: int = 0) -> InteractiveEnvironment:
        """Return the environment of a replication."""
        with bounds_checked():
            return InteractiveEnvironment(
                self.problem, seed=self.seed, replication=replication, horizon=self.horizon
            )

    def start_game(self, replication: int = 0) -> tuple[Any, InteractiveEnvironment]:
        """Return a learner and the environment of a replication, before the first round."""
        return self.learner(replication), self.environment(replication)

    def simulate_metrics(
        self, *others: Policy, threads: int = 1, replications: int = REPLICATIONS
    ) -> NDArray[np.float64]:
        """Return the policy's final metrics, shape (metrics, replications); `others` play, too."""
        curves = simulate(
            self.problem,
            {"it": self.policy, **{f"other {i}": p for i, p in enumerate(others)}},
            horizon=self.horizon,
            replications=replications,
            seed=self.seed,
            threads=threads,
            details=True,
            # With None, short simulations would be interpreted, and compiled code not be tested.
            interpreted=is_interpreted(),
        )
        return np.array([curves.values("it", metric)[-1] for metric in curves.metrics])

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that `simulate_metrics` returns."""
        metrics = list(metrics_for(self.problem, details=True))
        if self.policy.verdicts:  # the policy can stop
            metrics += STOP_METRICS
        return tuple(metric.name for metric in metrics)

    def play_rounds(
        self, learner: Learner, environment: InteractiveEnvironment
    ) -> Iterator[Decision]:
        """Play to the horizon, or until the policy is done, yielding each decision."""
        while learner.rounds < self.horizon and not learner.is_done:
            environment.play_round(learner)
            yield decision_as_numbers(learner._decision)

    @cached_property
    def simulated(self) -> NDArray[np.float64]:
        """What `simulate_metrics` returns; simulated once, since several checks compare with it."""
        return self.simulate_metrics()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The known quantities of a policy in a simulation, which `learner` gives to a learner."""
        horizon = self.horizon
        plan = Plan.make(self.problem, [self.policy], horizon=horizon, checkpoints=None, seed=0)
        return plan.facts(self.policy, horizon)

    def play_through(self, replication: int) -> tuple[list[Decision], list[float]]:
        """Play a replication; return its decisions, and all metrics in the end."""
        learner, environment = self.start_game(replication)
        decisions = list(self.play_rounds(learner, environment))
        return decisions, list(environment.score(learner._recommend()).values())

    @cached_property
    def played(self) -> tuple[list[Decision], list[float]]:
        """What `play_through` returns for the first replication, played once for several checks."""
        return self.play_through(0)

    @cached_property
    def first_nan(self) -> str:
        """What became NaN first, and in which round; "" if nothing did.

        For this, the policy plays a game in which it recommends, and is scored, in every round.

        Raises
        ------
        AssertionError
            If a kernel reads or writes beyond an array.
        """
        # The game of `played` will not do: kernels that recommend and score may draw random
        # numbers, which changes later rounds.
        learner, environment = self.start_game()
        text = ""
        try:
            for _ in self.play_rounds(learner, environment):
                recommendation = learner._recommend()
                for name, values in (learner.state | recommendation).items():
                    if not text and np.isnan(values).any():
                        text = f"{name} became NaN in round {learner.rounds}"
                environment.score(recommendation)
        except IndexError as error:
            raise AssertionError(
                f"{self.policy}: a kernel reads or writes beyond an array in round {learner.rounds}"
            ) from error
        return text


def decision_as_numbers(values: Mapping[str, NDArray[Any]]) -> Decision:
    """Return a decision as plain numbers."""
    return tuple(value.tolist() for value in values.values())
