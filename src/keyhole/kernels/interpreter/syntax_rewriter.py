"""Rewriter of kernels' syntax trees: operators that differ in compiled code become function calls.

Operations that are the same in Python and compiled code stay as they are. Keyhole's own functions
keep their integers below 2**63; users' functions may rely on wrapping.
"""

from __future__ import annotations

import ast
import copy
import dis
from functools import lru_cache
from types import CodeType
from typing import Final, TypeVar

from keyhole.kernels.interpreter import arithmetic, interpreted_arrays
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.kernels.interpreter.source_trees import compile_definition, find_definition

_PREFIX: Final = "__keyhole_"
_ENDING: Final = "__"  # without it, Python would mangle the name in a class
# Operators that may differ in compiled code even if no integer wraps: divisions, and powers.
_DIVISIONS: Final[dict[type[ast.operator], str]] = {
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "power",
}
# Operators that differ in compiled code if an integer wraps, or a shift is not by 0 to 63 bits.
_WRAPPING: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}
_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.USub: "negate", ast.Invert: "invert"}
HELPERS: Final[dict[str, object]] = {
    f"{_PREFIX}{name}{_ENDING}": getattr(module, name)
    for module, names in (
        (arithmetic, (*_DIVISIONS.values(), *_WRAPPING.values(), *_UNARY.values(), "to_uint64")),
        (interpreted_arrays, ("fill", "store", "get_attribute")),
    )
    for name in names
}
"""The functions that rewritten code calls, by name."""

_ALLOWED_SHIFTS: Final = range(64)
_DIVISION_SYMBOLS: Final = {"/", "//", "%", "**"}
# Instructions, besides binary operators, that are rewritten only where integers may wrap.
_WRAPPING_OPERATIONS: Final = ("STORE_SUBSCR", "UNARY_NEGATIVE", "UNARY_INVERT")
_SLICE_OPERATIONS: Final = ("STORE_SLICE", "BUILD_SLICE")
_ARRAY_VARIABLE: Final = f"{_PREFIX}array{_ENDING}"
_INDEX_VARIABLE: Final = f"{_PREFIX}index{_ENDING}"
_FOLDED_NODES: Final = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
_CONSTANT_OPERATIONS: Final = ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST")
_FLOAT_FUNCTIONS: Final = ("log", "log1p", "exp", "expm1", "sqrt", "lgamma", "float", "uniform")


_Target = TypeVar("_Target", bound=ast.Name | ast.Attribute | ast.Subscript)


def _call_node(name: str, arguments: list[ast.expr], located_node: ast.AST) -> ast.Call:
    """Return a call of one of `HELPERS`, with the line and column of another node."""
    call = ast.Call(ast.Name(f"{_PREFIX}{name}{_ENDING}", ast.Load()), arguments, [])
    return ast.copy_location(call, located_node)


class _Rewriter(ast.NodeTransformer):
    """Replaces operations that differ in compiled code; with `wraps`, integers may wrap."""

    def __init__(self, wraps: bool) -> None:
        self.wraps = wraps
        self.operators = _DIVISIONS | _WRAPPING if wraps else _DIVISIONS

    def _helper_name(self, operator: ast.operator, left: ast.expr, right: ast.expr) -> str | None:
        """Return the name of the function that replaces an operator; None if none does."""
        name = self.operators.get(type(operator))
        if name is None or name == "power":
            return name
        if name == "shift_right":
            is_same_in_python = isinstance(right, ast.Constant) and right.value in _ALLOWED_SHIFTS
        elif type(operator) in _DIVISIONS:
            # Python divides large integers exactly, and compiled code as floats.
            may_be_integers = self.wraps and name == "divide" and not _is_float(right)
            is_same_in_python = _is_positive_constant(right) and not may_be_integers
        else:
            is_same_in_python = _is_float(left) or _is_float(right)
        return None if is_same_in_python else name

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Replace an operator."""
        if (constant := _fold_constant(node)) is not None:
            return self.visit_Constant(constant)
        name = self._helper_name(node.op, node.left, node.right)
        self.generic_visit(node)
        return _call_node(name, [node.left, node.right], node) if name else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Replace ``-`` or ``~`` before an operand."""
        if (constant := _fold_constant(node)) is not None:
            return self.visit_Constant(constant)
        may_wrap = self.wraps and not _is_float(node.operand)
        name = _UNARY.get(type(node.op))
        self.generic_visit(node)
        return _call_node(name, [node.operand], node) if may_wrap and name else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Replace an augmented assignment."""
        old_value = _target_as_expression(node.target)
        name = self._helper_name(node.op, old_value, node.value)
        needs_store = self.wraps and isinstance(node.target, ast.Subscript)
        if name is None and not needs_store:
            self.generic_visit(node)
            return node
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            result: ast.expr = _call_node(name or "", [old_value, value], node)
            return ast.copy_location(ast.Assign([node.target], result), node)
        if not isinstance(node.target, ast.Subscript):
            return node  # the class of such a kernel is refused when it is defined
        # The array and its index are held in two variables, so that they are evaluated once, as in
        # the original.
        array, index = _split_subscript(self.visit(_target_as_expression(node.target)))
        variables = [
            ast.NamedExpr(ast.Name(_ARRAY_VARIABLE, ast.Store()), array),
            ast.NamedExpr(ast.Name(_INDEX_VARIABLE, ast.Store()), index),
        ]
        index_name = ast.Name(_INDEX_VARIABLE, ast.Load())
        entry = ast.Subscript(ast.Name(_ARRAY_VARIABLE, ast.Load()), index_name, ast.Load())
        ast.copy_location(entry, node.target)
        if name:
            new_entry: ast.expr = _call_node(name, [entry, value], node)
        else:
            new_entry = ast.copy_location(ast.BinOp(entry, node.op, value), node)
        return ast.copy_location(ast.Expr(_call_node("store", [*variables, new_entry], node)), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Replace an assignment to a slice, or to an array that may be of integers."""
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            self.generic_visit(node)
            return node
        is_sliced = any(isinstance(index, ast.Slice) for index in _list_indices(target.slice))
        if not is_sliced and not self.wraps:
            self.generic_visit(node)
            return node
        value = self.visit(node.value)
        array, index = _split_subscript(self.visit(_target_as_expression(target)))
        call = _call_node("fill" if is_sliced else "store", [array, index, value], node)
        return ast.copy_location(ast.Expr(call), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace attributes that NumPy's arrays have and memory views lack."""
        self.generic_visit(node)
        if node.attr in interpreted_arrays.ATTRIBUTES and isinstance(node.ctx, ast.Load):
            return _call_node("get_attribute", [node.value, ast.Constant(node.attr)], node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Replace an integer above the largest int64 by a uint64."""
        if isinstance(node.value, int) and node.value > arithmetic.LARGEST:
            return _call_node("to_uint64", [ast.Constant(node.value)], node)
        return node


def _fold_constant(node: ast.expr) -> ast.Constant | None:
    """Return the constant that an operation on constants folds to, such as ``1 << 63``; else None.

    It is folded with Python's arithmetic, without a limit of 64 bits.
    """
    if not all(isinstance(operand, _FOLDED_NODES) for operand in ast.walk(node)):
        return None
    code = compile(ast.Expression(node), "", "eval")
    steps = [step for step in dis.get_instructions(code) if step.opname != "RESUME"]
    if any(step.opname not in _CONSTANT_OPERATIONS for step in steps):
        return None
    return ast.copy_location(ast.Constant(steps[0].argval), node)


def _is_positive_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


def _is_float(node: ast.expr) -> bool:
    """Return whether an expression is a float for certain."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.UnaryOp):
        return _is_float(node.operand) and isinstance(node.op, ast.USub)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div) or _is_float(node.left) or _is_float(node.right)
    if isinstance(node, ast.Call):
        callee = node.func
        name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        return name in _FLOAT_FUNCTIONS
    return False


def _list_indices(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _target_as_expression(target: _Target) -> _Target:
    """Return the expression that reads an assignment's target."""
    expression = copy.deepcopy(target)
    expression.ctx = ast.Load()
    return expression


def _slice_call(node: ast.Slice) -> ast.expr:
    """Return a call of `slice` with the ends and the step of a slice."""
    ends = [end or ast.Constant(None) for end in (node.lower, node.upper, node.step)]
    return ast.copy_location(ast.Call(ast.Name("slice", ast.Load()), ends, []), node)


def _split_subscript(node: ast.Subscript) -> tuple[ast.expr, ast.expr]:
    """Return the array of a subscript, and its index as a value."""
    indices = [_slice_call(i) if isinstance(i, ast.Slice) else i for i in _list_indices(node.slice)]
    index = ast.Tuple(indices, ast.Load()) if isinstance(node.slice, ast.Tuple) else indices[0]
    return node.value, ast.copy_location(index, node.slice)


def _needs_rewriting(code: CodeType, wraps: bool) -> bool:
    """Return whether code may contain operations that differ in compiled code."""
    if wraps and any(type(c) is int and c > arithmetic.LARGEST for c in code.co_consts):
        return True
    if any(isinstance(c, slice) for c in code.co_consts):  # from Python 3.14 on
        return True
    for step in dis.get_instructions(code):
        if (
            step.opname in ("LOAD_ATTR", "LOAD_METHOD")
            and step.argval in interpreted_arrays.ATTRIBUTES
        ):
            return True
        if step.opname == "BINARY_OP" and (wraps or step.argrepr.rstrip("=") in _DIVISION_SYMBOLS):
            return True
        if step.opname in _SLICE_OPERATIONS or (wraps and step.opname in _WRAPPING_OPERATIONS):
            return True
    inner_codes = [c for c in code.co_consts if isinstance(c, CodeType)]
    return any(_needs_rewriting(inner_code, wraps) for inner_code in inner_codes)


@lru_cache(maxsize=4096)
def rewrite_operators(code: CodeType, wraps: bool) -> CodeType:
    """Return the code of a function with the operators of compiled code.

    Parameters
    ----------
    code : code object
        The function's code.
    wraps : bool
        Whether the function's integers may leave 64 bits, and then wrap.

    Raises
    ------
    NotInterpretedError
        If the function's source is needed, and is missing or has changed.
    """
    if not _needs_rewriting(code, wraps):
        return code
    tree = find_definition(code)  # or a text that says why there is none
    if not isinstance(tree, str):
        return compile_definition(ast.fix_missing_locations(_Rewriter(wraps).visit(tree)), code)
    # Generated code has no source. It runs as it is, unless it needs more than wrapped integers.
    if code.co_filename == "<string>" and not _needs_rewriting(code, False):
        return code
    raise NotInterpretedError(
        f"{code.co_qualname} cannot be interpreted: {tree} ({code.co_filename}, line "
        f"{code.co_firstlineno})"
    )
