"""Static checks of kernels, before they are compiled; errors name the author's own line."""

import dis
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias, cast

from keyhole.contract.state_arrays import Field
from keyhole.kernels.fingerprint import Kernel, python_function
from keyhole.kernels.kernel_decorators import intrinsic, set_python_equivalent
from keyhole.validation import suggestion

# Instructions of Python's bytecode.
_READS: Final = ("LOAD_ATTR", "LOAD_METHOD")
_WRITES: Final = ("STORE_ATTR", "DELETE_ATTR")
_RETURNS: Final = ("RETURN_VALUE", "RETURN_CONST")

_NOTHING: Final = "nothing"
_BOOL: Final = "True or False"
_WHOLE: Final = "a whole number"
_FRACTION: Final = "a number with a fraction"
_ARRAY: Final = "an array"
_REQUIRED_TEXTS: Final = {"int64": _WHOLE, "float64": "a number", "bool": _BOOL}
_TYPE_TEXTS: Final = (
    (type(None), _NOTHING), (bool, _BOOL), (int, _WHOLE), (float, _FRACTION), (str, "text"),
)  # fmt: skip

# A returned value in words. The description of a tuple is a tuple of descriptions.
_Description: TypeAlias = "str | tuple[_Description, ...]"


def source_location(kernel: Kernel, line: int = 0) -> str:
    """Return file and line of a kernel, by default its first line."""
    code = python_function(kernel).__code__
    return f"{code.co_filename}, line {line or code.co_firstlineno}"


def kernel_argument_names(kernel: Kernel) -> tuple[str, ...]:
    """Return the argument names of a kernel."""
    code = python_function(kernel).__code__
    return code.co_varnames[: code.co_argcount]


def check_argument_names(owner: str, kernel: Kernel, allowed: Collection[str]) -> None:
    """Refuse a kernel with an argument that is not allowed."""
    for name in kernel_argument_names(kernel):
        if name not in allowed:
            raise TypeError(
                f"{owner}.{python_function(kernel).__name__} names {name!r}; it may name "
                f"{', '.join(allowed)}{suggestion(name, allowed)} ({source_location(kernel)})"
            )


def check_exact_arguments(owner: str, kernel: Kernel, required: Sequence[str]) -> None:
    """Refuse a function whose arguments differ from those with which kernels call it."""
    if (names := kernel_argument_names(kernel)) != tuple(required):
        name = python_function(kernel).__name__
        raise TypeError(
            f"{owner}.{name} must take ({', '.join(required)}), since it is called with these, in "
            f"this order; got ({', '.join(names)}) ({source_location(kernel)})"
        )


def find_attribute_uses(code: CodeType, variable: str) -> Iterator[tuple[str, int, bool]]:
    """Yield each use of a variable's attributes in code: name, line, and whether it is written.

    Nothing is yielded for a variable that the code assigns itself.

    Examples
    --------
    >>> def total(p, s):
    ...     return s.totals[0] / p.scale
    >>> [name for name, line, written in find_attribute_uses(total.__code__, "s")]
    ['totals']
    """
    # Bytecode is read, not source text, since a kernel may be written in a notebook cell or by
    # `exec`.
    steps = [
        step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")
    ]
    # After an assignment the variable may be anything, and a wrong error would be worse than none.
    if any("STORE_FAST" in step.opname and variable in _operands(step) for step in steps):
        return
    for previous_step, step in pairwise(steps):
        if step.opname in (*_READS, *_WRITES):
            is_load = "LOAD_FAST" in previous_step.opname or previous_step.opname == "LOAD_DEREF"
            if is_load and _operands(previous_step)[-1] == variable:
                line = (step.positions and step.positions.lineno) or 0
                yield step.argval, line, step.opname in _WRITES
    # Nested functions have the variable as a free variable.
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and variable in constant.co_freevars:
            yield from find_attribute_uses(constant, variable)


def _operands(step: dis.Instruction) -> tuple[object, ...]:
    # From Python 3.13 on, one instruction may load or store two variables.
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def check_field_access(
    owner: str,
    kernel: Kernel,
    variable: str,
    field_names: Collection[str],
    remedy: Callable[[str], str],
) -> None:
    """Refuse a kernel that uses a field that does not exist, such as ``p.treshold``.

    `variable` is ``p``, ``e`` or ``s``. `remedy` takes the name of an unknown field, and returns
    what to do, or "". Functions to which the kernel passes the variable are not checked.
    """
    if variable not in kernel_argument_names(kernel):
        return
    function = python_function(kernel)
    for name, line, is_written in find_attribute_uses(function.__code__, variable):
        location = f"{owner}.{function.__name__} ({source_location(kernel, line)})"
        if is_written:
            remedy_text = f"write to its entries, {variable}.{name}[...]"
            if variable != "s":
                remedy_text = "a kernel may change only the state"
            raise TypeError(f"{location} assigns to {variable}.{name}: {remedy_text}")
        if name not in field_names:
            fields_text = f"{variable} has {', '.join(field_names) or 'no fields'}"
            text = remedy(name) or f"{fields_text}{suggestion(name, field_names)}"
            raise ValueError(f"{location} reads {variable}.{name}: {text}")


def make_return_check(owner: str, kernel: Kernel, result_fields: Mapping[str, Field]) -> Kernel:
    """Return a compiled function that returns a kernel's result, and refuses one of a wrong type.

    The type is checked during compilation, so machine code has no check. Without the check, an
    error would name the line of Keyhole that uses the result.
    """
    integers = (_BOOL, _WHOLE)
    texts = {"float64": (*integers, _FRACTION)}
    allowed_texts = [texts.get(field.dtype, integers) for field in result_fields.values()]
    allowed_types = {cls for cls, text in _TYPE_TEXTS if _can_return(text, allowed_texts)}

    def check_result_type(description: _Description) -> None:
        if not _can_return(description, allowed_texts):
            function = python_function(kernel)
            required_text = _describe_result_fields(result_fields)
            # Returns of None do not count, since Python ends every function with such a return.
            lines = [line for line, is_none in _list_returns(function) if not is_none]
            location = source_location(kernel, min(lines, default=0))
            raise TypeError(
                f"{owner}.{function.__name__} must return {required_text}, got "
                f"{_description_as_text(description)} ({location})"
            )

    @intrinsic
    def returned(typing, value):  # type: ignore[no-untyped-def]
        check_result_type(_describe_type(value))

        # The value is returned as it is, since its type has been checked.
        return value(value), lambda context, builder, signature, args: args[0]

    def return_checked(value: object) -> object:
        # This fast check comes first, since it runs in every round.
        if type(value) not in allowed_types:
            check_result_type(_describe_value(value))
        return value

    return set_python_equivalent(returned, return_checked)


def _can_return(description: _Description, allowed_texts: Sequence[Collection[str]]) -> bool:
    """Return whether a kernel may return a value of this description.

    `allowed_texts` has the allowed descriptions of each value that must be returned.
    """
    if not allowed_texts:
        return description == _NOTHING
    values = (description,) if len(allowed_texts) == 1 else description
    return (
        isinstance(values, tuple)
        and len(values) == len(allowed_texts)
        and all(value in texts for value, texts in zip(values, allowed_texts, strict=True))
    )


def _describe_result_fields(result_fields: Mapping[str, Field]) -> str:
    """Return the description of the values that a kernel must return."""
    texts = tuple(
        ", ".join(filter(None, (_REQUIRED_TEXTS[field.dtype], name)))
        for name, field in result_fields.items()
    )
    if len(texts) > 1:
        return _description_as_text(texts)
    return "".join(texts) or _NOTHING


def _describe_value(value: object) -> _Description:
    """Return the description of a value that an interpreted kernel returns."""
    if isinstance(value, tuple):
        return tuple(map(_describe_value, value))
    return next((text for cls, text in _TYPE_TEXTS if isinstance(value, cls)), _ARRAY)


def _describe_type(value: object) -> _Description:
    """Return the description of a value that a compiled kernel returns, from its Numba type."""
    from numba import types  # imported only while something is compiled

    if isinstance(value, types.BaseTuple):
        return tuple(map(_describe_type, cast(Any, value)))
    if isinstance(value, types.Optional):
        return f"{_description_as_text(_describe_type(value.type))} or {_NOTHING}"
    numba_types = (types.NoneType, types.Boolean, types.Integer, types.Float, types.Array)
    texts = (_NOTHING, _BOOL, _WHOLE, _FRACTION, _ARRAY)
    pairs = zip(numba_types, texts, strict=True)
    return next((text for numba_type, text in pairs if isinstance(value, numba_type)), str(value))


def _description_as_text(description: _Description) -> str:
    if isinstance(description, str):
        return description
    return f"({'; '.join(map(_description_as_text, description))})"


def check_returns_value(owner: str, kernel: Kernel) -> None:
    """Refuse a kernel that may end without returning a value."""
    function = python_function(kernel)
    for line, is_none in _list_returns(function):
        if is_none:
            raise TypeError(
                f"{owner}.{function.__name__} must return a value in every case, but may end "
                f"without one ({source_location(kernel, line)})"
            )


def _list_returns(function: FunctionType) -> Iterator[tuple[int, bool]]:
    """Yield the line of each return of a function, and whether it returns None."""
    constant: object = ...  # loaded by the previous instruction; `...` if it loaded no constant
    for step in dis.get_instructions(function.__code__):
        if step.opname in _RETURNS and step.positions and step.positions.lineno:
            if step.opname == "RETURN_CONST":
                constant = step.argval
            yield step.positions.lineno, constant is None
        constant = step.argval if step.opname == "LOAD_CONST" else ...
