"""The command `keyhole study plan`: how many decisions a test takes until its policy stops."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.options import AsJson, Quiet
from keyhole.cli.study import Own, open_study
from keyhole.contract.reward_units import UNIT
from keyhole.validate import check_distinct, short_repr

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
    decisions: Annotated[int, typer.Option(min=1, help="The most, such as visitors.")] = 200_000,
    replications: Annotated[int, typer.Option(min=1, help="The number of simulated tests.")] = 200,
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
    from keyhole.play.simulation import stopping_times

    if (storage is None and means is None) or (storage is not None and name is None):
        missing = "--means" if storage is None else "NAME (see keyhole study list)"
        raise ValueError(f"{missing} must be given")
    setting = "stochastic" if threshold is None else "thresholding"
    policy, scale, unit_threshold = None, UNIT, None
    names, rewards = _parse_means(means)
    if storage is not None and name is not None:
        with open_study(storage, name, own) as study:
            policy, scale, setting = study.policy, study.definition.scale, study.policy.setting.name
            if not rewards:
                names, rewards = list(study.arms), _means_so_far(study)
            unit_threshold = study.definition.facts.get("threshold")
    if threshold is not None:
        unit_threshold = scale.check_reward("--threshold", threshold)
    options = {"delta": delta, "tolerance": tolerance}
    parameters = {option: value for option, value in options.items() if value is not None}
    if rule is None and policy is not None and policy.verdicts:
        policy = type(policy).from_parameters(policy.parameters() | parameters)
    else:
        table = {"name": rule or _RULES.get(setting, policy and type(policy).__name__)}
        policy = make_policy(table | parameters, setting, Path())
    unit_means = [scale.check_reward("each of --means", reward) for reward in rewards]
    entries = {"setting": setting, "means": unit_means, "threshold": unit_threshold}
    problem = {name: entry for name, entry in entries.items() if entry is not None}
    times = stopping_times(
        make_problem(problem, Path()),
        policy,
        horizon=decisions,
        replications=replications,
        progress=not quiet,
    )
    if as_json:
        print_json(asdict(times) | {"names": names, "means": rewards, "means_so_far": not means})
        return
    pairs = zip(names, rewards, strict=True)
    texts = [f"{name}={reward:.4g}" if name else f"{reward:.4g}" for name, reward in pairs]
    typer.echo(f"means: {', '.join(texts)}{'' if means else _SO_FAR}")
    typer.echo(times)


def _parse_means(text: str | None) -> tuple[list[str], list[float]]:
    """Return the names before the numbers of a list, "" for none, and the numbers."""
    pairs = [mean.rpartition("=") for mean in text.split(",")] if text else []
    names = [name.strip() for name, _, _ in pairs]
    if named := list(filter(None, names)):
        check_distinct("the names in --means", named)
    try:
        return names, [float(number) for _, _, number in pairs]
    except ValueError:
        raise ValueError(
            "--means must be numbers with commas between, such as .04,.05 or A=.04,B=.05, "
            f"got {short_repr(text)}"
        ) from None


def _means_so_far(study: Any) -> list[float]:
    """Return the means of the arms in use; refuse a study with an arm without any reward."""
    means = study.means()
    if missing := [arm for arm in study.arms if "reward" not in means[arm]]:
        raise ValueError(f"--means must be given: no reward of {missing[0]!r} was told yet")
    return [means[arm]["reward"].mean for arm in study.arms]
