"""Short trial of users' own policies in Python: compiled code does not notice wrong indices."""

import warnings
from collections.abc import Iterable
from typing import Final

from keyhole.benchmark.problem_list import Game
from keyhole.experiment.spec_factories import is_policy_file
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.play.simulation import simulate

_ROUNDS: Final = 200


def try_user_policies(games: Iterable[Game]) -> None:
    """Play some rounds of each policy of a user's file, on one problem of each setting.

    Raises a ValueError that names a policy that fails, and the problem. A policy that cannot be
    played in Python is not tried.
    """
    tried = set()
    for game in games:
        plan = game.spec.plan
        for label, policy in plan.policies.items():
            name = game.entry(label)["name"]
            key = (game.problem.setting, name)
            if not is_policy_file(name) or key in tried:  # only users' policies have a file
                continue
            tried.add(key)
            rounds = min(plan.horizon, max(_ROUNDS, 2 * int(plan.problem.fact("arms"))))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # as of all policies of the benchmark
                    simulate(
                        plan.problem,
                        {label: policy},
                        horizon=rounds,
                        replications=1,
                        interpreted=True,
                    )
            except NotInterpretedError:
                continue
            except Exception as error:  # a user's policy may raise anything
                raise ValueError(
                    f"{name} fails on the problem {game.problem.name!r}: "
                    f"{type(error).__name__}: {error}"
                ) from error
