"""Types of fields of an entry: names, which are checked to exist, and short texts."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict

from keyhole.play.simulation_plan import Plan
from keyhole.validation import check_choice, check_line, short_repr

PlansOf = Callable[[str], Mapping[str, Plan]]
"""A function that returns the experiments on a problem by scale, given the problem's key."""


class TableModel(BaseModel):
    """A table of a TOML file; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The distinct keys of problems that the fields name, in order."""
        return self._names_of(ProblemKey)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The distinct metrics that the fields name, in order."""
        return self._names_of(MetricKey)

    def _names_of(self, name_class: type[str]) -> tuple[str, ...]:
        names = (name for _, name, _ in _walk_referenced_names(self, "", None))
        return tuple(dict.fromkeys(name for name in names if isinstance(name, name_class)))


class ProblemKey(str):
    """The key of a problem of the entry."""


class PolicyLabel(str):
    """The label of a policy of the entry."""


class MetricKey(str):
    """The name of a metric of the problems."""


class CheckpointRound(int):
    """A checkpoint of the problems."""


# Validation turns a name into an instance of one of these classes. The class says whether it names
# a problem, a policy, a metric or a checkpoint.
ProblemName = Annotated[str, AfterValidator(ProblemKey)]
PolicyName = Annotated[str, AfterValidator(PolicyLabel)]
MetricName = Annotated[str, AfterValidator(MetricKey)]
Checkpoint = Annotated[int, AfterValidator(CheckpointRound)]

Name = ProblemKey | PolicyLabel | MetricKey | CheckpointRound
_MOST_LISTED: Final = 12


def refuse_unknown_names(
    where: str, model: TableModel, problems: Collection[str], plans_of: PlansOf
) -> None:
    """Refuse a table that names an unknown problem, policy, metric or checkpoint.

    A name that belongs to a problem, such as the policy of a cell, must exist on that problem; any
    other name must exist on each problem of the table. `problems` are the keys of the entry's
    problems, and `where` begins error messages.
    """
    names = list(_walk_referenced_names(model, where, None))
    # Problems come first, since all other names are looked up in the plans of a problem.
    for path, name, _ in names:
        if isinstance(name, ProblemKey):
            check_choice(path, name, problems)
    for path, name, problem_of_name in names:
        for problem in model.problem_keys if problem_of_name is None else [problem_of_name]:
            for scale, plan in plans_of(problem).items():
                _check_name(path, name, plan, f"{problem!r} at scale {scale!r}")


def _check_name(path: str, name: Name, plan: Plan, where: str) -> None:
    """Refuse a policy, metric or checkpoint that an experiment lacks."""
    if isinstance(name, PolicyLabel):
        check_choice(path, name, plan.policies)
    elif isinstance(name, MetricKey):
        check_choice(path, name, plan.metrics)
    elif isinstance(name, CheckpointRound) and name not in plan.checkpoints:
        raise ValueError(
            f"{path} must be one of the checkpoints of {where}, "
            f"{_format_rounds(plan.checkpoints)}; got {name}"
        )


def _walk_referenced_names(
    value: object, path: str, problem: str | None
) -> Iterator[tuple[str, Name, str | None]]:
    """Yield the path of each name in a value, the name, and the problem that it belongs to.

    `problem` is the problem that the value belongs to; None if it belongs to none.
    """
    if isinstance(value, Name):
        yield path, value, problem
    elif isinstance(value, BaseModel):
        problem = getattr(value, "problem", problem)
        for field in type(value).model_fields:
            yield from _walk_referenced_names(getattr(value, field), f"{path}.{field}", problem)
    elif isinstance(value, list | tuple):
        for i, element in enumerate(value):
            yield from _walk_referenced_names(element, f"{path}[{i}]", problem)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from _walk_referenced_names(key, path, problem)
            owner = key if isinstance(key, ProblemKey) else problem
            yield from _walk_referenced_names(element, f"{path}.{key}", owner)


def _format_rounds(rounds: Sequence[int]) -> str:
    """Return rounds as text; of more than 12 only the first two and the last."""
    if len(rounds) <= _MOST_LISTED:
        return ", ".join(map(str, rounds))
    return f"{rounds[0]}, {rounds[1]}, ..., {rounds[-1]}"


QUESTION_WORDS: Final = 14
SHORT_WORDS: Final = 12


def _text_validator(limit: int, *, is_question: bool = False) -> AfterValidator:
    """Return a validator of texts that are empty, or one line of at most `limit` words."""

    def validate_text(text: str) -> str:
        if not text:
            return text
        # The name is empty, since messages of Pydantic begin with the path of the field.
        check_line("", text)
        if text != text.strip():
            raise ValueError(f" must not begin or end with a space, got {short_repr(text)}")
        count = len(text.split())
        if count > limit:
            raise ValueError(f" must have at most {limit} words, got {count}: {short_repr(text)}")
        if is_question and not text.endswith("?"):
            raise ValueError(f" must end with a question mark, got {short_repr(text)}")
        return text

    return AfterValidator(validate_text)


Question = Annotated[str, _text_validator(QUESTION_WORDS, is_question=True)]
"""A yes-or-no question of at most 14 words, or an empty text."""

ShortText = Annotated[str, _text_validator(SHORT_WORDS)]
"""A claim in at most 12 plain words that are understood without context, or an empty text."""
