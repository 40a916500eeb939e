"""Names and short texts in an experiment's file (entry): their types, and whether they exist."""

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

_LISTED: Final = 12


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
    for path, what, value, _ in named:
        if what == "problem":
            check_choice(path, value, problems)
    for path, what, value, its_problem in named:
        for problem in problem_keys if its_problem is None else [its_problem]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, what, value, plan, f"{problem!r} at scale {scale!r}")


def names_in(model: BaseModel, what: NameKind) -> list[str]:
    """Return the distinct problems, policies or metrics that a table names, in order."""
    names = [value for _, kind, value, _ in _find_names(model, "", None) if kind == what]
    return list(dict.fromkeys(names))


def _check_name(path: str, what: NameKind, value: Any, plan: Plan, where: str) -> None:
    if what == "policy":
        check_choice(path, value, plan.policies)
    elif what == "metric":
        check_choice(path, value, plan.metrics)
    elif what == "round" and value not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, "
            f"{_list_rounds(plan.checkpoints)}; got {value}"
        )


_FoundName = tuple[str, NameKind, Any, str | None]


def _find_names(model: BaseModel, where: str, problem: str | None) -> Iterator[_FoundName]:
    """Yield the names in a table: path, kind, value, and the problem that it is on, if given."""
    # A cell that names its problem is checked against that problem alone, else against all of the
    # claim's.
    problem = getattr(model, "problem", problem)
    for name, field in type(model).model_fields.items():
        value, path = getattr(model, name), f"{where}.{name}"
        yield from _find_names_in_value(field.annotation, field.metadata, value, path, problem)


def _find_names_in_value(
    hint: Any, notes: Sequence[Any], value: Any, path: str, problem: str | None
) -> Iterator[_FoundName]:
    """Yield the names in a value, according to the annotations of its type."""
    # Of what a text is the name, only the annotation says: type and value are walked together.
    inner = get_args(hint)
    marks = [note.what for note in notes if isinstance(note, Names)]
    if isinstance(value, BaseModel):
        yield from _find_names(value, path, problem)
    elif marks and isinstance(value, str | int):
        yield path, marks[0], value, problem
    elif get_origin(hint) is Annotated:
        yield from _find_names_in_value(inner[0], inner[1:], value, path, problem)
    elif get_origin(hint) in (Union, UnionType):
        for one in inner:
            yield from _find_names_in_value(one, (), value, path, problem)
    elif get_origin(hint) in (list, tuple) and isinstance(value, list | tuple):
        for i, one in enumerate(value):
            yield from _find_names_in_value(inner[0], (), one, f"{path}[{i}]", problem)
    elif get_origin(hint) is dict and isinstance(value, dict):
        for key, one in value.items():
            yield from _find_names_in_value(inner[0], (), key, path, problem)
            yield from _find_names_in_value(inner[1], (), one, f"{path}.{key}", problem)


def _list_rounds(rounds: Sequence[int]) -> str:
    if len(rounds) <= _LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"


QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _few_words(most: int, ending: str = "") -> Any:
    """Return a validator of texts: empty, or one line of at most `most` words with this ending."""

    def check(text: str) -> str:
        if not text:
            return text
        # Pydantic's path, which begins the message, ends where this name begins.
        check_line("", text)
        if text != text.strip():
            raise ValueError(f" must not begin or end with a space, got {short_repr(text)}")
        words = len(text.split())
        if words > most:
            raise ValueError(f" must have at most {most} words, got {words}: {short_repr(text)}")
        if not text.endswith(ending):
            raise ValueError(f" must end with a question mark, got {short_repr(text)}")
        return text

    return AfterValidator(check)


Question = Annotated[str, _few_words(QUESTION_WORDS, "?")]
"""A question that can be answered with yes or no, in at most 14 words; or empty."""

ShortText = Annotated[str, _few_words(SHORT_WORDS)]
"""A claim in at most 12 plain words that are understood alone; or empty."""
