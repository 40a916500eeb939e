"""Static analysis of the state arrays that each kernel of a policy reads and writes.

The analysis works on the kernels' syntax trees. It finds the arrays of which each value may be a
view, and follows values through helpers, other names, views and loops. It ignores the order of
lines. If an array cannot be followed, as in a tuple, it counts as read and written.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from keyhole.contract.state_arrays import declared_state
from keyhole.draws.argmin_tree import argmin_tree_find
from keyhole.kernels.fingerprint import Kernel, is_function, python_function, used_variables
from keyhole.kernels.interpreter.source_trees import find_definition

if TYPE_CHECKING:
    from keyhole.contract.policy import Policy

_BASE_KERNELS: Final = ("init", "select", "update")
# The names of functions of NumPy, and of methods of arrays, that return numbers and change nothing.
_READING_NAMES: Final = (
    "all", "any", "argmax", "argmin", "count_nonzero", "dot", "max", "mean", "min", "prod",
    "searchsorted", "std", "sum", "var",
)  # fmt: skip
_READING_BUILTINS: Final = (abs, bool, float, int, max, min, print, range, round, sum)
_SIZE_ATTRIBUTES: Final = ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")
# Statements that bind no name and make no function. Only their parts are visited.
_PLAIN_STATEMENTS: Final = (
    ast.Expr, ast.If, ast.While, ast.Assert, ast.Raise, ast.Pass, ast.Break, ast.Continue, ast.Try,
    ast.ExceptHandler,
)  # fmt: skip


class _ArrayView(NamedTuple):
    """An array, or the whole state, of which a value may be a view."""

    array: str  # its name; "" for the whole state
    axes: int  # the number of axes of the view; a value without axes is a number and no view


_Views = frozenset[_ArrayView]
_Argument = tuple[ast.expr, _Views]
_Functions = Mapping[str, object]
_NO_VIEWS: Final[_Views] = frozenset()
_WHOLE_STATE: Final[_Views] = frozenset({_ArrayView("", 0)})
# A slice is no part of the state. It has this view, since an index with a view takes no axis away.
_SLICE_VIEW: Final[_Views] = frozenset({_ArrayView("a slice", 0)})


class _BaseKernel(NamedTuple):
    """A kernel of the base of a policy: see `WrapperPolicy`."""

    policy: type[Policy]
    name: str


@dataclass
class StateAccess:
    """The arrays that are read and written, and the functions that cannot be analysed, with causes.

    Arrays in the arguments of these functions count as read and written.
    """

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    unanalysed: dict[str, str] = field(default_factory=dict)


def analyse_state_access(policy: type[Policy], name: str) -> StateAccess:
    """Return the arrays that a kernel of a policy class reads and writes; none without the kernel.

    Parameters
    ----------
    policy : Policy class
        The class, with all its kernels and helpers.
    name : str
        The kernel's name.
    """
    tracer = _Tracer(
        {array: len(declared.shape) for array, declared in declared_state(policy).items()}
    )
    tracer.follow_kernel(policy, name)
    return tracer.access


class _Tracer:
    """Follows kernels and the functions they call, each once for the same views as arguments."""

    def __init__(self, axis_counts: Mapping[str, int]) -> None:
        self.axis_counts = axis_counts  # the number of axes of each array, by its name
        self.access = StateAccess()
        self._returned_views: dict[object, _Views | None] = {}

    def follow_kernel(self, policy: type[Policy], name: str) -> None:
        """Follow a kernel of a class, which receives the whole state in `s`."""
        if (kernel := getattr(policy, name, None)) is None:
            return
        functions: dict[str, object] = {n: getattr(policy, n) for n in policy.helpers}
        if (base := getattr(policy, "base_class", None)) is not None:
            functions |= {f"base_{n}": _BaseKernel(base, n) for n in _BASE_KERNELS}
        self.follow_function(python_function(kernel), {"s": _WHOLE_STATE}, functions)

    def follow_function(
        self, function: FunctionType, arguments: Mapping[str, _Views], functions: _Functions
    ) -> _Views:
        """Return the views of the state that a function returns, given the views in its arguments.

        `functions` has the arguments that are functions, by name.
        """
        key = (function, frozenset(arguments.items()), frozenset(functions.items()))
        if key in self._returned_views:
            views = self._returned_views[key]  # None if the function calls itself
            return self.mark_all(arguments.values()) if views is None else views
        self._returned_views[key] = None  # found by a recursive call
        tree = find_definition(function.__code__)
        if isinstance(tree, str):  # why there is no tree
            self.access.unanalysed[function.__qualname__] = tree
            return self.mark_all(arguments.values())
        views = _FunctionVisitor(self, function, arguments, functions).find_returned_views(tree)
        self._returned_views[key] = views
        return views

    def _array_names(self, views: _Views) -> set[str]:
        if any(view.array == "" for view in views):
            return set(self.axis_counts)
        return {view.array for view in views if view.array in self.axis_counts}

    def mark_read(self, views: _Views) -> None:
        """Mark arrays as read."""
        self.access.reads |= self._array_names(views)

    def mark_written(self, views: _Views) -> None:
        """Mark arrays as written."""
        self.access.writes |= self._array_names(views)

    def mark_all(self, arguments: Iterable[_Views]) -> _Views:
        """Mark all arrays in the arguments as read and written, and return views of them."""
        views = _NO_VIEWS.union(*arguments)
        self.mark_read(views)
        self.mark_written(views)
        return views


class _FunctionVisitor(ast.NodeVisitor):
    """A visitor of one function, which collects the views that each variable may be.

    For an expression, `visit` returns the views that it may be.
    """

    def __init__(
        self,
        tracer: _Tracer,
        function: FunctionType,
        arguments: Mapping[str, _Views],
        functions: _Functions,
    ) -> None:
        self.tracer = tracer
        self.scope = {**dict(used_variables(function)), **functions}
        code = function.__code__
        local_names = {*code.co_varnames, *code.co_cellvars} - functions.keys()
        self.views = {name: arguments.get(name, _NO_VIEWS) for name in local_names}
        self.returned = _NO_VIEWS

    def find_returned_views(self, tree: ast.FunctionDef) -> _Views:
        """Visit all lines until no new view is found; return the views that are returned."""
        # In a loop, a variable may get a view from a later line, so one visit is not enough. The
        # repetition ends, since views are only added, and there are finitely many.
        earlier_views: dict[str, _Views] | None = None
        while earlier_views != self.views:
            earlier_views = dict(self.views)
            for line in tree.body:
                self.visit(line)
        return self.returned

    def generic_visit(self, node: ast.AST) -> _Views:
        """Visit the parts of a plain statement; mark all arrays in any other node."""
        if isinstance(node, _PLAIN_STATEMENTS):
            super().generic_visit(node)
            return _NO_VIEWS
        names = (name.id for name in ast.walk(node) if isinstance(name, ast.Name))
        return self.tracer.mark_all(self.views.get(name, _NO_VIEWS) for name in names)

    # Statements.

    def _assign_views(self, target: ast.expr, views: _Views) -> None:
        if isinstance(target, ast.Name):
            self.views[target.id] = self.views.get(target.id, _NO_VIEWS) | views
        elif isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                self._assign_views(item, self._entry_views(views, 1))
        elif isinstance(target, ast.Subscript):
            self.tracer.mark_read(views | self.visit(target.slice))
            self.tracer.mark_written(self.visit(target.value))
        else:
            self.tracer.mark_all([views, self.generic_visit(target)])

    def _assign_value(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                for pair in zip(targets, values, strict=True):
                    self._assign_value(*pair)
            case _:
                self._assign_views(target, self.visit(value))

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign_value(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign_views(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        self.tracer.mark_read(self.visit(node.value) | self.visit(target))
        array = target.value if isinstance(target, ast.Subscript) else target
        self.tracer.mark_written(self.visit(array))

    def visit_For(self, node: ast.For) -> None:
        self._assign_views(node.target, self._entry_views(self.visit(node.iter), 1))
        for line in (*node.body, *node.orelse):
            self.visit(line)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned |= self.visit(node.value)

    # Expressions.

    def visit_Name(self, node: ast.Name) -> _Views:
        return self.views.get(node.id, _NO_VIEWS)

    def visit_Constant(self, node: ast.Constant) -> _Views:
        return _NO_VIEWS

    def visit_NamedExpr(self, node: ast.NamedExpr) -> _Views:
        self._assign_views(node.target, self.visit(node.value))
        return self.visit_Name(node.target)

    def visit_IfExp(self, node: ast.IfExp) -> _Views:
        self.tracer.mark_read(self.visit(node.test))
        return _NO_VIEWS.union(self.visit(node.body), self.visit(node.orelse))

    def visit_BoolOp(self, node: ast.BoolOp) -> _Views:
        return _NO_VIEWS.union(*map(self.visit, node.values))

    def visit_Tuple(self, node: ast.Tuple) -> _Views:
        return self.tracer.mark_all(map(self.visit, node.elts))

    def visit_Compare(self, node: ast.expr) -> _Views:
        """Mark the arrays in all operands as read; the result is a new array or a number."""
        children = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        self.tracer.mark_read(_NO_VIEWS.union(*map(self.visit, children)))
        return _NO_VIEWS

    visit_BinOp = visit_UnaryOp = visit_Compare

    def visit_Slice(self, node: ast.Slice) -> _Views:
        self.visit_Compare(node)
        return _SLICE_VIEW

    def visit_Attribute(self, node: ast.Attribute) -> _Views:
        views: set[_ArrayView] = set()
        for view in self.visit(node.value):
            if view.array == "":
                if node.attr in self.tracer.axis_counts:
                    views.add(_ArrayView(node.attr, self.tracer.axis_counts[node.attr]))
            elif node.attr not in _SIZE_ATTRIBUTES:
                views.add(view)
        return frozenset(views)

    def visit_Subscript(self, node: ast.Subscript) -> _Views:
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        index_axes = sum(not self.visit(index) and not _keeps_axes(index) for index in indices)
        return self._entry_views(self.visit(node.value), index_axes)

    def _entry_views(self, views: _Views, index_axes: int) -> _Views:
        """Return the views that an entry of an array may be.

        `index_axes` is the number of axes that the entry's index takes away.
        """
        self.tracer.mark_read(frozenset(view for view in views if view.array))
        axis_counts = self.tracer.axis_counts
        entries = set[_ArrayView]()
        for view in views:
            if view.array == "":
                entries |= {_ArrayView(name, axes) for name, axes in axis_counts.items()}
            else:
                entries.add(view._replace(axes=max(view.axes - index_axes, 0)))
        return frozenset(view for view in entries if view.axes or view.array not in axis_counts)

    def visit_Call(self, node: ast.Call) -> _Views:
        function = self._resolve(node.func)
        owner_views = self.visit(node.func)
        positional = [(argument, self.visit(argument)) for argument in node.args]
        keywords = {item.arg: (item.value, self.visit(item.value)) for item in node.keywords}
        views = _NO_VIEWS.union(*(views for _, views in (*positional, *keywords.values())))
        if function is slice:
            return _SLICE_VIEW
        # A kernel of the base gets the whole state of the base.
        if isinstance(function, _BaseKernel):
            self.tracer.follow_kernel(function.policy, function.name)
            return _NO_VIEWS
        if owner_views:  # a method of an array
            # These methods return no view of the array.
            if getattr(node.func, "attr", "") in (*_READING_NAMES, "copy", "item") and not views:
                self.tracer.mark_read(owner_views)
                return _NO_VIEWS
            return self.tracer.mark_all([owner_views, views])
        # A function that gets no part of the state cannot read or write the state.
        if not views or function is len:
            return _NO_VIEWS
        if function in (enumerate, zip):
            return self.tracer.mark_all([self._entry_views(views, 1)])  # entries go into tuples
        if _is_read_only(function, len(positional), keywords.keys()):
            self.tracer.mark_read(views)
            return _NO_VIEWS
        if is_function(function) and (arguments := _bind_arguments(function, positional, keywords)):
            functions = {name: self._resolve(value) for name, (value, _) in arguments.items()}
            return self.tracer.follow_function(
                python_function(function),
                {name: views for name, (_, views) in arguments.items()},
                {
                    n: f
                    for n, f in functions.items()
                    if isinstance(f, _BaseKernel) or is_function(f)
                },
            )
        return self.tracer.mark_all([views])

    def _resolve(self, node: ast.expr) -> object:
        """Return the function or module that an expression is, if it is known."""
        if isinstance(node, ast.Name) and node.id not in self.views:
            return self.scope.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            module = self._resolve(node.value)
            if isinstance(module, ModuleType):
                return getattr(module, node.attr, None)
        return None


def _bind_arguments(
    function: Kernel, positional: Sequence[_Argument], keywords: Mapping[Any, _Argument]
) -> dict[str, _Argument]:
    """Return the arguments of a call by name; none if they cannot be matched, as with `*args`."""
    code = python_function(function).__code__
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return {}
    try:
        return signature(function).bind(*positional, **keywords).arguments
    except TypeError:
        return {}


def _keeps_axes(index: ast.expr) -> bool:
    """Return whether an index is `...`, `None` or `np.newaxis`, which take no axis away."""
    if isinstance(index, ast.Constant):
        return not isinstance(index.value, int)
    return isinstance(index, ast.Attribute) and index.attr == "newaxis"


def _is_read_only(function: object, count: int, names: Collection[str | None]) -> bool:
    """Return whether a call with `count` positional arguments and keywords `names` only reads them.

    This holds for some functions of Python and NumPy, and for Keyhole's `argmin_tree_find`,
    which cannot be analysed since it calls intrinsics.
    """
    if function in _READING_BUILTINS or function is argmin_tree_find:
        return True
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    is_simple_call = getattr(function, "__name__", "") in _READING_NAMES and count <= 2
    return package == "numpy" and is_simple_call and {*names} <= {"axis"}
