"""Folds constants as Python's compiler does, before syntax trees of kernels are rewritten."""

import ast
import dis
from typing import Final

_PARTS: Final = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
_STEPS: Final = ("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST")


def fold_constant(node: ast.expr) -> ast.Constant | None:
    """Return the constant that an operation on constants folds to, such as ``1 << 63``; else None.

    Its arithmetic is Python's, without a limit of 64 bits.
    """
    if not all(isinstance(part, _PARTS) for part in ast.walk(node)):
        return None
    code = compile(ast.Expression(node), "", "eval")
    steps = [step for step in dis.get_instructions(code) if step.opname != "RESUME"]
    if any(step.opname not in _STEPS for step in steps):
        return None
    return ast.copy_location(ast.Constant(steps[0].argval), node)
