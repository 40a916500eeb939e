"""What a policy does while decisions are pending: declared by its author, or inferred."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Literal, NamedTuple, get_args

from keyhole.cached import cached_property
from keyhole.contract.descriptions import join_words
from keyhole.contract.kernel_signatures import missing_arrays
from keyhole.contract.state_memory import declared_state
from keyhole.kernels.compiler_lock import compiler_lock, import_numba
from keyhole.validate import check_choice

Ways = tuple[str, ...]

Pending = Literal["impute", "ignore", "wait"]
PENDING: Final = get_args(Pending)
"""What a policy can do while decisions are open: see `Policy`."""
WAIT: Final = ("wait",)

_READERS: Final = ("update", "recommend", "select")
_IGNORE: Final = 'declare `pending = ("ignore",)` in the class if'


class _Reason(NamedTuple):
    """Why a policy waits, the mend, and whether it may do well to ignore open decisions instead."""

    text: str
    mend: str = ""
    may_ignore: bool = True
    ahead: tuple[str, ...] = ()  # the arrays that would then change before feedback comes


class InferredPending:
    """The attribute `pending` of a class whose author has not declared it.

    It is inferred when it is first asked for, which takes some milliseconds.
    """

    def __init__(self, ways: Ways, find_reasons: Callable[[], list[_Reason]]) -> None:
        self.ways = ways  # where there is no reason to wait
        self._find_reasons = find_reasons

    @cached_property
    def reasons(self) -> list[_Reason]:
        """Why the policy waits, the weightiest reason first; none if it does not."""
        return self._find_reasons()

    def __get__(self, policy: object, owner: type | None = None) -> Ways:
        """Return what the policy can do."""
        return WAIT if self.ways == WAIT or self.reasons else self.ways


def list_candidates(cls: Any) -> Ways:
    """Return the ways of a class at best, without a look at its kernels."""
    stands = inspect.getattr_static(cls, "pending")
    ways: Ways = stands.ways if isinstance(stands, InferredPending) else stands
    return ways


def reason_to_wait(cls: Any) -> str:
    """Return why a class waits whose author has not declared that it does; else ""."""
    return "; and ".join(reason.text for reason in _list_reasons(cls))


def describe_mend(cls: Any) -> str:
    """Return what the author of such a class can do; that it ignores others only if that is right.

    It is not where what is learnt from feedback would be another decision's.
    """
    reasons = _list_reasons(cls)
    mends = [reason.mend for reason in reasons if reason.mend]
    if all(reason.may_ignore for reason in reasons):
        ahead = [name for reason in reasons for name in reason.ahead]
        where = f"{_quoted(ahead)} may change" if ahead else "it may take others"
        mends.append(f"{'or ' * bool(mends)}{_IGNORE} {where} before the feedback comes")
    return "; ".join(mends)


def describe_doubts(cls: Any) -> str:
    """Return what speaks against letting decisions of a class be pending, and the mend; or ""."""
    doubts = [] if cls.pending == WAIT else [r for r in _find_reasons(cls) if not r.may_ignore]
    if not doubts:
        return ""
    seen = "; and ".join(doubt.text for doubt in doubts)
    mends = "; ".join(doubt.mend for doubt in doubts)
    declared = ", ".join(f'"{way}"' for way in cls.pending)
    return (
        f"{cls.__name__} declares that its decisions may be pending ({declared}), but {seen}; "
        f'{mends}; or declare `pending = ("wait",)` in the class; leave it as it is only if you '
        "know that this does no harm"
    )


def _list_reasons(cls: Any) -> list[_Reason]:
    stands = inspect.getattr_static(cls, "pending")
    return stands.reasons if isinstance(stands, InferredPending) else []


def check_pending(cls: Any) -> None:
    """Refuse ways that there are not, none at all, and imagining without its kernel."""
    name, ways = f"{cls.__name__}.pending", list_candidates(cls)
    if not isinstance(ways, tuple) or not ways:
        raise TypeError(f"{name} must be a tuple of at least one way, got {ways!r}")
    for way in ways:
        check_choice(name, way, PENDING)
    if "impute" in ways and not (cls.abstract or hasattr(cls, "impute")):
        raise TypeError(f"{name} has 'impute', but {cls.__name__} lacks the kernel impute")


def check_allowed(policy: Any, pending: str, ways: Ways) -> None:
    """Refuse for a policy what is none of the ways that it has, and not to wait."""
    if pending not in (*ways, "wait"):
        allowed = " or ".join(map(repr, dict.fromkeys((*ways, "wait"))))
        why = f": {text}" if (text := policy.explain_waiting()) else ""
        raise ValueError(f"pending must be {allowed} for {policy}, got {pending!r}{why}")


def infer_pending(cls: Any) -> None:
    """Have a class wait where its kernels ask for that and its author has declared nothing.

    A declaration speaks for the kernels that its class has or inherits: not for those that a
    subclass writes anew.
    """
    home, ways = _declaration(cls)
    if home is cls:
        return
    inherits = all(issubclass(home, _home(cls, kernel)) for kernel in _list_governed(cls, home))
    plain: list[_Reason] = []
    if ways == WAIT and not inherits:
        plain = [_Reason(_describe_default(home))]
    elif "impute" in ways and (missing := missing_arrays(cls, "impute")):
        lacks = f"its State lacks {_quoted(missing)}, which `impute` of its setting uses"
        plain = [_Reason(lacks)]
    if plain or not inherits:
        cls.pending = InferredPending(
            WAIT if plain else ways, lambda: ([] if inherits else _find_reasons(cls)) + plain
        )


def combine_pending(cls: Any, base: Any) -> None:
    """Have a policy with a base do what both of them can, in the order of the base."""
    ways = list_candidates(cls)
    if ways == WAIT:
        return
    others = list_candidates(base)
    both = tuple(way for way in others if way in ways)
    apart = f"it can do {', '.join(ways)}, and its base {base.__name__} {', '.join(others)}"
    reasons = [] if both or others == WAIT else [_Reason(apart)]
    cls.pending = InferredPending(both or WAIT, lambda: _list_reasons(base) or reasons)


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
        with compiler_lock():
            import_numba()
            from keyhole.contract.analysis_check import check_analysis
            from keyhole.contract.state_access import find_access

        check_analysis()
    except Exception as error:  # whatever another release of Numba makes of it
        warnings.warn(
            f"the first pass of Numba {version('numba')} is not the one that keyhole knows "
            f"({type(error).__name__}: {error}): policies that do not declare `pending` wait for "
            "the feedback of each decision",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return find_access


def _find_reasons(cls: Any) -> list[_Reason]:
    """Return which arrays `select` writes that are read later on, by what, and the mends.

    Nobody keeps what is in an array made with `scratch_array`: it counts where `select` alone
    writes it, since then another kernel reads what `select` has left there.
    """
    find_access = _find_analysis()
    if find_access is None:
        return [
            _Reason(
                "what `select` writes could not be seen: the first pass of Numba "
                f"{version('numba')} is not the one that keyhole knows"
            )
        ]
    state, found, named = declared_state(cls), [], set[str]()
    selecting = find_access(cls, "select")
    for reader in _READERS if selecting.writes else ():
        reading = find_access(cls, reader)
        both = selecting.writes & reading.reads - named
        arrays = [n for n in state if n in both and (state[n].kept or n not in reading.writes)]
        if not arrays:
            continue
        if unread := selecting.unread | reading.unread:
            unseen = "`select` writes" if selecting.unread else f"`{reader}` reads"
            names = _quoted(sorted(unread))
            return [_Reason(f"what {unseen} could not be seen: Numba cannot read {names}")]
        named.update(arrays)
        when = "a later `select`" if reader == "select" else f"`{reader}`"
        kept = all(state[name].kept for name in arrays)
        work = [name for name in arrays if name in reading.writes]
        left = arrays if reader == "update" or not kept else []
        mend = _describe_mends(reader, [name for name in left if name not in work], work)
        text = f"`select` writes {_quoted(arrays)}, which {when} reads"
        found.append(_Reason(text, mend, reader != "update" and kept, tuple(arrays)))
    return found


def _describe_mends(reader: str, left: Sequence[str], work: Sequence[str]) -> str:
    """Return the mend of arrays that are `left` by `select`, and of those for intermediate work."""
    mends = []
    if left:
        mends.append(
            f"have `{reader}` work out {_quoted(left)} anew, since another decision may have been "
            "taken in between"
        )
    if work:
        who = "`select` writes" if reader == "select" else f"`select` and `{reader}` each write"
        mends.append(f"make {_quoted(work)} with `scratch_array` if {who} it before reading it")
    return "; ".join(mends)


def _quoted(names: Sequence[str]) -> str:
    return join_words([f"`{name}`" for name in names])
