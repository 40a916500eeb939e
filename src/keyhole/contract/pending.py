"""What a policy does while decisions are pending: declared by its author, or inferred."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numba

from keyhole.cached import cached_property
from keyhole.contract.grammar import missing_arrays
from keyhole.contract.memory import declared_state
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


def list_candidates(cls: Any) -> Ways:
    """Return the ways of a class at best, without a look at its kernels."""
    stands = inspect.getattr_static(cls, "pending")
    ways: Ways = stands.ways if isinstance(stands, InferredPending) else stands
    return ways


def reason_to_wait(cls: Any) -> str:
    """Return why a class waits whose author has not declared that it does; else ""."""
    stands = inspect.getattr_static(cls, "pending")
    return stands.reason if isinstance(stands, InferredPending) else ""


def check_pending(cls: Any) -> None:
    """Refuse ways that there are not, none at all, and imagining without its kernel."""
    name, ways = f"{cls.__name__}.pending", list_candidates(cls)
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
    if home is cls:
        return
    inherits = all(issubclass(home, _home(cls, kernel)) for kernel in _list_governed(cls, home))
    if ways == WAIT and not inherits:
        reason = _describe_default(home)
        cls.pending = InferredPending(WAIT, lambda: reason)
    elif "imagine" in ways and (missing := missing_arrays(cls, "imagine")):
        reason = f"its State lacks {_quoted(missing)}, which `imagine` of its setting uses"
        cls.pending = InferredPending(WAIT, lambda: reason)
    elif not inherits:
        cls.pending = InferredPending(ways, lambda: _find_reason(cls))


def combine_pending(cls: Any, base: Any) -> None:
    """Have a policy with a base do what both of them can, in the order of the base."""
    ways = list_candidates(cls)
    if ways == WAIT:
        return
    others = list_candidates(base)
    both = tuple(way for way in others if way in ways)
    apart = f"it can do {', '.join(ways)}, and its base {base.__name__} {', '.join(others)}"
    reason = "" if both or others == WAIT else apart
    cls.pending = InferredPending(both or WAIT, lambda: reason_to_wait(base) or reason)


def _list_governed(cls: Any, home: Any) -> list[str]:
    """Return the kernels that a declaration must know to hold.

    Not those helpers whose arguments the declaring class has fixed, without the state: all that
    they are given, it gives them.
    """
    fixed = getattr(home, "helper_arguments", {})
    helpers = [name for name in cls.helpers if "s" in fixed.get(name, ("s",))]
    return [*_READERS, *helpers]


def _describe_default(home: Any) -> str:
    """Return why a class waits that declares nothing and has kernels of its own."""
    setting = getattr(home, "setting", None)
    if setting is None:
        return "neither it nor its setting declares `pending`"
    return f"it declares no `pending`, and its base class {home.__name__} waits"


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


@cache
def _find_analysis() -> Any:
    """Return `find_access` of `state_access`, or None, with a warning, if it does not work here.

    It leans on the insides of Numba, so it is imported when it is first needed, and tried: never
    for policies that declare `pending`, as all of ours do.
    """
    try:
        from keyhole.contract.analysis_check import check_analysis
        from keyhole.contract.state_access import find_access

        check_analysis()
    except Exception as error:  # whatever another release of Numba makes of it
        warnings.warn(
            f"the first pass of Numba {numba.__version__} is not the one that keyhole knows "
            f"({type(error).__name__}: {error}): policies that do not declare `pending` wait for "
            "the feedback of each decision",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return find_access


def _find_reason(cls: Any) -> str:
    """Return which arrays `select` writes that are read later on, and by what; or ""."""
    find_access = _find_analysis()
    if find_access is None:
        return (
            "what `select` writes could not be seen: the first pass of Numba "
            f"{numba.__version__} is not the one that keyhole knows"
        )
    state = declared_state(cls)
    selecting = find_access(cls, "select")
    written = {name for name in selecting.writes if state[name].kept}
    for reader in _READERS if written else ():
        reading = find_access(cls, reader)
        if both := written & reading.reads:
            if unread := selecting.unread | reading.unread:
                unseen = "`select` writes" if selecting.unread else f"`{reader}` reads"
                names = _quoted(sorted(unread))
                return f"what {unseen} could not be seen: Numba cannot read {names}"
            when = "a later `select`" if reader == "select" else f"`{reader}`"
            arrays = [name for name in state if name in both]
            return f"`select` writes {_quoted(arrays)}, which {when} reads"
    return ""


def _quoted(names: Sequence[str]) -> str:
    return listed([f"`{name}`" for name in names])
