"""Whether a file speaks of things that there are: problems, policies, metrics, checkpoints."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from keyhole.play.simulation import Plan
from keyhole.validate import choice

PlansOf = Callable[[str], Mapping[str, Plan]]
"""The experiments on a problem, by scale, given its key."""

# What the names of fields stand for, in claims and overviews and all that they hold.
_KINDS: Final = {
    "problem": "problem",
    "unlike": "problem",
    "x": "problem",
    "policy": "policy",
    "policies": "policy",
    "witness": "policy",
    "others": "policy",
    "ratio_to": "policy",
    "narrow": "policy",
    "wide": "policy",
    "metric": "metric",
    "metrics": "metric",
    "round": "round",
    "rounds": "round",
    "early": "round",
    "late": "round",
}
_LISTED: Final = 12


def check_names(
    where: str,
    model: BaseModel,
    concerns: Sequence[str],
    problems: Collection[str],
    plans_of: PlansOf,
) -> None:
    """Refuse a table that names a problem, policy, metric or checkpoint which is not there."""
    named = list(_named(model, where, None))
    for path, kind, value, _ in named:
        if kind == "problem":
            choice(path, value, problems)
    for path, kind, value, its_problem in named:
        for problem in concerns if its_problem is None else [its_problem]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, kind, value, plan, f"{problem!r} at scale {scale!r}")


def _check_name(path: str, kind: str, value: Any, plan: Plan, where: str) -> None:
    allowed = {"policy": plan.policies, "metric": plan.metrics}
    if kind in allowed:
        choice(path, value, allowed[kind])
    elif kind == "round" and value not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, {_listed(plan.checkpoints)}; "
            f"got {value}"
        )


def _named(
    model: BaseModel, where: str, problem: str | None
) -> Iterator[tuple[str, str, Any, str | None]]:
    """Yield what a table names: path, kind, value, and on which problem, if it says so."""
    problem = getattr(model, "problem", problem)
    for field in type(model).model_fields:
        value, path = getattr(model, field), f"{where}.{field}"
        listed = isinstance(value, list | dict)
        for i, one in enumerate(value if listed else [value]):
            place = f"{path}[{i}]" if isinstance(value, list) else path
            if isinstance(one, BaseModel):
                yield from _named(one, place, problem)
            elif field in _KINDS and one is not None:
                yield place, _KINDS[field], one, problem


def _listed(rounds: Sequence[int]) -> str:
    if len(rounds) <= _LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"
