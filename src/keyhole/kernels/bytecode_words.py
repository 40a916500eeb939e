"""The bytecode of a function as text for a digest, without docstrings and line numbers.

So compiled code stays valid when only comments, docstrings or places in the file change.
"""

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, Final

_SILENT: Final = ("EXTENDED_ARG", "CACHE")
# The flags that matter: `*args`, `**kwargs`, generators; not those that the compiler adds.
_FLAGS: Final = 0x2F
_JUMPS: Final = {*dis.hasjrel, *dis.hasjabs}
_NAMED: Final = {*dis.haslocal, *dis.hasfree}


@lru_cache(maxsize=4096)
def code_words(code: CodeType) -> tuple[str, ...]:
    """Return the arguments and the instructions of some code, in order.

    Constants are given where they are used, not as the table in which they lie: a docstring lies in
    the table, and no instruction uses it.

    Examples
    --------
    >>> def plain(x):
    ...     return x + 1
    >>> def described(x):
    ...     '''Return the next number.'''
    ...     return x + 1  # which is larger
    >>> code_words(plain.__code__) == code_words(described.__code__)
    True
    """
    taken = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
    names = code.co_varnames[: taken + bool(code.co_flags & 8)]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    head = [repr((names, counts, code.co_flags & _FLAGS, code.co_freevars, code.co_cellvars))]
    return (*head, *_instructions(code), repr(code.co_exceptiontable))


def _instructions(code: CodeType) -> Iterator[str]:
    steps: list[dis.Instruction] = []
    # Jump targets as numbers of instructions: offsets would depend on how long arguments are. A
    # jump may lead to the EXTENDED_ARG in front of an instruction.
    place: dict[int, int] = {}
    for step in dis.get_instructions(code):
        place[step.offset] = len(steps)
        if step.opname not in _SILENT:
            steps.append(step)
    for step in steps:
        yield step.opname
        if step.opcode in dis.hasconst:
            yield from _constant(step.argval)
        elif step.opcode in _JUMPS:
            yield str(place[step.argval])
        elif step.opcode in dis.hasname:
            yield f"{step.argval} {(step.arg or 0) & 1}"  # the bit: whether it is called
        elif step.opcode in _NAMED:
            yield str(step.argval)
        else:
            yield str(step.arg)


def _constant(value: Any) -> Iterator[str]:
    if isinstance(value, CodeType):
        yield "code"
        yield from code_words(value)
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))  # a set's order changes between processes
    elif isinstance(value, tuple):
        yield f"{len(value)} constants"
        for item in value:
            yield from _constant(item)
    else:
        yield f"{type(value).__name__} {value!r}"
