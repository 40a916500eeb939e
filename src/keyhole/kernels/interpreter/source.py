"""The definition that a function was compiled from, as a syntax tree with its lines."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Any, Final

_LAMBDA: Final = "<lambda>"
_NO_CLASS: Final = "_"  # names in it are not private
# How a function of an imported module is called depends on the rest of the file.
_CALLS: Final = (
    "CACHE", "CALL", "EXTENDED_ARG", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "NOP", "PRECALL",
    "PUSH_NULL",
)  # fmt: skip
_JUMPS: Final = {*dis.hasjrel, *dis.hasjabs}


def find_definition(code: CodeType) -> ast.FunctionDef | str:
    """Return the definition of a function; or, if there is none, what is wrong with its source.

    A lambda is one with a single statement. What compiles to other code than the function has is
    another source: a file may have changed since it was imported.
    """
    changed = False
    for tree in _candidates(code):
        if _is_same(compile_definition(tree, code), code):
            return tree
        changed = True
    return "its source has changed since it was imported" if changed else "its source is not there"


def compile_definition(tree: ast.FunctionDef, code: CodeType) -> CodeType:
    """Return the code of a definition, with the variables from outside that some code has.

    It stands in a class: of the same name as the one that it is from, on which private names depend
    (``__x``), and whose own names its functions do not see, so that a function may call itself.
    """
    home = ast.ClassDef(_class_of(code), [], [], [ast.Pass()], [])
    names = ast.arguments([], [ast.arg(n) for n in code.co_freevars], None, [], [], None, [])
    # A function that names its own class finds it in the module, unless that is a local class.
    own = [] if home.name in code.co_freevars else [ast.Global([home.name])]
    outer = ast.FunctionDef("outer", names, [*own, home], [], None)
    _leave_out_types(home)
    _leave_out_types(outer)
    # A function of something imported is called in other steps than one of a global variable.
    imports = ast.Import([ast.alias(name) for name in code.co_names if name.isidentifier()])
    module = ast.Module([imports, outer] if imports.names else [outer], [])
    ast.copy_location(outer, tree)
    ast.fix_missing_locations(module)
    home.body.insert(0, tree)
    found = compile(module, code.co_filename, "exec", dont_inherit=True)
    for _ in range(3):  # what is in the module, in the outer function, in the class
        found = next(c for c in found.co_consts if isinstance(c, CodeType))
    return found.replace(co_qualname=code.co_qualname)


def _class_of(code: CodeType) -> str:
    """Return the name of the innermost class around a function; without one, ``_``."""
    names = code.co_qualname.split(".")
    classes = [a for a, b in pairwise(names) if "<locals>" not in (a, b)]
    return classes[-1] if classes else _NO_CLASS


def _candidates(code: CodeType) -> Iterator[ast.FunctionDef]:
    """Yield the definitions that may be that of some code."""
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
    if code.co_name == _LAMBDA:
        yield from _lambdas("".join(lines), first)
        return
    last = max((end or 0 for _, end, _, _ in code.co_positions()), default=0)
    if lines and last <= len(lines):
        yield from _functions("".join(lines[first - 1 : last]), code)
    try:  # up to its last instruction is not all of it where something is never reached
        yield from _functions("".join(inspect.getsourcelines(code)[0]), code)
    except (OSError, TypeError):
        return


def _lambdas(source: str, first: int) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(_parse(source)):
        if isinstance(node, ast.Lambda) and node.lineno == first:
            body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
            tree = ast.FunctionDef(_LAMBDA, node.args, body, [], None)
            yield _strip_definition(ast.copy_location(tree, node))


def _functions(source: str, code: CodeType) -> Iterator[ast.FunctionDef]:
    indented = source[:1].isspace()
    tree = _parse(f"if 1:\n{source}" if indented else source)
    ast.increment_lineno(tree, code.co_firstlineno - (2 if indented else 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            yield _strip_definition(node)


def _parse(source: str) -> ast.Module:
    """Return the tree of some text: an empty one if it is no Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _strip_definition(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Return a definition without what is evaluated when it is made."""
    tree.decorator_list, tree.returns = [], None
    _leave_out_types(tree)
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    none = ast.copy_location(ast.Constant(None), tree)
    tree.args.defaults = [none for _ in tree.args.defaults]
    tree.args.kw_defaults = [default and none for default in tree.args.kw_defaults]
    return tree


def _leave_out_types(tree: Any) -> None:
    if "type_params" in tree._fields:  # from Python 3.12 on, which wants to be told of none
        tree.type_params = []


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Tell whether two codes were compiled from one source."""
    if (one.co_names, one.co_varnames) != (other.co_names, other.co_varnames):
        return False
    if _constants(one) != _constants(other):
        return False
    return one.co_code == other.co_code or _steps(one) == _steps(other)


def _constants(code: CodeType) -> list[str]:
    return [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]


def _steps(code: CodeType) -> list[Any]:
    return [
        (step.opname, None if step.opcode in _JUMPS else step.arg)
        for step in dis.get_instructions(code)
        if step.opname not in _CALLS
    ]
