"""Whether a file speaks of things that there are: problems, policies, metrics, checkpoints."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from keyhole.play.plan import Plan
from keyhole.validate import check_choice

PlansOf = Callable[[str], Mapping[str, Plan]]
"""The experiments on a problem, by scale, given its key."""

What = Literal["problem", "policy", "metric", "round"]


@dataclass(frozen=True)
class Names:
    """Mark of a type whose values stand for something that there must be."""

    what: What


ProblemName = Annotated[str, Names("problem")]
PolicyName = Annotated[str, Names("policy")]
MetricName = Annotated[str, Names("metric")]
Checkpoint = Annotated[int, Names("round")]

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
    for path, what, value, _ in named:
        if what == "problem":
            check_choice(path, value, problems)
    for path, what, value, its_problem in named:
        for problem in concerns if its_problem is None else [its_problem]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, what, value, plan, f"{problem!r} at scale {scale!r}")


def metrics_in(model: BaseModel) -> list[str]:
    """Return the metrics that a table names."""
    return [value for _, what, value, _ in _named(model, "", None) if what == "metric"]


def _check_name(path: str, what: What, value: Any, plan: Plan, where: str) -> None:
    if what == "policy":
        check_choice(path, value, plan.policies)
    elif what == "metric":
        check_choice(path, value, plan.metrics)
    elif what == "round" and value not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, {_listed(plan.checkpoints)}; "
            f"got {value}"
        )


_Named = tuple[str, What, Any, str | None]


def _named(model: BaseModel, where: str, problem: str | None) -> Iterator[_Named]:
    """Yield what a table names: path, what it stands for, value, and on which problem if said."""
    problem = getattr(model, "problem", problem)
    for name, field in type(model).model_fields.items():
        value, path = getattr(model, name), f"{where}.{name}"
        yield from _within(field.annotation, field.metadata, value, path, problem)


def _within(
    hint: Any, notes: Sequence[Any], value: Any, path: str, problem: str | None
) -> Iterator[_Named]:
    """Yield what a value names, by its type, which may have notes; lists and tables hold others."""
    inner = get_args(hint)
    marks = [note.what for note in notes if isinstance(note, Names)]
    if isinstance(value, BaseModel):
        yield from _named(value, path, problem)
    elif marks and isinstance(value, str | int):
        yield path, marks[0], value, problem
    elif get_origin(hint) is Annotated:
        yield from _within(inner[0], inner[1:], value, path, problem)
    elif get_origin(hint) in (Union, UnionType):
        for one in inner:
            yield from _within(one, (), value, path, problem)
    elif get_origin(hint) is list and isinstance(value, list):
        for i, one in enumerate(value):
            yield from _within(inner[0], (), one, f"{path}[{i}]", problem)
    elif get_origin(hint) is dict and isinstance(value, dict):
        for key, one in value.items():
            yield from _within(inner[0], (), key, path, problem)
            yield from _within(inner[1], (), one, f"{path}.{key}", problem)


def _listed(rounds: Sequence[int]) -> str:
    if len(rounds) <= _LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"
