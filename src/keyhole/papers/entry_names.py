"""Types of the names and short texts in an entry, and the check that the names exist."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel

from keyhole.play.simulation_plan import Plan
from keyhole.validate import check_choice, check_line, short_repr

PlansOf = Callable[[str], Mapping[str, Plan]]
"""Returns the experiments on a problem, by scale, given its key."""

NameKind = Literal["problem", "policy", "metric", "round"]


@dataclass(frozen=True)
class Names:
    """Annotation of a type whose values are names of existing things."""

    what: NameKind


ProblemName = Annotated[str, Names("problem")]
PolicyName = Annotated[str, Names("policy")]
MetricName = Annotated[str, Names("metric")]
Checkpoint = Annotated[int, Names("round")]

_MOST_LISTED: Final = 12


def refuse_unknown(
    where: str,
    model: BaseModel,
    problem_keys: Sequence[str],
    problems: Collection[str],
    plans_of: PlansOf,
) -> None:
    """Refuse a table that names an unknown problem, policy, metric or checkpoint."""
    named = list(_find_names(model, where, None))
    # First all problems, since other names are looked up in the plans of problems.
    for path, name_kind, value, _ in named:
        if name_kind == "problem":
            check_choice(path, value, problems)
    for path, name_kind, value, its_problem in named:
        for problem in problem_keys if its_problem is None else [its_problem]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, name_kind, value, plan, f"{problem!r} at scale {scale!r}")


def names_in(model: BaseModel, name_kind: NameKind) -> list[str]:
    """Return the distinct problems, policies or metrics that a table names, in order."""
    named = _find_names(model, "", None)
    return list(dict.fromkeys(str(name) for _, its_kind, name, _ in named if its_kind == name_kind))


def _check_name(path: str, name_kind: NameKind, value: object, plan: Plan, where: str) -> None:
    if name_kind == "policy":
        check_choice(path, value, plan.policies)
    elif name_kind == "metric":
        check_choice(path, value, plan.metrics)
    elif name_kind == "round" and value not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, "
            f"{_list_rounds(plan.checkpoints)}; got {value}"
        )


_NameInTable = tuple[str, NameKind, str | int, str | None]


def _find_names(model: BaseModel, where: str, problem: str | None) -> Iterator[_NameInTable]:
    """Yield the names in a table: path, kind, value, and the problem that it is on, if given."""
    # A cell that names its problem is checked against that problem alone, else against all of the
    # claim's.
    problem = getattr(model, "problem", problem)
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        path = f"{where}.{name}"
        yield from _find_names_in_value(field.annotation, field.metadata, value, path, problem)


def _find_names_in_value(
    hint: Any, notes: Sequence[object], value: object, path: str, problem: str | None
) -> Iterator[_NameInTable]:
    """Yield the names in a value, according to the annotations of its type."""
    # Of what a text is the name, only the annotation says: type and value are walked together.
    inner_types = get_args(hint)
    kinds = [note.what for note in notes if isinstance(note, Names)]
    if isinstance(value, BaseModel):
        yield from _find_names(value, path, problem)
    elif kinds and isinstance(value, str | int):
        yield path, kinds[0], value, problem
    elif get_origin(hint) is Annotated:
        yield from _find_names_in_value(inner_types[0], inner_types[1:], value, path, problem)
    elif get_origin(hint) in (Union, UnionType):
        for element in inner_types:
            yield from _find_names_in_value(element, (), value, path, problem)
    elif get_origin(hint) in (list, tuple) and isinstance(value, list | tuple):
        for i, element in enumerate(value):
            yield from _find_names_in_value(inner_types[0], (), element, f"{path}[{i}]", problem)
    elif get_origin(hint) is dict and isinstance(value, dict):
        for key, element in value.items():
            yield from _find_names_in_value(inner_types[0], (), key, path, problem)
            yield from _find_names_in_value(inner_types[1], (), element, f"{path}.{key}", problem)


def _list_rounds(rounds: Sequence[int]) -> str:
    if len(rounds) <= _MOST_LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"


QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _few_words(limit: int, ending: str = "") -> AfterValidator:
    """Return a validator of texts: empty, or one line of at most `most` words with this ending."""

    def check(text: str) -> str:
        if not text:
            return text
        # Pydantic's path, which begins the message, ends where this name begins.
        check_line("", text)
        if text != text.strip():
            raise ValueError(f" must not begin or end with a space, got {short_repr(text)}")
        count = len(text.split())
        if count > limit:
            raise ValueError(f" must have at most {limit} words, got {count}: {short_repr(text)}")
        if not text.endswith(ending):
            raise ValueError(f" must end with a question mark, got {short_repr(text)}")
        return text

    return AfterValidator(check)


Question = Annotated[str, _few_words(QUESTION_WORDS, "?")]
"""A question that can be answered with yes or no, in at most 14 words; or empty."""

ShortText = Annotated[str, _few_words(SHORT_WORDS)]
"""A claim in at most 12 plain words that are understood alone; or empty."""
