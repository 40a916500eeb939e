"""Expressions that Python makes constants of before anybody runs, or compiles, a function."""

import ast
import dis
from typing import Final

_PARTS: Final = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
_STEPS: Final = ("LOAD_CONST", "RETURN_VALUE", "RETURN_CONST")


def constant_of(node: ast.expr) -> ast.Constant | None:
    """Return the constant that an operation on constants is, such as ``1 << 63``, if it is one.

    Its arithmetic is Python's, without any limit of 64 bits.
    """
    if not all(isinstance(part, _PARTS) for part in ast.walk(node)):
        return None
    code = compile(ast.Expression(node), "", "eval")
    steps = [step for step in dis.get_instructions(code) if step.opname != "RESUME"]
    if any(step.opname not in _STEPS for step in steps):
        return None
    return ast.copy_location(ast.Constant(steps[0].argval), node)
