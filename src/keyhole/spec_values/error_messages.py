"""Error messages about a file, in one line: the field, what is allowed, and the value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from keyhole.validation import short_repr, suggestion

if TYPE_CHECKING:  # settings can be imported without pydantic
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

# Pydantic's names for branches of a union, in the path of a field.
_BRANCH: Final = re.compile(r"float|constrained-\w+|list\[.*\]")
# Pydantic's words, and the words that users know.
_WORDS: Final = {"a valid dictionary": "a table", "a valid string": "a text"}


def unknown_name_error(path: str, names: Iterable[str]) -> ValueError:
    """Return the error of an unknown entry, to be raised.

    Examples
    --------
    >>> unknown_name_error("problem.treshold", ["means", "threshold"])
    ValueError("problem.treshold is not known; known are means, threshold (did you mean \
'threshold'?)")
    """
    known_names = list(names)
    known_text = f"known are {', '.join(known_names)}" if known_names else "there are none here"
    return ValueError(
        f"{path} is not known; {known_text}{suggestion(path.rpartition('.')[2], known_names)}"
    )


def check_entries(path: str, table: Iterable[str], names: Iterable[str]) -> None:
    """Refuse an unknown entry of a table; `path` is the path of the table, or empty.

    Examples
    --------
    >>> check_entries("limits", {"from": 1, "to": 2}, ["from", "to", "count"])
    """
    for entry in table:
        if entry not in names:
            raise unknown_name_error(f"{path}.{entry}".removeprefix("."), names)


def join_errors(texts: Sequence[str]) -> str:
    """Join error messages on one line, with numbers if there are several.

    Examples
    --------
    >>> join_errors(["seed must be at least 0, got -1", "horizon must be given"])
    '2 errors: (1) seed must be at least 0, got -1; (2) horizon must be given'
    """
    if len(texts) == 1:
        return texts[0]
    numbered = (f"({number}) {text}" for number, text in enumerate(texts, 1))
    return f"{len(texts)} errors: {'; '.join(numbered)}"


def list_errors(
    error: ValidationError,
    tables: Mapping[str, type[BaseModel]] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> list[str]:
    """Return a message for pydantic's first error in each entry at the top of the file.

    A message names the field, what is allowed, and the value. `tables` has the models of tables by
    path: the message on an unknown entry lists the entries of the model. `descriptions` has, by the
    path of a table or list, the words after "must" in the message on a value of another type.
    """
    # Only the first error is kept, since a value that fits no branch of a union has an error for
    # each branch.
    first_by_field = {detail["loc"][:1]: detail for detail in reversed(error.errors())}
    details = reversed(first_by_field.values())
    return [_describe_error(detail, tables or {}, descriptions or {}) for detail in details]


def error_message(
    error: ValidationError,
    tables: Mapping[str, type[BaseModel]] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> str:
    """Return the messages of `list_errors` as one line."""
    return join_errors(list_errors(error, tables, descriptions))


def _describe_error(
    detail: ErrorDetails, tables: Mapping[str, type[BaseModel]], descriptions: Mapping[str, str]
) -> str:
    branches = {model.__name__ for model in tables.values()}
    path = ""
    for step in detail["loc"]:
        if isinstance(step, int):
            path += f"[{step}]"
        # The path also has branches of unions, which no user has written.
        elif step not in branches and not _BRANCH.fullmatch(step):
            path += f".{step}" if path else step
    if detail["type"] == "missing":
        return f"{path} must be given"
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        table = tables.get(path.rpartition(".")[0])
        if table is None:
            return f"{path} is not known and must be left out"
        return str(unknown_name_error(path, table.model_fields))
    if detail["type"] == "value_error":  # raised by a validator of ours
        # The text begins with a space unless it names the field.
        text = str(detail["ctx"]["error"])
        return path + text if text.startswith(" ") else text
    is_of_another_form = detail["type"] in ("model_type", "list_type")
    description = descriptions.get(path) if is_of_another_form else None
    return (
        f"{path} must {description or _describe_allowed(detail)}, got {short_repr(detail['input'])}"
    )


def _describe_allowed(detail: ErrorDetails) -> str:
    """Return the words after "must" that say what is allowed, from pydantic's message."""
    if detail["type"] == "model_type":
        return "be a table"
    text = re.sub(r"^\w+ should ", "", detail["msg"])
    for pydantic_words, replacement in _WORDS.items():
        text = text.replace(pydantic_words, replacement)
    return text[0].lower() + text[1:]
