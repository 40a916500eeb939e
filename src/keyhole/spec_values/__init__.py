"""Readers of values in specs: problem factories, tables that name a type, error messages."""

from keyhole.spec_values.error_messages import (
    error_message,
    join_errors,
    list_errors,
    unknown_name_error,
)
from keyhole.spec_values.problem_factory import Argument, ProblemFactory
from keyhole.spec_values.value_readers import (
    ValueReader,
    file_path,
    list_of,
    plain_value,
    tagged_union_reader,
    tagged_value_reader,
)

__all__ = [
    "Argument", "ProblemFactory", "ValueReader", "error_message", "file_path", "join_errors",
    "list_errors", "list_of", "plain_value", "tagged_union_reader", "tagged_value_reader",
    "unknown_name_error",
]  # fmt: skip
