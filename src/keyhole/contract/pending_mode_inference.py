"""Inference of a policy's pending modes from the state arrays that its kernels read and write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from keyhole.cached_property import cached_property
from keyhole.contract.kernel_signatures import missing_state_arrays
from keyhole.contract.state_arrays import declared_state
from keyhole.text_formatting import join_words
from keyhole.validation import check_choice

if TYPE_CHECKING:
    from keyhole.contract.policy import Policy

Modes = tuple[str, ...]

Pending = Literal["impute", "ignore", "wait"]
PENDING_MODES: Final = get_args(Pending)
"""The pending modes: see `Policy`."""
WAIT: Final = ("wait",)

# The kernels that may read what `select` has left in the state, the most important first.
_READERS: Final = ("update", "recommend", "select")
_SOURCE_REMEDY: Final = (
    "define it in a file or a notebook cell, where its source can be read, and start Python again "
    "if that file has changed since"
)
_RECOMPUTE_REMEDY: Final = (
    "have each kernel compute what it reads, in arrays made with `scratch_array`, since another "
    "decision may have been taken in between"
)
_IGNORE_REMEDY: Final = (
    'declare `pending = ("ignore",)` in the class if the policy may take other decisions before '
    "the feedback comes"
)


class _Reason(NamedTuple):
    """A reason to wait, its remedy, and whether the policy may ignore pending decisions instead."""

    text: str
    remedy: str = ""
    may_ignore: bool = True


class InferredModes:
    """The descriptor `pending` of a class that does not declare its modes.

    The modes are inferred when they are first read, since this takes some milliseconds.
    """

    def __init__(self, modes: Modes, find_reasons: Callable[[], list[_Reason]]) -> None:
        self.modes = modes  # if there is no reason to wait
        self._find_reasons = find_reasons

    @cached_property
    def reasons_to_wait(self) -> list[_Reason]:
        """The reasons to wait, the most important first; empty if the policy need not wait."""
        return self._find_reasons()

    def __get__(self, policy: object, owner: type | None = None) -> Modes:
        """Return the pending modes."""
        return WAIT if self.modes == WAIT or self.reasons_to_wait else self.modes


def possible_modes(cls: type[Policy]) -> Modes:
    """Return the modes that a class has if its kernels, which are not read, need no waiting."""
    declaration: Modes | InferredModes = inspect.getattr_static(cls, "pending")
    return declaration.modes if isinstance(declaration, InferredModes) else declaration


def reason_to_wait(cls: type[Policy]) -> str:
    """Return why a class without declared modes waits; "" if there is no reason."""
    return "; and ".join(reason.text for reason in _inferred_reasons(cls))


def describe_remedy(cls: type[Policy]) -> str:
    """Return what the author of a waiting class can do.

    Ignoring pending decisions is suggested only if all reasons allow it (`may_ignore`): `update`,
    for example, must not learn from what another decision has left in the state.
    """
    reasons = _inferred_reasons(cls)
    remedies = {reason.remedy: None for reason in reasons if reason.remedy}
    if all(reason.may_ignore for reason in reasons):
        remedies[_IGNORE_REMEDY] = None
    return "; or ".join(remedies)


def describe_declaration_doubts(cls: type[Policy]) -> str:
    """Return why a class should wait although it declares other modes, and the remedy; or ""."""
    if cls.pending == WAIT:
        return ""
    doubts = [reason for reason in _reasons_to_wait(cls) if not reason.may_ignore]
    if not doubts:
        return ""
    texts = "; and ".join(doubt.text for doubt in doubts)
    remedies = "; ".join(dict.fromkeys(doubt.remedy for doubt in doubts))
    modes_text = ", ".join(f'"{mode}"' for mode in cls.pending)
    return (
        f"{cls.__name__} declares that its decisions may be pending ({modes_text}), but {texts}; "
        f'{remedies}; or declare `pending = ("wait",)` in the class; leave it as it is only if you '
        "know that this does no harm"
    )


@lru_cache(maxsize=256)
def reason_against_off_policy_decisions(cls: type[Policy]) -> str:
    """Return why a caller must not take other decisions than the policy's, or "".

    A caller may do so if the policy can learn from decisions of others, and its `select` writes no
    state that is read later.
    """
    if not cls.off_policy:
        return "it cannot learn from decisions of others (off_policy)"
    return "; and ".join(reason.text for reason in _reasons_to_wait(cls))


def _inferred_reasons(cls: type[Policy]) -> list[_Reason]:
    declaration = inspect.getattr_static(cls, "pending")
    return declaration.reasons_to_wait if isinstance(declaration, InferredModes) else []


def check_declared_modes(cls: type[Policy]) -> None:
    """Refuse unknown modes, an empty tuple, and "impute" without its kernel."""
    name = f"{cls.__name__}.pending"
    modes = possible_modes(cls)
    if not isinstance(modes, tuple) or not modes:
        raise TypeError(f"{name} must be a tuple of at least one mode, got {modes!r}")
    for mode in modes:
        check_choice(name, mode, PENDING_MODES)
    if "impute" in modes and not (cls.abstract or hasattr(cls, "impute")):
        raise TypeError(f"{name} has 'impute', but {cls.__name__} lacks the kernel impute")


def check_mode_allowed(policy: Policy, pending: str, modes: Modes) -> None:
    """Refuse a mode that a policy does not have; "wait" is always allowed."""
    if pending not in (*modes, "wait"):
        allowed = " or ".join(map(repr, dict.fromkeys((*modes, "wait"))))
        message = f"pending must be {allowed} for {policy}, got {pending!r}"
        if explanation := policy.explain_waiting():
            message += f": {explanation}"
        raise ValueError(message)


def infer_pending_modes(cls: Any) -> None:
    """Infer the modes of a class from its kernels, unless its author has declared them.

    A declaration holds for the kernels that its class has or inherits, not for kernels that a
    subclass writes anew.
    """
    # The nearest class that declares modes: its `pending` is a tuple, not an `InferredModes`. There
    # is such a class, since `Policy` declares modes.
    declarer = next(base for base in cls.__mro__ if isinstance(vars(base).get("pending"), tuple))
    modes: Modes = vars(declarer)["pending"]
    if declarer is cls:
        return
    covered_kernels = _list_covered_kernels(cls, declarer)
    has_new_kernel = any(not issubclass(declarer, _defining_class(cls, k)) for k in covered_kernels)
    reasons: list[_Reason] = []
    if modes == WAIT and has_new_kernel:
        text = f"it declares no `pending`, and its base class {declarer.__name__} waits"
        reasons = [_Reason(text)]
    elif "impute" in modes and (arrays := missing_state_arrays(cls, "impute")):
        text = f"its State lacks {_quote_names(arrays)}, which `impute` of its setting uses"
        reasons = [_Reason(text)]
    if reasons:
        modes = WAIT
    if has_new_kernel:
        cls.pending = InferredModes(modes, lambda: _reasons_to_wait(cls) + reasons)
    elif reasons:
        cls.pending = InferredModes(modes, lambda: reasons)


def combine_pending_modes(cls: Any, base: type[Policy]) -> None:
    """Give a wrapper policy the modes that it and its base both have, in the order of the base."""
    # `cls.pending` is not read, since reading it would analyse the kernels of a class at its
    # definition.
    modes = possible_modes(cls)
    if modes == WAIT:
        return
    base_modes = possible_modes(base)
    common_modes = tuple(mode for mode in base_modes if mode in modes)
    reasons = []
    if not common_modes and base_modes != WAIT:
        text = f"it can do {', '.join(modes)}, and its base {base.__name__} {', '.join(base_modes)}"
        reasons = [_Reason(text)]
    cls.pending = InferredModes(common_modes or WAIT, lambda: _inferred_reasons(base) or reasons)


def _list_covered_kernels(cls: type[Policy], declarer: type[Policy]) -> list[str]:
    """Return the kernels for which the declaration of modes in the class `declarer` holds.

    Helpers that never get the state, by the `helper_arguments` of `declarer`, are left out: they
    see only what kernels pass to them.
    """
    helper_arguments = getattr(declarer, "helper_arguments", {})
    helpers = [name for name in cls.helpers if "s" in helper_arguments.get(name, ("s",))]
    return [*_READERS, *helpers]


def _defining_class(cls: type[Policy], kernel: str) -> type:
    return next((base for base in cls.__mro__ if kernel in vars(base)), object)


def _reasons_to_wait(cls: type[Policy]) -> list[_Reason]:
    """Return the reasons to wait: arrays that `select` writes and a later kernel reads.

    An array made with `scratch_array` counts only if the later kernel does not write it. The kernel
    then reads what `select` has left in the array, which files and copies do not keep.
    """
    # Imported only here, since most policies declare `pending`, as all of Keyhole's do.
    from keyhole.contract.state_access_analysis import analyse_state_access

    # With another decision's values, `update` learns wrongly, `recommend` makes a wrong report, and
    # a later `select` takes a wrong decision. An array is named only with the first that reads it.
    state = declared_state(cls)
    reasons = []
    named_arrays = set[str]()
    select_access = analyse_state_access(cls, "select")
    if not select_access.writes:
        return []
    for reader in _READERS:
        access = analyse_state_access(cls, reader)
        names = select_access.writes & access.reads - named_arrays
        arrays = [n for n in state if n in names and (state[n].kept or n not in access.writes)]
        if not arrays:
            continue
        if causes := select_access.unanalysed | access.unanalysed:
            subject = "`select` writes" if select_access.unanalysed else f"`{reader}` reads"
            cause_text = ", ".join(f"`{name}`: {cause}" for name, cause in sorted(causes.items()))
            return [_Reason(f"what {subject} could not be analysed ({cause_text})", _SOURCE_REMEDY)]
        named_arrays.update(arrays)
        reader_text = "a later `select`" if reader == "select" else f"`{reader}`"
        text = f"`select` writes {_quote_names(arrays)}, which {reader_text} reads"
        may_ignore = reader != "update" and all(state[name].kept for name in arrays)
        reasons.append(_Reason(text, _RECOMPUTE_REMEDY, may_ignore))
    return reasons


def _quote_names(names: Sequence[str]) -> str:
    return join_words([f"`{name}`" for name in names])
