"""The fixed list of problems, and the policies that play each of them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

from keyhole.benchmark.problem import PARTS, BenchmarkProblem, expand_short_forms, wrong_choice_loss
from keyhole.benchmark.rules import ORDERS, SEED, VARIANTS, YARDSTICKS, Scale
from keyhole.experiment import Spec, setting_registry
from keyhole.experiment.objects_from_spec import (
    find_policy_class,
    is_policy_file,
    make_policy,
    make_problem,
)
from keyhole.files import read_toml
from keyhole.former_names import find_new_policy
from keyhole.play.simulation_plan import Plan
from keyhole.validation import check_choice


@dataclass(frozen=True)
class Entrant:
    """A policy of the benchmark: its label, and its entry in a spec without the label.

    In a `Contest`, the entry includes the parameters that the problem tells the policy.
    """

    label: str
    entry: Mapping[str, Any]

    @property
    def is_yardstick(self) -> bool:
        """Whether it knows what is unknown in practice."""
        return self.entry["name"] in YARDSTICKS


@cache
def all_problems(setting: str) -> tuple[BenchmarkProblem, ...]:
    """Return the problems of a setting, those for tuning first."""
    folder = Path(__file__).parent / "problems"
    files = {folder / f"{setting}.toml": False, folder / "drawn" / f"{setting}.toml": True}
    return tuple(
        BenchmarkProblem(
            name=name,
            situation=group["situation"],
            setting=setting,
            part=group["part"],
            drawn=is_drawn,
            **expand_short_forms(table),
        )
        for file, is_drawn in files.items()
        if file.is_file()
        for group in read_toml(file)["group"]
        for name, table in group["problems"].items()
    )


def select_problems(settings: Iterable[str], patterns: Sequence[str]) -> list[BenchmarkProblem]:
    """Return the problems of some settings that match any pattern; all if there are no patterns.

    A pattern matches names as in a shell, such as ``told-*``, or is the name of a part, such as
    ``judging``.
    """
    problems = [problem for setting in settings for problem in all_problems(setting)]
    if not patterns:
        return problems
    for pattern in patterns:
        if not any(_matches_pattern(problem, pattern) for problem in problems):
            names = [*PARTS, *(problem.name for problem in problems)]
            check_choice("problems", pattern, names, "tuning and judging select a whole part")
    return [p for p in problems if any(_matches_pattern(p, pattern) for pattern in patterns)]


def _matches_pattern(problem: BenchmarkProblem, pattern: str) -> bool:
    return fnmatchcase(problem.name, pattern) or problem.part == pattern


def select_entrants(setting: str, names: Sequence[str]) -> list[Entrant]:
    """Return the policies of a setting that are in `names`; without names, all of them.

    A name may be ``file.py:Class``. A policy of `VARIANTS` has an entrant for each of its variants,
    and none if its list is empty.
    """
    entrants = [
        Entrant(_make_label(name, parameters), {"name": name, **parameters})
        for name in setting_registry.find_setting(setting).policies
        for parameters in VARIANTS.get(setting, {}).get(name, [{}])
        if not names or name in names
    ]
    for name in filter(is_policy_file, names):
        if find_policy_class(name, setting, Path(), field="policies").setting.name == setting:
            entrants.append(Entrant(name.rpartition(":")[2], {"name": name}))
    return entrants


def _make_label(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the label of a policy: its name, and the parameters other than defaults."""
    text = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}({text})" if text else name


@dataclass(frozen=True)
class Contest:
    """A problem with the policies that can play it, at a scale."""

    problem: BenchmarkProblem
    spec: Spec
    entrants: tuple[Entrant, ...]
    wrong_choice_loss: float
    """The regret of a wrong choice in every round, or in `thresholding` at the end."""


def make_contests(
    problems: Sequence[BenchmarkProblem], names: Sequence[str], scale: Scale, seed: int = SEED
) -> list[Contest]:
    """Return the contest of each problem that some policy can play.

    `names` are as in `select_entrants`. A policy of `names` that can play none of the problems
    is refused, with the reason.
    """
    contests = []
    settings = list(setting_registry.all_settings())
    policy_names = {name for setting in settings for name in setting.policies}
    names = [find_new_policy(name, policy_names) for name in names]
    reasons: dict[str, str] = {}
    for problem in problems:
        table = {"setting": problem.setting, **problem.problem}
        instance = make_problem(table, Path())
        horizon = scale.horizon(problem.horizon)
        entrants = []
        for entrant in select_entrants(problem.setting, names):
            try:
                entry = _entry_for_problem(entrant, problem, instance, horizon)
                entrants.append(replace(entrant, entry=entry))
            except UnplayableError as error:
                reasons.setdefault(entrant.entry["name"], str(error))
        if not entrants:
            continue
        with warnings.catch_warnings():
            # A warning of a policy needs no text here: its cause shows in the regret.
            warnings.simplefilter("ignore")
            spec = Spec.from_table(
                {
                    "name": f"{problem.setting}/{problem.name}",
                    "seed": seed,
                    "replications": scale.replications,
                    "horizon": horizon,
                    "problem": table,
                    "policy": [{"label": entrant.label, **entrant.entry} for entrant in entrants],
                },
                folder=Path(),
            )
        loss = wrong_choice_loss(instance) * (1 if instance.setting.budgeted else horizon)
        contests.append(Contest(problem, spec, tuple(entrants), loss))
    played_names = {entrant.entry["name"] for contest in contests for entrant in contest.entrants}
    setting_names = {problem.setting for problem in problems}
    for name in names:
        if name not in played_names:
            if not is_policy_file(name) and name not in policy_names:
                choices = (n for s in settings if s.name in setting_names for n in s.policies)
                check_choice("policies", name, choices)
            reason = reasons.get(name, "none is of its setting, or the rules leave it out")
            raise ValueError(f"policies: {name!r} can play none of the problems: {reason}")
    return contests


class UnplayableError(ValueError):
    """The error of a policy that cannot play a problem; its text is the reason."""


def _entry_for_problem(
    entrant: Entrant, problem: BenchmarkProblem, instance: Any, horizon: int
) -> dict[str, Any]:
    """Return the spec entry of a policy, with the parameters that the problem tells it.

    Raise an UnplayableError if the policy cannot play the problem, for instance since it needs
    other feedback than the problem gives.
    """
    policy_class = cast(Any, find_policy_class(entrant.entry["name"], problem.setting, Path()))
    entry = dict(entrant.entry)
    # A policy that is not in `ORDERS` plays every order.
    order = problem.problem.get("order", "iid")
    if ORDERS.get(entry["name"], order) != order:
        raise UnplayableError(f"it is made for another `order` than that of {problem.name!r}")
    for parameter in fields(policy_class):
        if parameter.name in entry:
            continue
        if parameter.name in problem.told:
            entry[parameter.name] = problem.told[parameter.name]
        elif parameter.name == "horizon":
            entry["horizon"] = horizon
        # The problem must state a parameter without a default, since users must know its value.
        elif parameter.default is MISSING and parameter.default_factory is MISSING:
            raise UnplayableError(
                f"its parameter {parameter.name!r} has no default, and {problem.name!r} does "
                f"not state it"
            )
    policy = make_policy(entry, problem.setting, Path())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # What this plan refuses, `simulate` refuses, too.
            Plan.make(instance, [policy], horizon=horizon, checkpoints=None, seed=SEED)
        except ValueError as error:
            raise UnplayableError(str(error)) from error
    return entry
