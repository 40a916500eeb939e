"""The command `keyhole study plan`: how many decisions a test takes until its policy stops."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson, Quiet
from keyhole.cli.study import Own, open_study
from keyhole.contract.reward_units import UNIT
from keyhole.validate import short_repr

_RULES: Final = {"stochastic": "BestArmStopping", "thresholding": "PerArmStopping"}
_SO_FAR: Final = " (those so far: the highest of them is likely too high, and the test then longer)"
Means = Annotated[
    str | None, typer.Option(metavar="MEAN,...", help="Mean rewards that you think possible.")
]


def plan(
    storage: Annotated[str | None, typer.Argument(help="The file of a study.")] = None,
    name: Annotated[str | None, typer.Argument(help="The study.")] = None,
    means: Means = None,
    rule: Annotated[str | None, typer.Option(help="The policy that stops.")] = None,
    delta: Annotated[float | None, typer.Option(help="The error that it allows.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Its tolerance, if any.")] = None,
    threshold: Annotated[float | None, typer.Option(help="The threshold of labels.")] = None,
    decisions: Annotated[int, typer.Option(help="The most, such as visitors.")] = 200_000,
    replications: Annotated[int, typer.Option(help="The number of simulated tests.")] = 200,
    as_json: AsJson = False,
    quiet: Quiet = False,
    own: Own = None,
) -> None:
    """Simulate how many decisions a test takes until it ends.

    A test ends when its policy has settled each arm: BestArmStopping, the default, names the best
    one; with --threshold, PerArmStopping says which arms are above it. With STORAGE and NAME,
    policy and threshold are those of the study, and means that are not given those so far. All
    decisions count from the first one on. The same arguments print the same numbers.
    """
    from keyhole.experiment.spec_factories import make_policy, make_problem
    from keyhole.play.stopping_times import stopping_times

    if (storage is None and means is None) or (storage is not None and name is None):
        missing = "--means" if storage is None else "NAME (see keyhole study list)"
        raise ValueError(f"{missing} must be given")
    setting = "stochastic" if threshold is None else "thresholding"
    policy, scale, rewards = None, UNIT, _parse_means(means)
    if storage is not None and name is not None:
        with open_study(storage, name, own) as study:
            policy, scale, setting = study.policy, study.definition.scale, study.policy.setting.name
            rewards = rewards or _means_so_far(study)
            facts = study.definition.facts
        threshold = facts.get("threshold") if threshold is None else scale.to_unit(threshold)
    options = {"delta": delta, "tolerance": tolerance}
    parameters = {option: value for option, value in options.items() if value is not None}
    if rule is None and policy is not None and policy.verdicts:
        policy = type(policy).from_parameters(policy.parameters() | parameters)
    else:
        table = {"name": rule or _RULES.get(setting, policy and type(policy).__name__)}
        policy = make_policy(table | parameters, setting, Path())
    problem = {"setting": setting, "means": [scale.to_unit(reward) for reward in rewards]}
    times = stopping_times(
        make_problem(problem | ({} if threshold is None else {"threshold": threshold}), Path()),
        policy,
        horizon=decisions,
        replications=replications,
        progress=not quiet,
    )
    if as_json:
        print_json(asdict(times) | {"means": rewards, "means_so_far": not means})
        return
    typer.echo(
        f"means: {', '.join(f'{reward:.4g}' for reward in rewards)}{'' if means else _SO_FAR}"
    )
    typer.echo(times)


def _parse_means(text: str | None) -> list[float]:
    """Return the numbers of a list with commas; a name and = may stand before each."""
    try:
        return [float(mean.rpartition("=")[2]) for mean in text.split(",")] if text else []
    except ValueError:
        raise ValueError(
            f"--means must be numbers with commas between, such as .04,.05, got {short_repr(text)}"
        ) from None


def _means_so_far(study: Any) -> list[float]:
    """Return the means of the arms in use; refuse a study with an arm without any reward."""
    means = study.means()
    if missing := [arm for arm in study.arms if "reward" not in means[arm]]:
        raise ValueError(f"--means must be given: no reward of {missing[0]!r} was told yet")
    return [means[arm]["reward"].mean for arm in study.arms]
