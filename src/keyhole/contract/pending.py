"""What a policy does while decisions are pending: declared by its author, or inferred."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from keyhole.cached import cached_property
from keyhole.contract.grammar import missing_arrays
from keyhole.contract.memory import declared_state
from keyhole.contract.state_access import find_access
from keyhole.contract.words import listed
from keyhole.validate import choice

Ways = tuple[str, ...]

PENDING: Final = ("imagine", "ignore", "wait")
"""What a policy can do while decisions are open: see `Policy`."""
WAIT: Final = ("wait",)

_READERS: Final = ("update", "select", "recommend")


class InferredPending:
    """The attribute `pending` of a class whose author has not declared it.

    It is inferred when it is first asked for, which takes some milliseconds.
    """

    def __init__(self, ways: Ways, find_reason: Callable[[], str]) -> None:
        self.ways = ways  # where there is no reason to wait
        self._find_reason = find_reason

    @cached_property
    def reason(self) -> str:
        """Why the policy waits; "" if it does not."""
        return self._find_reason()

    def __get__(self, policy: object, owner: type | None = None) -> Ways:
        """Return what the policy can do."""
        return WAIT if self.reason else self.ways


def candidates(cls: Any) -> Ways:
    """Return what a class can do at best, without a look at its kernels."""
    stands = inspect.getattr_static(cls, "pending")
    ways: Ways = stands.ways if isinstance(stands, InferredPending) else stands
    return ways


def reason_to_wait(cls: Any) -> str:
    """Return why a class waits whose author has not declared that it does; else ""."""
    stands = inspect.getattr_static(cls, "pending")
    return stands.reason if isinstance(stands, InferredPending) else ""


def check_pending(cls: Any) -> None:
    """Refuse ways that there are not, none at all, and imagining without its kernel."""
    name, ways = f"{cls.__name__}.pending", candidates(cls)
    if not isinstance(ways, tuple) or not ways:
        raise TypeError(f"{name} must be a tuple of at least one way, got {ways!r}")
    for way in ways:
        choice(name, way, PENDING)
    if "imagine" in ways and not (cls.abstract or hasattr(cls, "imagine")):
        raise TypeError(f"{name} has 'imagine', but {cls.__name__} lacks the kernel imagine")


def infer_pending(cls: Any) -> None:
    """Have a class wait where its kernels ask for that and its author has declared nothing.

    A declaration speaks for the kernels that its class has or inherits: not for those that a
    subclass writes anew.
    """
    home, ways = _declaration(cls)
    if home is cls or ways == WAIT:
        return
    if "imagine" in ways and (missing := missing_arrays(cls, "imagine")):
        reason = f"its State lacks {_quoted(missing)}, which `imagine` of its setting uses"
        cls.pending = InferredPending(WAIT, lambda: reason)
    elif not all(issubclass(home, _home(cls, kernel)) for kernel in (*_READERS, *cls.helpers)):
        cls.pending = InferredPending(ways, lambda: _find_reason(cls))


def combine_pending(cls: Any, base: Any) -> None:
    """Have a policy with a base do what both of them can, in the order of the base."""
    ways = candidates(cls)
    if ways == WAIT:
        return
    both = tuple(way for way in candidates(base) if way in ways)
    cls.pending = InferredPending(both or WAIT, lambda: reason_to_wait(base))


def _declaration(cls: Any) -> tuple[Any, Ways]:
    """Return the nearest class that declares `pending`, and what it declares."""
    for home in cls.__mro__:
        ways = vars(home).get("pending")
        if isinstance(ways, tuple):
            return home, ways
    raise TypeError(f"{cls.__name__}.pending must be a tuple of at least one way")


def _home(cls: Any, kernel: str) -> type:
    """Return the class in which a kernel is written."""
    return next((home for home in cls.__mro__ if kernel in vars(home)), object)


def _find_reason(cls: Any) -> str:
    """Return which arrays `select` writes that are read later on, and by what; or ""."""
    state = declared_state(cls)
    written = {name for name in find_access(cls, "select").writes if state[name].kept}
    for reader in _READERS if written else ():
        if both := written & find_access(cls, reader).reads:
            when = "a later `select`" if reader == "select" else f"`{reader}`"
            arrays = [name for name in state if name in both]
            return f"`select` writes {_quoted(arrays)}, which {when} reads"
    return ""


def _quoted(names: Sequence[str]) -> str:
    return listed([f"`{name}`" for name in names])
