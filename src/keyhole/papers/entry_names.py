"""Types of the names and short texts in an entry, and the check that the names exist."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel

from keyhole.play.simulation_plan import Plan
from keyhole.validate import check_choice, check_line, short_repr

PlansOf = Callable[[str], Mapping[str, Plan]]
"""Returns the experiments on a problem, by scale, given its key."""


class ProblemKey(str):
    """The key of a problem of the entry."""


class PolicyLabel(str):
    """The label of a policy of the entry."""


class MetricKey(str):
    """The name of a metric of the problems."""


class Round(int):
    """A checkpoint of the problems."""


ProblemName = Annotated[str, AfterValidator(ProblemKey)]
PolicyName = Annotated[str, AfterValidator(PolicyLabel)]
MetricName = Annotated[str, AfterValidator(MetricKey)]
Checkpoint = Annotated[int, AfterValidator(Round)]

Name = ProblemKey | PolicyLabel | MetricKey | Round
_MOST_LISTED: Final = 12


def refuse_unknown(
    where: str,
    model: BaseModel,
    problem_keys: Sequence[str],
    problems: Collection[str],
    plans_of: PlansOf,
) -> None:
    """Refuse a table that names an unknown problem, policy, metric or checkpoint."""
    names = list(_find_names(model, where, None))
    # First all problems, since other names are looked up in the plans of problems.
    for path, name, _ in names:
        if isinstance(name, ProblemKey):
            check_choice(path, name, problems)
    for path, name, problem_of_name in names:
        for problem in problem_keys if problem_of_name is None else [problem_of_name]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, name, plan, f"{problem!r} at scale {scale!r}")


def problems_in(model: BaseModel) -> list[str]:
    """Return the distinct problems that a table names, in order."""
    names = (name for _, name, _ in _find_names(model, "", None))
    return list(dict.fromkeys(name for name in names if isinstance(name, ProblemKey)))


def metrics_in(model: BaseModel) -> list[str]:
    """Return the distinct metrics that a table names, in order."""
    names = (name for _, name, _ in _find_names(model, "", None))
    return list(dict.fromkeys(name for name in names if isinstance(name, MetricKey)))


def _check_name(path: str, name: Name, plan: Plan, where: str) -> None:
    """Refuse a policy, metric or checkpoint that an experiment lacks."""
    if isinstance(name, PolicyLabel):
        check_choice(path, name, plan.policies)
    elif isinstance(name, MetricKey):
        check_choice(path, name, plan.metrics)
    elif isinstance(name, Round) and name not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, "
            f"{_list_rounds(plan.checkpoints)}; got {name}"
        )


def _find_names(
    value: object, path: str, problem: str | None
) -> Iterator[tuple[str, Name, str | None]]:
    """Yield the path of each name in a value, the name, and the problem that it is on, if given."""
    if isinstance(value, Name):
        yield path, value, problem
    elif isinstance(value, BaseModel):
        # A cell that names its problem is checked against that problem alone, else against all of
        # the claim's.
        problem = getattr(value, "problem", problem)
        for field in type(value).model_fields:
            yield from _find_names(getattr(value, field), f"{path}.{field}", problem)
    elif isinstance(value, list | tuple):
        for i, element in enumerate(value):
            yield from _find_names(element, f"{path}[{i}]", problem)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from _find_names(key, path, problem)
            yield from _find_names(element, f"{path}.{key}", problem)


def _list_rounds(rounds: Sequence[int]) -> str:
    """Return rounds as text; of many, the first two and the last."""
    if len(rounds) <= _MOST_LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"


QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _few_words(limit: int, ending: str = "") -> AfterValidator:
    """Return a validator of texts: empty, or one line of at most `limit` words, with an ending."""

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
