"""Numba's intermediate representation of a kernel (compiled function): one operation a line.

It is read to find which memory each kernel of a policy uses
(`keyhole.contract.state_access_analysis`).
"""

from collections.abc import Mapping
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any, Final

from keyhole.kernels.numba_ir import ir, run_frontend

_UNKNOWN: Final = object()


@lru_cache(maxsize=512)
def read_lines(function: FunctionType) -> list[Any]:
    """Return the lines of a function; raise whatever Numba raises for code that it cannot read."""
    code = run_frontend(function)
    return [line for block in code.blocks.values() for line in block.body]


def variables_of(line: Any) -> list[Any]:
    """Return the variables in a line or an expression."""
    return list(line.list_vars())


def argument_names(function: FunctionType) -> tuple[str, ...]:
    """Return the names of a function's arguments."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def takes_varargs(function: FunctionType) -> bool:
    """Return whether a function takes `*args` or `**kwargs`."""
    # CO_VARARGS and CO_VARKEYWORDS.
    return bool(function.__code__.co_flags & 0x0C)


class Bindings:
    """The functions, modules, methods and tuples that the variables of a function hold.

    Parameters
    ----------
    lines : list
        The function's, from `read_lines`.
    functions : mapping
        The arguments that are functions.

    Attributes
    ----------
    values : dict
        Functions and modules, by the variable that holds them.
    methods : dict of (str, str)
        Methods: the variable and the name.
    tuples : dict of list
        The variables in a tuple.
    """

    def __init__(self, lines: list[Any], functions: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = {}
        self.methods: dict[str, tuple[str, str]] = {}
        self.tuples: dict[str, list[Any]] = {}
        self._functions = functions
        assigned = [line for line in lines if isinstance(line, ir.Assign)]
        # Until nothing new is found: a variable may be copied from one that a later line binds.
        before = -1
        while before != (known := len(self.values) + len(self.methods) + len(self.tuples)):
            before = known
            for line in assigned:
                self._bind(line.target.name, line.value)

    def _bind(self, name: str, value: Any) -> None:
        bound: Any = None
        if isinstance(value, ir.Global | ir.FreeVar):
            bound = value.value
        elif isinstance(value, ir.Arg):
            bound = self._functions.get(value.name)
        elif isinstance(value, ir.Var):
            bound = self._copy(name, value.name)
        elif isinstance(value, ir.Expr) and value.op == "getattr":
            home = self.values.get(value.value.name)
            if isinstance(home, ModuleType):
                bound = getattr(home, value.attr, None)
            else:
                self.methods[name] = (value.value.name, value.attr)
        elif isinstance(value, ir.Expr) and value.op == "build_tuple":
            self.tuples[name] = value.items
        if bound is not None:
            # It may hold one function on one path and another elsewhere: then none is known.
            known = self.values.setdefault(name, bound)
            self.values[name] = bound if known is bound else _UNKNOWN

    def _copy(self, name: str, source: str) -> Any:
        if source in self.methods:
            self.methods[name] = self.methods[source]
        if source in self.tuples:
            self.tuples[name] = self.tuples[source]
        return self.values.get(source)
