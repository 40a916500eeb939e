"""Source of what was typed in a notebook or at a prompt, as a module for other processes.

A class or a function typed in a cell is in no file that another process could import. Where the
session keeps its source (notebooks, IPython), that is gathered, with the source of all that it
uses.
"""

import __future__

import ast
import builtins
import hashlib
import inspect
import linecache
import symtable
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from keyhole.rebuilt_source_check import NotebookCodeComparison, code_content
from keyhole.reproducible_pickling import pickle_value

_MAIN: Final = "__main__"
_MOST_BYTES: Final = 2**20  # of a value that typed code uses
_MOST_LITERAL: Final = 10_000  # characters of a value that is sent as a literal
_ADVICE: Final = "put it into a file (in a notebook: %%writefile FILE.py) and import it"


class NotebookCodeError(ValueError):
    """What was typed cannot be sent to another process; the message says why, and what to do."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the message alone, without the frames of this package."""
        return [f"ValueError: {self}"]


def is_typed(thing: Any) -> bool:
    """Return whether a class or a function was typed in this session, outside of functions."""
    if not isinstance(thing, type | FunctionType) or thing.__module__ != _MAIN:
        return False
    return is_typed_session() and thing.__qualname__.isidentifier()


def is_typed_session() -> bool:
    """Return whether this is a notebook or a prompt, and no script."""
    return not getattr(sys.modules.get(_MAIN), "__file__", None)


class NotebookCode:
    """The source of a module with things that were typed, and all that they use.

    Attributes
    ----------
    modules : list of module
        The modules that it imports.
    """

    def __init__(self) -> None:
        self.modules: list[ModuleType] = []
        self._added: dict[str, Any] = {}
        self._parts: dict[str, str] = {}
        self._made: dict[str, Any] = {"__name__": _MAIN}
        self._checked: set[str] = set()
        self._depth = 0

    @property
    def cells(self) -> list[str]:
        """The source of the module in parts, each of which is compiled by itself, as cells are."""
        return list(self._parts.values())

    def add(self, thing: Any) -> str:
        """Add a typed class or function and all that it uses; return its name.

        Raises
        ------
        NotebookCodeError
            If the source is not known, makes something else than what is here, or uses a value that
            cannot be sent.
        """
        self._depth += 1
        try:
            name = self._add(thing)
        finally:
            self._depth -= 1
        # Once, after everything: a part alone may use a name that is added later.
        if not self._depth:
            self._check()
        return name

    def _check(self) -> None:
        """Refuse things that their source would not make as they are here.

        Bases, default arguments and attributes of classes are computed when a cell is run, from
        what the session had then; the other process computes them from what it has now.
        """
        new = [name for name in self._parts if name not in self._checked]
        for name in new:
            try:
                execute_typed([self._parts[name]], self._made)
            except Exception as error:
                why = f"{type(error).__name__}: {' '.join(str(error).split())}"
                raise NotebookCodeError(
                    f"{name} cannot be made from its source ({why}); {_ADVICE}"
                ) from None
        for name in new:
            thing = self._added.get(name)
            if thing is None or not is_typed(thing) or thing.__name__ != name:
                continue
            part = NotebookCodeComparison(self._made, self._added).find_difference(
                thing, self._made[name]
            )
            if part:
                raise NotebookCodeError(
                    f"{name} was made with an older or another {part} than its source makes now: "
                    "run its cell again"
                )
        self._checked.update(new)

    def _add(self, thing: Any) -> str:
        name: str = thing.__name__
        if name in self._added:
            if self._added[name] is not thing:
                raise NotebookCodeError(f"two things called {name} cannot be sent: rename one")
            return name
        # Before all that it uses is added: things may use each other.
        self._added[name] = thing
        text, file = _find_source(thing)
        values = vars(sys.modules[_MAIN])
        names = [
            used for used in _global_names(text)
            if used in values and used != name and not _is_shell_function(used, values[used])
        ]  # fmt: skip
        for used in names:
            self._add_value(name, used, values[used])
            if isinstance(values[used], ModuleType):
                self._add_submodules(text, used, values[used])
        imports = [self._parts[used] for used in names if _is_import(self._parts.get(used, ""))]
        codes = [code for code in _codes(thing) if code.co_filename == file]
        flag = __future__.annotations.compiler_flag
        # With this import in its cell, a function is compiled to other code.
        has_future = any(code.co_flags & flag for code in codes)
        first = ["from __future__ import annotations"] if has_future else []
        # Python compiles calls of functions of a module to other instructions if the same text
        # imports the module, and the digest of a kernel is that of its instructions.
        texts = ["\n".join([*first, *more, text]) for more in ([], imports)]
        found = [one for one in texts if _has_codes(one, codes)]
        if not found:
            raise NotebookCodeError(
                f"the source of {name} has changed; run its cell again, or rename one of two {name}"
            )
        self._parts[name] = found[0]
        return name

    def _add_value(self, user: str, name: str, value: Any) -> None:
        """Add what typed code uses under a name of the session."""
        if is_typed(value):
            own = self.add(value)
            if own != name:
                self._parts[name] = f"{name} = {own}"
        elif name not in self._added:
            self._added[name] = value
            self._parts[name] = self._assign(user, name, value)

    def _add_submodules(self, text: str, name: str, module: ModuleType) -> None:
        """Add imports of the submodules that a text reaches as attributes of a module."""
        for node in ast.walk(ast.parse(text)):
            dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if not dotted.startswith(f"{name}."):
                continue
            full = module.__name__ + dotted.removeprefix(name)
            if full in sys.modules and full not in self._parts:
                self.modules.append(sys.modules[full])
                # The import loads the submodule, an attribute of its package; nobody uses this
                # name.
                self._parts[full] = f"import {full} as _keyhole_{full.replace('.', '_')}"

    def _assign(self, user: str, name: str, value: Any) -> str:
        """Return the statement that gives a name its value: an import, or an assignment."""
        if isinstance(value, ModuleType):
            self.modules.append(value)
            return f"import {value.__name__} as {name}"
        if isinstance(value, type | FunctionType | BuiltinFunctionType | MethodType):
            owner = getattr(value, "__self__", None)
            # A function such as `random.random` has no module of its own: it is a method of an
            # object in the module of its class.
            for place in (value.__module__, type(owner).__module__):
                home: Any = sys.modules.get(place or "")
                if home is not None and vars(home).get(value.__name__) is value:
                    self.modules.append(home)
                    return f"from {home.__name__} import {value.__name__} as {name}"
        is_short = isinstance(value, bool | int) and abs(value).bit_length() < _MOST_LITERAL
        is_short |= isinstance(value, str) and len(value) < _MOST_LITERAL
        # A subclass, such as of an enumeration, is no literal.
        if value is None or (type(value) in (bool, int, str) and is_short):
            return f"{name} = {value!r}"
        data = _pickle(user, name, value)
        return f"import pickle as _keyhole_pickle\n\n{name} = _keyhole_pickle.loads({data!r})"


def _is_shell_function(name: str, value: Any) -> bool:
    """Return whether a notebook has replaced a built-in function, as IPython does `open`."""
    home = getattr(value, "__globals__", {}).get("__name__", "")
    return hasattr(builtins, name) and str(home).startswith(("IPython.", "ipykernel."))


def _pickle(user: str, name: str, value: object) -> bytes:
    """Return a pickled value; refuse one that another process could not restore."""
    try:
        data = pickle_value(value, _MOST_BYTES)
    except Exception as error:
        why = " ".join(str(error).split())
        raise NotebookCodeError(f"{user} uses {name}, which cannot be sent ({why})") from None
    # A pickle names classes by their module, and the other process has another ``__main__``.
    if _MAIN.encode() in data:
        raise NotebookCodeError(
            f"{user} uses {name}, a {type(value).__name__} with parts that were typed, which "
            f"cannot be sent; {_ADVICE}"
        )
    if len(data) > _MOST_BYTES:
        raise NotebookCodeError(
            f"{user} uses {name}, of {len(data) / 2**20:,.0f} MiB, and at most 1 MiB is sent with "
            "what was typed: write it to a file that the code reads"
        )
    return data


def _codes(thing: type | FunctionType) -> Iterator[CodeType]:
    """Yield the code of a function, or of the functions in the body of a class."""
    if isinstance(thing, FunctionType):
        yield inspect.unwrap(thing).__code__
        return
    for value in vars(thing).values():
        found = getattr(value, "__func__", value)
        found = getattr(found, "fget", found)
        if isinstance(found, FunctionType) and found.__module__ == _MAIN:
            yield found.__code__
        elif isinstance(found, type) and found.__qualname__.startswith(f"{thing.__qualname__}."):
            yield from _codes(found)


def _find_source(thing: type | FunctionType) -> tuple[str, str]:
    """Return the source of a definition, and the name of the cell in which it stands.

    Refuse a thing whose source is not known.
    """
    kinds = ast.ClassDef if isinstance(thing, type) else (ast.FunctionDef, ast.AsyncFunctionDef)
    files = dict.fromkeys(code.co_filename for code in _codes(thing))
    if isinstance(thing, type):  # perhaps without functions of its own: the last cell that has it
        files |= dict.fromkeys(
            name for name, entry in reversed(linecache.cache.items())
            if len(entry) > 1 and entry[1] is None  # not from a file
        )  # fmt: skip
    for file in files:
        text = "".join(linecache.getlines(file))
        # Of several definitions of a name in a cell, the last one holds.
        for node in reversed(_parse(text)):
            if isinstance(node, kinds) and node.name == thing.__name__:
                lines = text.split("\n")
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno])).rstrip(), file
    raise NotebookCodeError(
        f"{thing.__name__} was typed where its source is not kept, so that it cannot be sent to "
        f"other processes; {_ADVICE}"
    )


def _parse(text: str) -> list[ast.stmt]:
    try:
        return list(_statements(ast.parse(text)))
    except SyntaxError:  # such as a cell with `await` outside of functions
        return []


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements outside of functions and classes, also those below `if` and `with`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
            if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _statements(child)


def _is_import(text: str) -> bool:
    return text.startswith(("import ", "from ")) and "\n" not in text


def _has_codes(text: str, codes: Sequence[CodeType]) -> bool:
    """Return whether a text compiles to these functions, among others."""
    found: dict[str, list[object]] = {}

    def visit(code: CodeType) -> None:
        found.setdefault(code.co_qualname, []).append(code_content(code))
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                visit(inner)

    visit(compile(text, "<typed>", "exec", dont_inherit=True))
    return all(code_content(code) in found.get(code.co_qualname, []) for code in codes)


def _global_names(text: str) -> list[str]:
    """Return the names that a definition takes from its module, in the order of the alphabet."""
    found: set[str] = set()

    def visit(table: symtable.SymbolTable) -> None:
        is_top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() if is_top else symbol.is_global():
                found.add(symbol.get_name())
        for child in table.get_children():
            visit(child)

    visit(symtable.symtable(text, "<typed>", "exec"))
    return sorted(found)


def execute_typed(cells: Iterable[str], values: dict[str, Any]) -> None:
    """Execute the source of a module in the process that it was sent to."""
    for cell in cells:
        # Errors show lines by their file, and interpreted kernels are read from there.
        file = f"<typed {hashlib.sha256(cell.encode()).hexdigest()[:12]}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        exec(compile(cell, file, "exec", dont_inherit=True), values)
