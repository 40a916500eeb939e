"""Comparison of what was typed in a notebook with what its source makes, before it is sent."""

from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any, Final

# What Python adds to a class by itself, or what says where it was defined.
_UNSPECIFIC: Final = {
    "__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "__static_attributes__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "_abc_impl", "__wrapped__",
    "__slotnames__",  # which copying an object leaves in its class
}  # fmt: skip


class NotebookCodeComparison:
    """A comparison of things of this session with those that their source makes.

    Parameters
    ----------
    made : dict of str to object
        By name, what the source makes.
    known : dict of str to object
        By name, what the session has.
    """

    def __init__(self, made: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        self._made, self._known = made, known
        self._seen: set[tuple[int, int]] = set()

    def find_difference(self, here: Any, made: Any) -> str:
        """Return the name of the first part of a thing that differs, "" if none does."""
        # Things may refer to themselves: a pair under comparison counts as the same.
        self._seen.add((id(here), id(made)))
        if type(here) is not type(made):
            return "type"
        if isinstance(here, FunctionType):
            return self._find_function_difference(here, made)
        for base, other in zip(here.__bases__, made.__bases__, strict=False):
            if not self.is_same(base, other):
                return str(base.__name__)
        if len(here.__bases__) != len(made.__bases__):
            return "bases"
        parts, others = _own_parts(here), _own_parts(made)
        for name in {**parts, **others}:
            if name not in parts or name not in others:
                return name
            if not self.is_same(parts[name], others[name]):
                return name
        return ""

    def _find_function_difference(self, here: FunctionType, made: FunctionType) -> str:
        if code_content(here.__code__) != code_content(made.__code__):
            return "code"
        names = here.__code__.co_varnames[: here.__code__.co_argcount]
        defaults, others = here.__defaults__ or (), made.__defaults__ or ()
        if len(defaults) != len(others):
            return "default arguments"
        for name, one, other in zip(names[-len(defaults) :], defaults, others, strict=False):
            if not self.is_same(one, other):
                return name
        for part in ("__kwdefaults__", "__dict__"):
            values, made_values = getattr(here, part) or {}, getattr(made, part) or {}
            for name in {**values, **made_values}.keys() - {"__wrapped__"}:
                # `self` stands for a name that is missing, since it equals nothing that was typed.
                pair = values.get(name, self), made_values.get(name, self)
                if not self.is_same(*pair):
                    return str(name)
        cells, other_cells = here.__closure__ or (), made.__closure__ or ()
        for name, cell, other in zip(here.__code__.co_freevars, cells, other_cells, strict=True):
            if not self.is_same(_content(cell), _content(other)):
                return name
        return ""

    def is_same(self, here: Any, made: Any) -> bool:
        """Return whether two values are the same, or one is made by the source of the other."""
        if here is made or (id(here), id(made)) in self._seen:
            return True
        if type(here) is not type(made) and not self.is_same(type(here), type(made)):
            return False
        if isinstance(here, type | FunctionType):
            name = here.__name__
            # What is sent under its own name is compared by itself: here only names must agree.
            if self._known.get(name) is here or self._made.get(name) is made:
                return self._known.get(name) is here and self._made.get(name) is made
            return not self.find_difference(here, made)
        self._seen.add((id(here), id(made)))
        if isinstance(here, staticmethod | classmethod):
            return self.is_same(here.__func__, made.__func__)
        if isinstance(here, property):
            return all(
                self.is_same(getattr(here, part), getattr(made, part))
                for part in ("fget", "fset", "fdel")
            )
        if isinstance(here, list | tuple):
            pairs = zip(here, made, strict=False)
            return len(here) == len(made) and all(self.is_same(*pair) for pair in pairs)
        if isinstance(here, Mapping):
            return list(here) == list(made) and all(self.is_same(here[k], made[k]) for k in here)
        return self._has_same_state(here, made)

    def _has_same_state(self, here: Any, made: Any) -> bool:
        if isinstance(here, bool | int | float | complex | str | bytes):
            # As texts: NaN equals itself, and 0.0 differs from -0.0.
            return repr(here) == repr(made)
        if isinstance(here, set | frozenset):
            return bool(here == made)
        if type(here).__name__ in ("member_descriptor", "getset_descriptor"):
            return bool(here.__name__ == made.__name__)
        try:
            states = [one.__reduce_ex__(2)[1:] for one in (here, made)]
        except Exception:  # it cannot be taken apart
            own: Any = type(here).__eq__
            return own is not object.__eq__ and bool(here == made)
        # Iterators of items, of subclasses of dict and list, are at their ends.
        pairs = zip(*(_state_parts(state) for state in states), strict=False)
        return all(self.is_same(one, other) for one, other in pairs)


def _state_parts(state: Any) -> list[Any]:
    """Return the parts of what `__reduce_ex__` returns; classes are compared with the type."""
    if isinstance(state, str):
        return [state]
    first, *more = state
    return [[one for one in first if not isinstance(one, type)], *(
        part if part is None or isinstance(part, dict | tuple | list) else
        [part] if not hasattr(part, "__next__") else list(part)
        for part in more
    )]  # fmt: skip


def _own_parts(kind: type) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if name not in _UNSPECIFIC}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def code_content(code: CodeType) -> object:
    """Return what a function does, without where it stands."""
    constants = [
        code_content(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants
