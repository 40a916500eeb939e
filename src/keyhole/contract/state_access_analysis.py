"""Static analysis of which arrays of its memory a policy's kernels (compiled functions) use.

It finds the arrays of the *state*, what a policy remembers, that each kernel reads and writes.

It works on Numba's intermediate code (`keyhole.contract.kernel_ir`). A value is known by the arrays
that it may be a view of, through helpers, other names, views, tuples and loops. The order of lines
is ignored. Whatever cannot be followed counts as read and written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final, NamedTuple, cast

from keyhole.contract.array_aliases import (
    DEEPEST,
    NOTHING,
    PAIRING,
    READING,
    READING_KERNELS,
    SLICE,
    STATE,
    Views,
    is_read_only,
    views_of_attribute,
    views_of_entry,
)
from keyhole.contract.kernel_ir import (
    Bindings,
    argument_names,
    read_lines,
    takes_varargs,
    variables_of,
)
from keyhole.contract.state_arrays import declared_state
from keyhole.kernels.fingerprint import Kernel, is_function, python_function
from keyhole.kernels.numba_ir import ir

_BASE_KERNELS: Final = ("init", "select", "update")


class _BaseKernel(NamedTuple):
    """A kernel of the base of a policy: see `WrapperPolicy`."""

    policy: Any
    name: str


@dataclass
class StateAccess:
    """The arrays that are read and written, and the functions that cannot be analysed.

    The arguments of those functions count as read and written.
    """

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)


def analyse_state_access(policy: Any, name: str) -> StateAccess:
    """Return what a policy class's kernel reads and writes; nothing if there is no such kernel.

    Parameters
    ----------
    policy : Policy class
        The class, complete.
    name : str
        The kernel's name.
    """
    lengths = {array: len(kept.shape) for array, kept in declared_state(policy).items()}
    tracer = _Tracer(lengths)
    tracer.follow_kernel(policy, name)
    return tracer.access


class _Tracer:
    """Follows kernels and the functions they call, once for each set of views they receive."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self.lengths = lengths
        self.access = StateAccess()
        self._returned: dict[Any, Views | None] = {}

    def follow_kernel(self, policy: Any, name: str) -> None:
        """Follow a kernel of a class, which receives the whole state in `s`."""
        if (kernel := getattr(policy, name, None)) is None:
            return
        function = python_function(kernel)
        base = getattr(policy, "base_class", None)
        functions: dict[str, Any] = {helper: getattr(policy, helper) for helper in policy.helpers}
        if base is not None:
            functions |= {f"base_{name}": _BaseKernel(base, name) for name in _BASE_KERNELS}
        self.follow(
            function, [STATE if n == "s" else NOTHING for n in argument_names(function)], functions
        )

    def follow(
        self, function: FunctionType, given: list[Views], functions: Mapping[str, Any] | None = None
    ) -> Views:
        """Return the views of the state that a function returns, given those in its arguments.

        `functions` are the arguments that are functions.
        """
        key = (function, tuple(given), frozenset((functions or {}).items()))
        if key in self._returned:
            known = self._returned[key]  # None: it calls itself
            return self.give_up(given) if known is None else known
        # Entered before it is followed: a recursive call finds None, and the analysis gives up.
        self._returned[key] = None
        try:
            lines = read_lines(function)
        except Exception:  # whatever Numba's first pass cannot read
            self.access.unread.add(function.__qualname__)
            return self.give_up(given)
        arguments = dict(zip(argument_names(function), given, strict=True))
        result = _Function(self, lines, arguments, functions or {}).follow()
        self._returned[key] = result
        return result

    def arrays(self, views: Views) -> set[str]:
        """Return the names of the arrays."""
        if any(view.array == "" for view in views):
            return set(self.lengths)
        return {view.array for view in views if view.array in self.lengths}

    def read(self, views: Views) -> None:
        """Mark arrays as read."""
        self.access.reads |= self.arrays(views)

    def write(self, views: Views) -> None:
        """Mark arrays as written."""
        self.access.writes |= self.arrays(views)

    def give_up(self, given: Iterable[Views]) -> Views:
        """Mark all given arrays as read and written, and return views of them."""
        views = NOTHING.union(*given)
        self.read(views)
        self.write(views)
        return views


class _Function:
    """One function with its arguments: the views that its variables may be."""

    def __init__(
        self,
        tracer: _Tracer,
        lines: list[Any],
        given: Mapping[str, Views],
        functions: Mapping[str, Any],
    ) -> None:
        self.tracer, self.given, self.lines = tracer, given, lines
        self.names = Bindings(lines, functions)
        self.views: dict[str, Views] = {}

    def follow(self) -> Views:
        """Go through all lines until nothing new is found; return the views that are returned."""
        # To a fixed point: in a loop, a variable may get its view from a later line. It ends, since
        # views are only added, and there are finitely many (see `DEEPEST`).
        before: Any = None
        while before != self.views:
            before = dict(self.views)
            for line in self.lines:
                self._line(line)
        return NOTHING.union(
            *(self.of(line.value) for line in self.lines if isinstance(line, ir.Return))
        )

    def of(self, variable: Any) -> Views:
        """Return the views that a variable may be."""
        return self.views.get(variable.name, NOTHING)

    def _line(self, line: Any) -> None:
        if isinstance(line, ir.Assign):
            found = self._value(line.value)
            self.views[line.target.name] = self.of(line.target) | found
        elif isinstance(line, ir.SetItem | ir.StaticSetItem):
            self.tracer.write(self.of(line.target))
            self.tracer.read(self.of(line.value))
        elif not isinstance(line, ir.Return | ir.Jump | ir.Branch | ir.Del):
            self.tracer.give_up(self.of(variable) for variable in variables_of(line))

    def _value(self, value: Any) -> Views:
        if isinstance(value, ir.Var):
            return self.of(value)
        if isinstance(value, ir.Arg):
            return self.given.get(value.name, NOTHING)
        if not isinstance(value, ir.Expr):
            return NOTHING
        handle = getattr(self, f"_{value.op}", None)
        if handle is None:
            return self.tracer.give_up(self.of(variable) for variable in variables_of(value))
        found: Views = handle(value)
        if any(view.tuples > DEEPEST for view in found):
            self.tracer.give_up([found])
            return NOTHING
        return found

    # One method for each operation of Numba's first pass, named as Numba names it. An operation
    # without a method is unknown: its variables count as read and written (see `_value`).

    def _cast(self, value: Any) -> Views:
        return self.of(value.value)

    _getiter = _iternext = _cast

    def _exhaust_iter(self, value: Any) -> Views:
        self.tracer.read(frozenset(v for v in self.of(value.value) if not v.tuples))
        return self.of(value.value)

    def _phi(self, value: Any) -> Views:
        return NOTHING.union(*(self.of(one) for one in value.incoming_values))

    def _pair_second(self, value: Any) -> Views:
        return NOTHING

    def _pair_first(self, value: Any) -> Views:
        return self._entry(self.of(value.value), 1)

    def _build_tuple(self, value: Any) -> Views:
        # The views of all entries together: which entry is read later may not be known.
        inside = NOTHING.union(*(self.of(item) for item in value.items))
        return frozenset(v._replace(tuples=v.tuples + 1) for v in inside)

    def _unary(self, value: Any) -> Views:
        self.tracer.read(self.of(value.value))
        return NOTHING

    def _binop(self, value: Any) -> Views:
        both = self.of(value.lhs) | self.of(value.rhs)
        self.tracer.read(both)
        return frozenset(v for v in both if v.tuples)  # tuples that are put together

    def _inplace_binop(self, value: Any) -> Views:
        self.tracer.read(self.of(value.lhs) | self.of(value.rhs))
        self.tracer.write(self.of(value.lhs))
        return self.of(value.lhs)

    def _getattr(self, value: Any) -> Views:
        return views_of_attribute(self.of(value.value), value.attr, self.tracer.lengths)

    def _getitem(self, value: Any) -> Views:
        return self._entry(self.of(value.value), self._count_axes(value.index))

    def _static_getitem(self, value: Any) -> Views:
        index = value.index if isinstance(value.index, tuple) else (value.index,)
        return self._entry(self.of(value.value), sum(isinstance(one, int) for one in index))

    _typed_getitem = _getitem

    def _count_axes(self, index: Any) -> int:
        """Return how many axes an index takes away, at most."""
        if index.name in self.names.tuples:
            return sum(self._count_axes(item) for item in self.names.tuples[index.name])
        # A slice (followed as the view `SLICE`) or an array takes no axis away, anything else is a
        # number and takes one.
        return 0 if self.of(index) else 1

    def _entry(self, views: Views, taken: int) -> Views:
        """Return the views that an entry of an array or tuple may be."""
        self.tracer.read(frozenset(v for v in views if not v.tuples and v.array))
        return views_of_entry(views, taken, self.tracer.lengths)

    def _call(self, value: Any) -> Views:
        given = [self.of(argument) for argument in value.args]
        named = {name: self.of(argument) for name, argument in value.kws}
        views = NOTHING.union(*given, *named.values())
        called = self.names.values.get(value.func.name)
        if called is slice:
            return SLICE
        # A method of an array: the variable `func` was assigned from an attribute of a view.
        if value.func.name in self.names.methods and self.of(value.func):
            return self._follow_method(
                self.of(value.func), self.names.methods[value.func.name][1], views
            )
        if value.vararg is not None or value.varkwarg is not None:
            rest = (self.of(one) for one in variables_of(value))
            return self.tracer.give_up(rest)
        # A base's kernel gets the base's part of the state, whatever its arguments are.
        if isinstance(called, _BaseKernel):
            self.tracer.follow_kernel(called.policy, called.name)
            return NOTHING
        # A function that gets no part of the state cannot read or write it, whatever it does.
        if not views:
            return NOTHING
        if is_function(called):
            return self._follow_function(python_function(cast(Kernel, called)), value, given, named)
        if called in PAIRING:
            entries = self._entry(views, 1)  # in a pair, one pair after the other
            return frozenset(v._replace(tuples=v.tuples + 2) for v in entries)
        if called is not len and is_read_only(called, len(given), named):
            self.tracer.read(views)
        elif called is not len:
            return self.tracer.give_up([views])
        return NOTHING

    def _follow_method(self, views: Views, method: str, given: Views) -> Views:
        # What these return shares no memory with the array.
        if method in (*READING, "copy", "item") and not given:
            self.tracer.read(views)
            return NOTHING
        return self.tracer.give_up([views, given])

    def _follow_function(
        self, function: FunctionType, value: Any, given: list[Views], named: Mapping[str, Views]
    ) -> Views:
        if function in READING_KERNELS:
            self.tracer.read(NOTHING.union(*given, *named.values()))
            return NOTHING
        # Arguments that cannot be matched to names (`*args`) are not followed.
        names = argument_names(function)
        if len(given) > len(names) or not named.keys() <= set(names) or takes_varargs(function):
            return self.tracer.give_up([*given, *named.values()])
        arguments = dict(zip(names, given, strict=False)) | dict(named)
        passed = (*zip(names, value.args, strict=False), *value.kws)
        known = {name: self.names.values.get(variable.name) for name, variable in passed}
        functions = {n: f for n, f in known.items() if isinstance(f, _BaseKernel) or is_function(f)}
        return self.tracer.follow(
            function, [arguments.get(name, NOTHING) for name in names], functions
        )
