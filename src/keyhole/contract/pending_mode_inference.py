"""Analysis of whether a policy may decide while earlier decisions still wait for feedback.

Feedback is what came of a decision. The answer follows from which memory the policy's kernels
(compiled functions) read and write.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from keyhole.cached_property import cached_property
from keyhole.contract.kernel_signatures import missing_arrays
from keyhole.contract.state_arrays import declared_state
from keyhole.text_formatting import join_words
from keyhole.validate import check_choice

Modes = tuple[str, ...]

Pending = Literal["impute", "ignore", "wait"]
PENDING_MODES: Final = get_args(Pending)
"""The pending modes: see `Policy`."""
WAIT: Final = ("wait",)

_READERS: Final = ("update", "recommend", "select")
_SOURCE: Final = (
    "define it in a file or a notebook cell, where its source can be read, and start Python again "
    "if that file has changed since"
)
_IGNORE: Final = 'declare `pending = ("ignore",)` in the class if'


class _Reason(NamedTuple):
    """A reason to wait, its remedy, and whether ignoring pending decisions may be right instead."""

    text: str
    remedy: str = ""
    may_ignore: bool = True
    changing: tuple[str, ...] = ()  # the arrays that would then change before feedback comes


class InferredPending:
    """The attribute `pending` of a class that does not declare it.

    It is inferred when it is first read, which takes some milliseconds.
    """

    def __init__(self, modes: Modes, find_reasons: Callable[[], list[_Reason]]) -> None:
        self.modes = modes  # where there is no reason to wait
        self._find_reasons = find_reasons

    @cached_property
    def reasons(self) -> list[_Reason]:
        """The reasons to wait, the weightiest first; empty if the policy need not wait."""
        return self._find_reasons()

    def __get__(self, policy: object, owner: type | None = None) -> Modes:
        """Return the pending modes."""
        return WAIT if self.modes == WAIT or self.reasons else self.modes


def possible_modes(cls: Any) -> Modes:
    """Return the modes that a class has at best, without an analysis of its kernels."""
    declared = inspect.getattr_static(cls, "pending")
    return declared.modes if isinstance(declared, InferredPending) else declared


def reason_to_wait(cls: Any) -> str:
    """Return why a class that does not declare its modes waits; "" if it does not wait."""
    return "; and ".join(reason.text for reason in _list_reasons(cls))


def describe_remedy(cls: Any) -> str:
    """Return what the author of a waiting class can do.

    Ignoring pending decisions is suggested only where it can be right: not where `update` would
    learn from what another decision has left in the state.
    """
    reasons = _list_reasons(cls)
    remedies = [reason.remedy for reason in reasons if reason.remedy]
    # One reason that makes learning wrong is enough: then ignoring is not suggested.
    if all(reason.may_ignore for reason in reasons):
        changing = [name for reason in reasons for name in reason.changing]
        where = f"{_quote_names(changing)} may change" if changing else "it may take others"
        remedies.append(f"{'or ' * bool(remedies)}{_IGNORE} {where} before the feedback comes")
    return "; ".join(remedies)


def describe_doubts(cls: Any) -> str:
    """Return why a class should not let decisions be pending, though it says so, and the remedy."""
    doubts = [] if cls.pending == WAIT else [r for r in _find_reasons(cls) if not r.may_ignore]
    if not doubts:
        return ""
    texts = "; and ".join(doubt.text for doubt in doubts)
    remedies = "; ".join(doubt.remedy for doubt in doubts)
    declared = ", ".join(f'"{mode}"' for mode in cls.pending)
    return (
        f"{cls.__name__} declares that its decisions may be pending ({declared}), but {texts}; "
        f'{remedies}; or declare `pending = ("wait",)` in the class; leave it as it is only if you '
        "know that this does no harm"
    )


def _list_reasons(cls: Any) -> list[_Reason]:
    declared = inspect.getattr_static(cls, "pending")
    return declared.reasons if isinstance(declared, InferredPending) else []


def check_pending(cls: Any) -> None:
    """Refuse unknown modes, an empty tuple, and "impute" without its kernel."""
    name, modes = f"{cls.__name__}.pending", possible_modes(cls)
    if not isinstance(modes, tuple) or not modes:
        raise TypeError(f"{name} must be a tuple of at least one mode, got {modes!r}")
    for mode in modes:
        check_choice(name, mode, PENDING_MODES)
    if "impute" in modes and not (cls.abstract or hasattr(cls, "impute")):
        raise TypeError(f"{name} has 'impute', but {cls.__name__} lacks the kernel impute")


def check_allowed(policy: Any, pending: str, modes: Modes) -> None:
    """Refuse a mode that a policy does not have, other than "wait"."""
    if pending not in (*modes, "wait"):
        allowed = " or ".join(map(repr, dict.fromkeys((*modes, "wait"))))
        why = f": {text}" if (text := policy.explain_waiting()) else ""
        raise ValueError(f"pending must be {allowed} for {policy}, got {pending!r}{why}")


def infer_pending(cls: Any) -> None:
    """Infer the modes of a class from its kernels, unless its author has declared them.

    A declaration holds for the kernels that its class has or inherits, not for those that a
    subclass writes anew.
    """
    # `home` is the class that declares the modes; `cls` inherits them. They hold if all kernels
    # that the declaration covers are those of `home` or of its bases.
    # The base of all policies declares them; a tuple alone does (an `InferredPending` is no such).
    home = next(base for base in cls.__mro__ if isinstance(vars(base).get("pending"), tuple))
    modes: Modes = vars(home)["pending"]
    if home is cls:
        return
    inherits = all(
        issubclass(home, _defining_class(cls, kernel))
        for kernel in _list_governed_kernels(cls, home)
    )
    plain: list[_Reason] = []
    if modes == WAIT and not inherits:
        plain = [_Reason(_describe_default(home))]
    elif "impute" in modes and (missing := missing_arrays(cls, "impute")):
        lacks = f"its State lacks {_quote_names(missing)}, which `impute` of its setting uses"
        plain = [_Reason(lacks)]
    if plain or not inherits:
        cls.pending = InferredPending(
            WAIT if plain else modes, lambda: ([] if inherits else _find_reasons(cls)) + plain
        )


def combine_pending(cls: Any, base: Any) -> None:
    """Give a policy with a base the modes that both have, in the order of the base."""
    # Not `cls.pending`: reading it would analyse the kernels when the class is defined.
    modes = possible_modes(cls)
    if modes == WAIT:
        return
    others = possible_modes(base)
    both = tuple(mode for mode in others if mode in modes)
    apart = f"it can do {', '.join(modes)}, and its base {base.__name__} {', '.join(others)}"
    reasons = [] if both or others == WAIT else [_Reason(apart)]
    cls.pending = InferredPending(both or WAIT, lambda: _list_reasons(base) or reasons)


def _list_governed_kernels(cls: Any, home: Any) -> list[str]:
    """Return the kernels that a declaration must know to hold.

    Helpers whose arguments the declaring class has fixed, without the state, are left out: they see
    nothing but what it passes to them.
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


def _defining_class(cls: Any, kernel: str) -> type:
    """Return the class in which a kernel is written."""
    return next((home for home in cls.__mro__ if kernel in vars(home)), object)


def _find_reasons(cls: Any) -> list[_Reason]:
    """Return the arrays that `select` writes and a later kernel reads, with the remedies.

    An array made with `scratch_array` counts only where `select` alone writes it: then another
    kernel reads what `select` has left there, which is not kept.
    """
    # Imported only here: policies that declare `pending`, as all of Keyhole's do, do not need it.
    from keyhole.contract.state_access_analysis import analyse_state_access

    # In order of weight: an array that `update` reads makes learning wrong; one that `recommend`
    # reads, a report; one that only a later `select` reads, the next decision. `named` has the
    # arrays that an earlier reason names already.
    state, found, named = declared_state(cls), [], set[str]()
    selecting = analyse_state_access(cls, "select")
    for reader in _READERS if selecting.writes else ():
        reading = analyse_state_access(cls, reader)
        both = selecting.writes & reading.reads - named
        arrays = [n for n in state if n in both and (state[n].kept or n not in reading.writes)]
        if not arrays:
            continue
        if unread := selecting.unread | reading.unread:
            unseen = "`select` writes" if selecting.unread else f"`{reader}` reads"
            causes = ", ".join(f"`{name}`: {cause}" for name, cause in sorted(unread.items()))
            return [_Reason(f"what {unseen} could not be analysed ({causes})", _SOURCE)]
        named.update(arrays)
        when = "a later `select`" if reader == "select" else f"`{reader}`"
        kept = all(state[name].kept for name in arrays)
        work = [name for name in arrays if name in reading.writes]
        left = arrays if reader == "update" or not kept else []
        remedy = _describe_remedies(reader, [name for name in left if name not in work], work)
        text = f"`select` writes {_quote_names(arrays)}, which {when} reads"
        found.append(_Reason(text, remedy, reader != "update" and kept, tuple(arrays)))
    return found


def _describe_remedies(reader: str, left: Sequence[str], work: Sequence[str]) -> str:
    """Return the remedy for arrays `left` by `select`, and for those with intermediate results."""
    remedies = []
    if left:
        remedies.append(
            f"have `{reader}` compute {_quote_names(left)} again, since another decision may have "
            "been taken in between"
        )
    if work:
        who = "`select` writes" if reader == "select" else f"`select` and `{reader}` each write"
        remedies.append(
            f"make {_quote_names(work)} with `scratch_array` if {who} it before reading it"
        )
    return "; ".join(remedies)


def _quote_names(names: Sequence[str]) -> str:
    return join_words([f"`{name}`" for name in names])
