"""Kernels as they are today: a fingerprint of all they use, and a fresh compiled copy.

Numba compiles a function together with the globals it finds, and its own disk cache looks at one
file only. Both may serve machine code of a source that has since changed. Here a kernel is
followed through everything it uses: the fingerprint of that graph is the cache key, and the graph
is compiled afresh whenever the fingerprint is new.
"""

import builtins
import dis
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np
from numba.core import types as numba_types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from keyhole.core.jit import is_bounds_checked, kernel

Kernel = Callable[..., Any]

# The sources of this package are part of every cache key as a whole: see `cache.core_digest`.
_CORE: Final = "keyhole.core."

# What these modules hold is fixed by their version, which is part of the cache key.
_PLAIN: Final = (int, float, complex, str, bytes, np.generic, numba_types.Type)
_FIXED_MODULES: Final = ("math", "cmath", "builtins", "operator", "numpy", "numba", "llvmlite")


def source_of(function: Kernel) -> FunctionType:
    """Return the Python function behind a compiled one, or the function itself."""
    plain = function.py_func if isinstance(function, Dispatcher) else function
    if not isinstance(plain, FunctionType):
        raise TypeError(f"a kernel must be a function written in Python, got {function!r}")
    return plain


Chain = tuple[str, ...]

_LOADS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")


@lru_cache(maxsize=4096)
def references(code: CodeType) -> dict[str, tuple[Chain, ...]]:
    """Return the variables from outside that some code reads, and what it reads of each.

    Parameters
    ----------
    code : code
        Of a function; that of functions inside it counts too.

    Returns
    -------
    dict of str to tuple
        For each name, in a fixed order, the chains of attributes that follow it: ``a.b.c + a``
        gives ``{"a": ((), ("b", "c"))}``.

    Examples
    --------
    >>> import math
    >>> def area(p, radius):
    ...     return p.scale * math.pi * radius**2
    >>> references(area.__code__)
    {'math': (('pi',),)}
    """
    found: dict[str, set[Chain]] = {}
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    for i, (what, name) in enumerate(steps):
        if what in _LOADS:
            chain = takewhile(lambda step: step[0] in _ATTRIBUTES, steps[i + 1 :])
            found.setdefault(name, set()).add(tuple(attribute for _, attribute in chain))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for name, chains in references(constant).items():
                found.setdefault(name, set()).update(chains)
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def free_variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the globals and closure variables that a function uses, with their values."""
    inner = function.__code__.co_freevars
    for name in references(function.__code__):
        if name in function.__globals__ and name not in inner:
            yield name, function.__globals__[name]
    for name, cell in zip(inner, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def fingerprint(function: Kernel) -> str:
    """Return a digest of a function's code and of everything it uses.

    Parameters
    ----------
    function : callable
        A Python function or a compiled one.

    Returns
    -------
    str
        64 hexadecimal digits; equal in every process as long as nothing has changed.

    Raises
    ------
    TypeError
        If the function uses a global of a kind that cannot be followed.

    Examples
    --------
    >>> __name__ = "example"  # not a part of Keyhole
    >>> def double(x):
    ...     return 2 * x
    >>> before = fingerprint(double)
    >>> def double(x):
    ...     return x + x
    >>> fingerprint(double) == before
    False
    """
    walk = _Fingerprint()
    walk.function(source_of(function))
    return walk.digest.hexdigest()


class _Fingerprint:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: dict[int, Any] = {}

    def put(self, *words: object) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else repr(word).encode()
            self.digest.update(len(data).to_bytes(8, "little") + data)

    def function(self, function: FunctionType) -> None:
        if (function.__module__ or "").startswith(_CORE):
            self.put(function.__module__, function.__qualname__)
            return
        if id(function) in self.seen:
            self.put("seen", function.__name__)
            return
        self.seen[id(function)] = function  # keeps it alive, so that no other takes its id
        self.code(function.__code__)
        self.put(function.__defaults__ or ())
        for name, value in free_variables(function):
            self.put(name)
            chains = references(function.__code__).get(name, ())
            self.value(f"{function.__qualname__} uses {name!r}", value, chains)

    def code(self, code: CodeType) -> None:
        self.put(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant)
            elif isinstance(constant, frozenset):
                self.put(sorted(map(repr, constant)))  # a set's order changes between processes
            else:
                self.put(constant)

    def value(self, use: str, value: Any, chains: Iterable[Chain]) -> None:
        if isinstance(value, Dispatcher | FunctionType):
            self.function(source_of(value))
        elif isinstance(value, _Intrinsic):
            self.function(value._defn)
        elif isinstance(value, ModuleType):
            self.module(use, value, chains)
        elif isinstance(value, np.ndarray):
            self.put(value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, tuple):
            self.put(type(value).__qualname__, len(value))
            for item in value:
                self.value(use, item, ())
        elif isinstance(value, type):
            self.put(value.__module__, value.__qualname__, getattr(value, "_fields", ()))
        elif value is None or isinstance(value, _PLAIN):
            self.put(type(value).__qualname__, value)
        elif getattr(value, "__module__", "").split(".")[0] in _FIXED_MODULES:
            self.put(value.__module__, getattr(value, "__qualname__", type(value).__qualname__))
        else:
            raise TypeError(
                f"{use}, a {type(value).__qualname__}: a kernel may use numbers, strings, "
                "tuples, arrays, functions and modules"
            )

    def module(self, use: str, module: ModuleType, chains: Iterable[Chain]) -> None:
        self.put(module.__name__)
        if module.__name__.split(".")[0] in _FIXED_MODULES:
            return
        for chain in chains:
            if not chain:
                raise TypeError(f"{use}, a module, as a value: a kernel may use what stands in it")
            self.put(chain[0])
            if hasattr(module, chain[0]):
                self.value(f"{use}.{chain[0]}", getattr(module, chain[0]), (chain[1:],))


def link(function: Kernel) -> Kernel:
    """Return a compiled copy of a function that uses its helpers as they are now.

    Plain Python helpers are compiled on the way: a user need not decorate them. Compiled
    functions of Keyhole itself are used as they are, since they cannot change within a process.

    Parameters
    ----------
    function : callable
        A Python function or a compiled one.

    Returns
    -------
    callable
        The compiled copy.

    Examples
    --------
    >>> def helper(x):
    ...     return x + 1
    >>> def kernel(x):
    ...     return 2 * helper(x)
    >>> link(kernel)(1)
    4
    """
    return _link(source_of(function), {})


def _link(plain: FunctionType, done: dict[int, Kernel]) -> Kernel:
    if id(plain) in done:
        return done[id(plain)]
    scope: dict[str, Any] = {"__builtins__": builtins, "__name__": plain.__module__ or ""}
    cells = tuple(type(cell)() for cell in plain.__closure__ or ())
    copy = FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__, cells)
    copy.__qualname__ = plain.__qualname__
    copy.__module__ = plain.__module__
    linked: Kernel = kernel(copy)
    done[id(plain)] = linked
    for name in references(plain.__code__):
        if name in plain.__globals__:
            scope[name] = _relinked(plain.__globals__[name], done)
    for new, old in zip(cells, plain.__closure__ or (), strict=True):
        new.cell_contents = _relinked(old.cell_contents, done)
    return linked


def _relinked(value: Any, done: dict[int, Kernel]) -> Any:
    own = isinstance(value, Dispatcher) and (value.py_func.__module__ or "").startswith("keyhole.")
    if own and not is_bounds_checked():
        return value
    if isinstance(value, Dispatcher | FunctionType):
        return _link(source_of(value), done)
    return value
