"""Syntax trees of functions: found in the source, and compiled again after a rewriting."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Final

_LAMBDA: Final = "<lambda>"
_NO_CLASS: Final = "_"  # Python mangles no names in a class of this name
# A call `module.f()` compiles to different instructions if the file itself imports the module. So
# the instructions of calls are not compared.
_CALLS: Final = (
    "CACHE", "CALL", "EXTENDED_ARG", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "NOP", "PRECALL",
    "PUSH_NULL",
)  # fmt: skip
_JUMP_OPCODES: Final = {*dis.hasjrel, *dis.hasjabs}


def find_definition(code: CodeType) -> ast.FunctionDef | str:
    """Return the definition of a function; or a text that says why there is none.

    A lambda is returned as a function with a single statement. A definition that does not compile
    to `code` is refused: the file may have changed after it was imported.
    """
    reason = "its source is not there"
    for tree in _find_candidate_definitions(code):
        if _is_from_same_source(compile_definition(tree, code), code):
            return tree
        reason = "its source has changed since it was imported"
    return reason


def compile_definition(tree: ast.FunctionDef, code: CodeType) -> CodeType:
    """Compile a definition, with the free variables of the original function, whose code is `code`.

    The definition is compiled inside a class with the name of the class around the original, since
    private names (``__x``) depend on that name. A function that calls itself still reads a global,
    since names of a class are not visible in its functions.
    """
    class_definition = ast.ClassDef(_innermost_class_name(code), [], [], [ast.Pass()], [])
    arguments = ast.arguments([], [ast.arg(n) for n in code.co_freevars], None, [], [], None, [])
    # A function that uses its own class by name reads a global, unless the class is local.
    body: list[ast.stmt] = [class_definition]
    if class_definition.name not in code.co_freevars:
        body.insert(0, ast.Global([class_definition.name]))
    outer = ast.FunctionDef("outer", arguments, body, [], None)
    _clear_type_parameters(class_definition)
    _clear_type_parameters(outer)
    # Calls on imported names compile differently from calls on other globals: see `_CALLS`.
    imports = ast.Import([ast.alias(name) for name in code.co_names if name.isidentifier()])
    module = ast.Module([imports, outer] if imports.names else [outer], [])
    ast.copy_location(outer, tree)
    ast.fix_missing_locations(module)
    class_definition.body.insert(0, tree)
    compiled_code = compile(module, code.co_filename, "exec", dont_inherit=True)
    for _ in range(3):  # from the module to the outer function, the class, the definition
        compiled_code = next(c for c in compiled_code.co_consts if isinstance(c, CodeType))
    return compiled_code.replace(co_qualname=code.co_qualname)


def _innermost_class_name(code: CodeType) -> str:
    """Return the name of the innermost class around a function, or ``_`` if there is none."""
    names = code.co_qualname.split(".")
    classes = [a for a, b in pairwise(names) if "<locals>" not in (a, b)]
    return next(reversed(classes), _NO_CLASS)


def _find_candidate_definitions(code: CodeType) -> Iterator[ast.FunctionDef]:
    """Yield the definitions from which `code` may have been compiled."""
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno
    if code.co_name == _LAMBDA:
        yield from _find_lambdas("".join(lines), first)
        return
    last = max((end or 0 for _, end, _, _ in code.co_positions()), default=0)
    if lines and last <= len(lines):
        yield from _find_functions("".join(lines[first - 1 : last]), code)
    # Unreachable lines at the end have no instructions, but `inspect` finds the whole block.
    try:
        yield from _find_functions("".join(inspect.getsourcelines(code)[0]), code)
    except (OSError, TypeError):
        return


def _find_lambdas(source: str, first: int) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(_parse_source(source)):
        if isinstance(node, ast.Lambda) and node.lineno == first:
            body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
            tree = ast.FunctionDef(_LAMBDA, node.args, body, [], None)
            yield _strip_definition(ast.copy_location(tree, node))


def _find_functions(source: str, code: CodeType) -> Iterator[ast.FunctionDef]:
    first_line = 1
    # An indented definition is parsed inside an `if`.
    if source[:1].isspace():
        source = f"if 1:\n{source}"
        first_line = 2
    tree = _parse_source(source)
    ast.increment_lineno(tree, code.co_firstlineno - first_line)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            yield _strip_definition(node)


def _parse_source(source: str) -> ast.Module:
    """Return the syntax tree of some text; an empty one if it is not valid Python."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _strip_definition(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Return a definition without the parts that are evaluated when it is executed."""
    tree.decorator_list = []
    tree.returns = None
    _clear_type_parameters(tree)
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    none = ast.copy_location(ast.Constant(None), tree)
    tree.args.defaults = [none for _ in tree.args.defaults]
    # Here None stands for an argument without a default.
    tree.args.kw_defaults = [default and none for default in tree.args.kw_defaults]
    return tree


def _clear_type_parameters(tree: ast.AST) -> None:
    if "type_params" in tree._fields:  # required from Python 3.12 on
        setattr(tree, "type_params", [])  # noqa: B010 (unknown to the type checker before 3.12)


def _is_from_same_source(compiled_code: CodeType, code: CodeType) -> bool:
    """Return whether two code objects seem to be compiled from the same source."""
    if compiled_code.co_names != code.co_names or compiled_code.co_varnames != code.co_varnames:
        return False
    if _constant_texts(compiled_code) != _constant_texts(code):
        return False
    return compiled_code.co_code == code.co_code or _operations(compiled_code) == _operations(code)


def _constant_texts(code: CodeType) -> list[str]:
    return [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]


def _operations(code: CodeType) -> list[tuple[str, int | None]]:
    return [
        (step.opname, None if step.opcode in _JUMP_OPCODES else step.arg)
        for step in dis.get_instructions(code)
        if step.opname not in _CALLS
    ]
