"""Fingerprint of a kernel: a digest of its code and of everything it uses.

Numba compiles a function together with the values of its globals, but Numba's own disk cache checks
only the file of the function. Its cache may therefore return old machine code of changed helpers.
Here a kernel is followed through everything it uses, and the fingerprint of that graph is part of
the cache key.
"""

import builtins
import dis
import hashlib
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Final, TypeGuard
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels import kernel_decorators
from keyhole.kernels.interpreted_mode import Kernel as Kernel
from keyhole.kernels.kernel_decorators import is_bounds_checked, is_kernel
from keyhole.kernels.package_digest import COMPILED_PACKAGES
from keyhole.validation import suggestion

Copies = dict[FunctionType, Kernel]  # compiled copies, by original

# Modules whose sources are in every cache key as a whole, so that their functions need not be
# followed.
_COVERED_PREFIXES: Final = tuple(f"keyhole.{name}." for name in COMPILED_PACKAGES)

_IGNORED_OPERATIONS: Final = ("EXTENDED_ARG", "CACHE")
# The flags of a code object that are part of its fingerprint (`*args`, `**kwargs` and generators,
# among others). The flags of `from __future__` imports are not.
_FLAGS: Final = 0x2F
_JUMP_OPCODES: Final = {*dis.hasjrel, *dis.hasjabs}
_OPCODES_OF_VARIABLES: Final = {*dis.haslocal, *dis.hasfree}
_RAISE_OPERATION: Final = "RAISE_VARARGS"
_PLAIN_TYPES: Final = (bool, int, float, complex, str, bytes)
# Modules whose content is fixed by their version, which is part of the cache key.
_FIXED_MODULES: Final = ("math", "cmath", "builtins", "operator", "numpy", "numba", "llvmlite")


# Copies of Keyhole's own functions, with checked indices. These functions cannot change within a
# process, so one copy of each is enough.
_bounds_checked_copies: Final[WeakKeyDictionary[FunctionType, Kernel]] = WeakKeyDictionary()

# Copies in use, by fingerprint and location, so that helpers which several policies share are
# compiled once. The location is part of the key because errors of the compiler name the line.
_copies: Final[WeakValueDictionary[tuple[object, ...], Kernel]] = WeakValueDictionary()

# The size of the largest array that a kernel may use. Numba refers to larger arrays by their
# address, which is valid in one process only.
_MAX_ARRAY_BYTES: Final = 10**6


def python_function(function: Kernel) -> FunctionType:
    """Return the Python function of a kernel: the kernel itself unless it is compiled."""
    plain: object = function
    if is_kernel(function):
        plain = getattr(function, "py_func", None)
    if not isinstance(plain, FunctionType):
        raise TypeError(f"a kernel must be a function written in Python, got {function!r}")
    return plain


def is_function(value: object) -> TypeGuard[Kernel]:
    """Return whether a value is a function that can be followed, compiled or not."""
    return is_kernel(value) or isinstance(value, FunctionType)


@lru_cache(maxsize=4096)
def instruction_texts(code: CodeType) -> tuple[str, ...]:
    """Return the parameters and the instructions of some code as texts, in order.

    A constant stands with the instruction that uses it. The table of constants is left out, since
    that table also has the docstring, which no instruction uses.

    Examples
    --------
    >>> def plain(x):
    ...     return x + 1
    >>> def described(x):
    ...     '''Return the next number.'''
    ...     return x + 1  # which is larger
    >>> instruction_texts(plain.__code__) == instruction_texts(described.__code__)
    True
    """
    # Flag 4 means `*args`, flag 8 `**kwargs`.
    argument_count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
    names = code.co_varnames[: argument_count + bool(code.co_flags & 8)]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    head = [repr((names, counts, code.co_flags & _FLAGS, code.co_freevars, code.co_cellvars))]
    return (*head, *_instruction_parts(code), repr(code.co_exceptiontable))


def _instruction_parts(code: CodeType) -> Iterator[str]:
    """Yield the name of each instruction, and the texts of its operand."""
    instructions: list[dis.Instruction] = []
    # The target of a jump is given as the number of an instruction, since offsets depend on the
    # lengths of arguments. An EXTENDED_ARG has the number of the instruction that follows it, since
    # a jump to that instruction leads to its EXTENDED_ARG.
    numbers_by_offset: dict[int, int] = {}
    for instruction in dis.get_instructions(code):
        numbers_by_offset[instruction.offset] = len(instructions)
        if instruction.opname not in _IGNORED_OPERATIONS:
            instructions.append(instruction)
    for instruction in instructions:
        yield instruction.opname
        if instruction.opcode in dis.hasconst:
            yield from _constant_parts(instruction.argval)
        elif instruction.opcode in _JUMP_OPCODES:
            yield str(numbers_by_offset[instruction.argval])
        elif instruction.opcode in dis.hasname:
            is_called = (instruction.arg or 0) & 1  # set if a global or attribute is called
            yield f"{instruction.argval} {is_called}"
        elif instruction.opcode in _OPCODES_OF_VARIABLES:
            yield str(instruction.argval)
        else:
            yield str(instruction.arg)


def _constant_parts(value: object) -> Iterator[str]:
    """Yield the texts of a constant, which are the same in every process."""
    if isinstance(value, CodeType):
        yield "code"
        yield from instruction_texts(value)
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))  # a set's order changes between processes
    elif isinstance(value, tuple):
        yield f"{len(value)} constants"
        for item in value:
            yield from _constant_parts(item)
    else:
        yield f"{type(value).__name__} {value!r}"


Chain = tuple[str, ...]  # names of attributes, each read from the last: ("b", "c") in `a.b.c`
# Converts the value of a name, given the chains of attributes that are read from it.
Convert = Callable[[str, object, Iterable[Chain]], object]

_LOAD_OPERATIONS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTE_OPERATIONS: Final = ("LOAD_ATTR", "LOAD_METHOD")


@lru_cache(maxsize=4096)
def find_references(code: CodeType) -> dict[str, tuple[Chain, ...]]:
    """Return the global and closure names that code reads, each with its chains of attributes.

    ``a.b.c + a`` gives ``{"a": ((), ("b", "c"))}``. Functions inside the code count too.

    Examples
    --------
    >>> import math
    >>> def area(p, radius):
    ...     return p.scale * math.pi * radius**2
    >>> find_references(area.__code__)
    {'math': (('pi',),)}
    """
    chains_by_name: dict[str, set[Chain]] = {}
    instructions = [
        (step.opname, step.argval)
        for step in dis.get_instructions(code)
        if step.opname != "EXTENDED_ARG"
    ]
    for i, (operation, name) in enumerate(instructions):
        if operation in _LOAD_OPERATIONS:
            chain = takewhile(lambda step: step[0] in _ATTRIBUTE_OPERATIONS, instructions[i + 1 :])
            chains_by_name.setdefault(name, set()).add(tuple(attribute for _, attribute in chain))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for name, chains in find_references(constant).items():
                if name not in code.co_cellvars:  # cell variables are the code's own
                    chains_by_name.setdefault(name, set()).update(chains)
    return {name: tuple(sorted(chains_by_name[name])) for name in sorted(chains_by_name)}


def used_variables(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals and closure variables that a function uses, with their values."""
    closure_names = function.__code__.co_freevars
    for name in find_references(function.__code__):
        if name in function.__globals__ and name not in closure_names:
            yield name, function.__globals__[name]
    for name, cell in zip(closure_names, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def fingerprint(function: Kernel, *, error_lines: bool = False) -> str:
    """Return a digest of a function's code and of everything it uses.

    The digest is the same in every process until the code, or something that it uses, changes. With
    `error_lines`, it also covers the file and lines of each function that raises errors, since
    Numba compiles them into the machine code.
    """
    return _FingerprintWalk(function, error_lines).digest.hexdigest()


def fingerprint_parts(function: Kernel) -> dict[str, str]:
    """Return the parts that `fingerprint` covers, by name: constants as text, others as digests.

    Names of variables and modules are left out, since they follow from the sources.
    """
    return {
        name: hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else repr(content)
        for name, content in _FingerprintWalk(function, error_lines=True).parts.items()
    }


class CodeDigest(str):
    """The digest of a piece of code, with a function that returns its parts by name."""

    parts: Callable[[], dict[str, str]] = dict


def code_location(code: CodeType) -> tuple[str, int, bytes]:
    """Return the file, the first line and the line table of some code."""
    return code.co_filename, code.co_firstlineno, code.co_linetable


def is_shipped(function: Kernel) -> bool:
    """Return whether a function, and every function that it uses, is Keyhole's own."""
    visited = _FingerprintWalk(function).visited
    return all(_module_name(member).startswith("keyhole.") for _, member in visited.values())


def _module_name(function: FunctionType) -> str:
    """Return the name of the module whose globals a function uses; `__module__` may differ."""
    return str(function.__globals__.get("__name__", ""))


def _is_fixed_by_version(value: object) -> bool:
    """Return whether a value belongs to a module whose version fixes its content."""
    module = getattr(value, "__module__", None) or ""
    if module.split(".")[0] not in _FIXED_MODULES:
        return False
    wrapped_function = getattr(value, "__wrapped__", None)  # `numba.cfunc` wraps a user's function
    return wrapped_function is None or _is_fixed_by_version(wrapped_function)


def _encode_items(items: Iterable[object]) -> bytes:
    """Return items as bytes, each with its length in front."""
    texts = [item if isinstance(item, bytes) else repr(item).encode() for item in items]
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)


@lru_cache(maxsize=4096)
def _code_bytes(code: CodeType) -> bytes:
    """Return the `instruction_texts` of some code as bytes; cached, since graphs share helpers."""
    return _encode_items(instruction_texts(code))


class _FingerprintWalk:
    """Computes the digest, and its parts, of a function and of everything that it uses."""

    def __init__(self, function: Kernel, error_lines: bool = False) -> None:
        self.digest = hashlib.sha256()
        self.error_lines = error_lines
        # For each function, by its id, the number of its first visit, and the function itself. The
        # number tells apart functions of one name; the reference keeps the id from being reused.
        self.visited: dict[int, tuple[int, FunctionType]] = {}
        self.parts: dict[str, object] = {}
        self.add_function(python_function(function))

    def add_items(self, *items: object) -> None:
        self.digest.update(_encode_items(items))

    def add_function(self, function: FunctionType) -> None:
        if _module_name(function).startswith(_COVERED_PREFIXES):
            self.add_items(function.__module__, function.__qualname__)
            return
        # On a second visit, as in a recursion, only the number of the first visit is added.
        if id(function) in self.visited:
            self.add_items("seen", self.visited[id(function)][0])
            return
        self.visited[id(function)] = (len(self.visited), function)
        code = function.__code__
        self.digest.update(_code_bytes(code))
        self.parts[f"the source of {function.__qualname__}"] = _code_bytes(code)
        if self.error_lines and _RAISE_OPERATION in instruction_texts(code):
            self.add_items(*code_location(code))
            lines = _encode_items(code_location(code))
            self.parts[f"the lines of {function.__qualname__}, which raises errors"] = lines
        _check_globals(function)
        for default in function.__defaults__ or ():
            self.add_value(f"{function.__qualname__} has a default", default, ())
        for name, value in used_variables(function):
            self.add_items(name)
            chains = find_references(function.__code__).get(name, ())
            self.add_value(f"{function.__qualname__} uses {name!r}", value, chains)

    def add_value(self, use: str, value: object, chains: Iterable[Chain]) -> None:
        """Add a value; `use`, such as "f uses 'x'", is its name in errors and in `parts`."""
        if is_function(value):
            self.add_function(python_function(value))
        elif kernel_decorators.is_intrinsic(value):
            # The function that builds the intrinsic's code, or for `load_intrinsic` its equivalent.
            self.add_function(vars(value)["__wrapped__"])
        elif isinstance(value, ModuleType):
            self.add_module(use, value, chains)
        elif isinstance(value, np.ndarray):
            self.add_array(use, value)
        elif isinstance(value, tuple):
            self.add_items(type(value).__qualname__, len(value), getattr(value, "_fields", ()))
            for item in value:
                self.add_value(use, item, ())
        elif isinstance(value, type):
            self.add_type(use, value)
        elif (
            value is None
            or type(value) in _PLAIN_TYPES
            or isinstance(value, np.generic)
            or kernel_decorators.is_numba_type(value)
        ):
            self.add_items(type(value).__qualname__, value)
            self.parts[use] = value
        elif _is_fixed_by_version(value):
            self.add_items(
                value.__module__, getattr(value, "__qualname__", type(value).__qualname__)
            )
        else:
            raise TypeError(
                f"{use}, a {type(value).__qualname__}: a kernel may use numbers, strings, "
                "tuples, arrays, functions and modules"
            )

    def add_array(self, use: str, array: NDArray[np.generic]) -> None:
        if array.nbytes > _MAX_ARRAY_BYTES:
            raise TypeError(f"{use}, an array of more than {_MAX_ARRAY_BYTES:,} bytes")
        self.add_items(array.dtype.descr, array.shape, array.tobytes())
        self.parts[use] = array.tobytes()

    def add_type(self, use: str, value: type) -> None:
        if issubclass(value, BaseException) and value.__module__ == "__main__":
            raise TypeError(f"{use}, an exception of the script: move it to a module")
        self.add_items(value.__module__, value.__qualname__, getattr(value, "_fields", ()))
        if issubclass(value, Enum):
            self.add_items([(member.name, member.value) for member in value])

    def add_module(self, use: str, module: ModuleType, chains: Iterable[Chain]) -> None:
        self.add_items(module.__name__)
        for name in (chain[0] for chain in chains if chain and not hasattr(module, chain[0])):
            hint = suggestion(name, dir(module))
            raise TypeError(f"{use}.{name}, which {module.__name__} does not have{hint}")
        if module.__name__.split(".")[0] in _FIXED_MODULES:
            if any(f"{module.__name__}.{'.'.join(c)}".startswith("numpy.random") for c in chains):
                raise TypeError(
                    f"{use}.random: a kernel draws from rng, so that runs can be repeated"
                )
            return
        for chain in chains:
            if not chain:
                raise TypeError(f"{use}, a module, as a value: a kernel may use its attributes")
            self.add_items(chain[0])
            self.add_value(f"{use}.{chain[0]}", getattr(module, chain[0]), (chain[1:],))


@lru_cache(maxsize=4096)
def _list_global_uses(code: CodeType) -> tuple[tuple[str, str, int], ...]:
    """Return each use of a global variable in some code: instruction, name and line."""
    uses = [
        (step.opname, step.argval, (step.positions and step.positions.lineno) or 0)
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL")
    ]
    inner_codes = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return (*uses, *(use for constant in inner_codes for use in _list_global_uses(constant)))


def _check_globals(function: FunctionType) -> None:
    """Refuse a function that assigns a global variable, or uses a name that is not defined."""
    code = function.__code__
    for operation, name, line in _list_global_uses(code):
        where = f"({code.co_filename}, line {line})"
        if operation == "STORE_GLOBAL":
            raise TypeError(
                f"{function.__qualname__} assigns the global variable {name!r}: only the arrays of "
                f"State change {where}"
            )
        if name not in function.__globals__ and not hasattr(builtins, name):
            hint = suggestion(name, [*code.co_varnames, *function.__globals__])
            raise TypeError(
                f"{function.__qualname__} uses {name!r}, which is not defined{hint} {where}"
            )


def compiled_copy(function: Kernel) -> Kernel:
    """Return a compiled copy of a function; its helpers are copied as they are now, and compiled.

    Helpers need no decorator. Compiled functions of Keyhole itself cannot change within a process,
    and are copied only to check indices.
    """
    return _find_or_make_copy(python_function(function), {})


def _find_or_make_copy(original: FunctionType, copies: Copies) -> Kernel:
    """Return a compiled copy of a function; `copies` has the copies made so far, by original."""
    if original in copies:  # in a recursion, this copy is not finished yet
        return copies[original]
    # The fingerprint of a covered function is its name alone, too little for a key of `_copies`.
    if _module_name(original).startswith(_COVERED_PREFIXES):
        return _make_linked_copy(original, copies)
    key = (fingerprint(original), is_bounds_checked(), *code_location(original.__code__))
    copy = _copies.get(key)
    if copy is None:
        copy = _copies[key] = _make_linked_copy(original, copies)
    return copy


def _make_linked_copy(original: FunctionType, copies: Copies) -> Kernel:
    copy = bare_copy(original, original.__code__, {})
    vars(copy).update(vars(original))
    copy_kernel: Kernel = kernel_decorators.kernel(copy)
    # The copy is entered in `copies` before its globals are linked, so that a recursion ends.
    copies[original] = copy_kernel
    link_copy(original, copy, lambda name, value, chains: _convert_for_copy(value, copies, chains))
    return copy_kernel


def bare_copy(original: FunctionType, code: CodeType, helpers: dict[str, object]) -> FunctionType:
    """Return a copy of a function with the given code, and without globals except `helpers`."""
    scope = {"__builtins__": builtins, "__name__": original.__module__ or "", **helpers}
    cells = tuple(CellType() for _ in code.co_freevars)
    copy = FunctionType(code, scope, original.__name__, original.__defaults__, cells)
    copy.__qualname__ = original.__qualname__
    copy.__module__ = original.__module__
    return copy


def link_copy(original: FunctionType, copy: FunctionType, convert: Convert) -> None:
    """Convert the globals and closure variables that a function uses, and give them to its copy."""
    old_cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    new_cells = dict(zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True))
    references = find_references(original.__code__)
    for name, chains in references.items():
        if name in original.__globals__ and name not in old_cells:
            copy.__globals__[name] = convert(name, original.__globals__[name], chains)
    for name, cell in new_cells.items():
        cell.cell_contents = convert(name, old_cells[name].cell_contents, references.get(name, ()))


def _bounds_checked_copy(original: FunctionType) -> Kernel:
    """Return the copy, with checked indices, of one of Keyhole's own functions."""
    if original not in _bounds_checked_copies:
        _bounds_checked_copies[original] = _find_or_make_copy(original, {})
    return _bounds_checked_copies[original]


def _convert_for_copy(value: object, copies: Copies, chains: Iterable[Chain]) -> object:
    """Return what a copy uses in place of a value, such as a compiled function or a snapshot."""
    if is_function(value):
        original = python_function(value)
        if is_kernel(value) and _module_name(original).startswith("keyhole."):
            if not is_bounds_checked():
                return value
            return copies.get(original) or _bounds_checked_copy(original)
        return _find_or_make_copy(original, copies)
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in _FIXED_MODULES:
        return make_reduced_module(
            value, chains, lambda name, member, rest: _convert_for_copy(member, copies, rest)
        )
    if isinstance(value, tuple):
        items = [_convert_for_copy(item, copies, ()) for item in value]
        make: Kernel = type(value)
        return make(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        # `copy` makes the snapshot row-major: Numba refers to other arrays by their address.
        return value.copy()
    return value


def make_reduced_module(
    module: ModuleType, chains: Iterable[Chain], convert: Convert
) -> ModuleType:
    """Return a module with those attributes of `module` that a kernel uses, converted."""
    result = ModuleType(module.__name__)
    chains_by_name: dict[str, list[Chain]] = {}
    for chain in filter(None, chains):
        chains_by_name.setdefault(chain[0], []).append(chain[1:])
    for name, rests in chains_by_name.items():
        if hasattr(module, name):
            setattr(result, name, convert(name, getattr(module, name), rests))
    return result
