"""The grammar of the contract: which kernels there are, what each may name, who calls it.

Compiled components, the checks of classes and the table in the documentation are made of the two
tables `POLICY` and `ENVIRONMENT`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from keyhole.contract.descriptions import join_words
from keyhole.contract.kernel_checks import (
    BOOL,
    accesses,
    check_arguments,
    check_field_access,
    check_names,
    source_location,
)
from keyhole.contract.records import RecordLayout
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import Field, Layout, declared_state
from keyhole.kernels.fingerprint import Kernel, source_of
from keyhole.validate import suggestion

Words = dict[str, str]


@dataclass(frozen=True)
class KernelSignature:
    """One kind of kernel."""

    name: str  # what it is called
    description: str  # what it is for
    called: str  # by whom, and when
    own: tuple[str, ...]  # the words that it may name in every setting
    # the groups of the setting's values that it may name: context, decision, feedback, report
    inputs: tuple[str, ...] = ()
    # the group that it returns, or fills where one of its values is an array; or "metrics",
    # "allowed", ""
    outputs: str = ""
    required: bool = False  # whether every class must have one
    lent: bool = True  # whether a policy that has another as its base may call the base's

    def call(self) -> str:
        """Return the fixed argument list in which the drivers call it."""
        return ", ".join((*self.own, *self.inputs, *self._target()))

    def _target(self) -> tuple[str, ...]:
        if self.outputs in _GROUPS:
            return ("slots",)
        return ("metrics",) if self.outputs == "metrics" else ()

    def words(self, channels: "KernelRecords") -> Words:
        """Return what it may name, and where each is found in the call."""
        words = {word: word for word in self.own}
        for group in self.inputs:
            words |= channels.of(group).read_returned(group)
        if self.outputs in _GROUPS:
            words |= channels.of(self.outputs).slots()
        return words | {word: word for word in self._target() if word != "slots"}

    def returns(self, channels: "KernelRecords") -> dict[str, Field]:
        """Return the single values that it must return; none where it fills them."""
        if self.outputs == "allowed":
            return {"": BOOL}
        if self.outputs not in _GROUPS or channels.of(self.outputs).is_complete:
            return {}
        return channels.of(self.outputs).layout.fields

    def spelling(self, setting: Setting) -> str:
        """Return the argument list with the setting's single values, for a base's kernel."""
        groups = [name for group in self.inputs for name in getattr(setting, group)]
        return ", ".join((*self.own, *groups))


_GROUPS: Final = ("context", "decision", "feedback", "report")
_P: Final = ("p", "s", "t", "rng")
_E: Final = ("e", "s", "t", "rng")

POLICY: Final = (
    KernelSignature("init", "prepares the state", "before the first round", _P),
    KernelSignature(
        "select",
        "returns the decision",
        "in every round, or when a learner is asked",
        _P,
        inputs=("context",),
        outputs="decision",
        required=True,
    ),
    KernelSignature(
        "update",
        "learns from the feedback",
        "after every decision, or when a learner is told",
        _P,
        inputs=("context", "decision", "feedback"),
        required=True,
    ),
    KernelSignature(
        "recommend",
        "fills the report",
        "at every checkpoint, or when a learner is asked for it",
        _P,
        outputs="report",
        lent=False,
    ),
)
"""The kernels of policies."""

IMAGINE: Final = KernelSignature(
    "impute",
    "learns what an open decision lets expect, on a copy of the state",
    "where decisions are open, for each of them before the next `select`",
    (*_P, "age"),
    inputs=("context", "decision"),
    lent=False,
)
"""The kernel of policies that only plays with several decisions at a time have a use for.

It may also name ``update``, the policy's own kernel, and call it with all that such a kernel may
name, in the order of the table: ``update(p, s, t, rng, <context>, <decision>, <feedback>)``.
"""

ENVIRONMENT: Final = (
    KernelSignature("init", "prepares the state", "before the first round", _E),
    KernelSignature(
        "observe", "returns the context", "at the start of every round", _E, outputs="context"
    ),
    KernelSignature(
        "respond",
        "returns the feedback",
        "after every decision",
        _E,
        inputs=("context", "decision"),
        outputs="feedback",
        required=True,
    ),
    KernelSignature(
        "score",
        "writes the metrics",
        "at every checkpoint",
        _E,
        inputs=("report",),
        outputs="metrics",
        required=True,
    ),
)
"""The kernels of worlds."""

GUARD: Final = KernelSignature(
    "allowed",
    "returns whether a decision can be carried out",
    "after `select`, before anything else sees the decision",
    ("p",),
    inputs=("context", "decision"),
    outputs="allowed",
    required=True,
)
"""The kernel of settings."""


def integers(fields: Mapping[str, Field]) -> tuple[str, ...]:
    """Return the names of the single integers among the fields: those that shapes may use."""
    return tuple(n for n, f in fields.items() if f.dtype == "int64" and not f.shape)


class KernelRecords:
    """The ways of a setting's context, decision, feedback and report."""

    def __init__(self, setting: Setting, dims: Sequence[str]) -> None:
        self.context = RecordLayout(setting.context, dims)
        self.decision = RecordLayout(setting.decision, dims)
        self.feedback = RecordLayout(setting.feedback, dims)
        self.report = RecordLayout(setting.report, dims, filled=True)

    def of(self, group: str) -> RecordLayout:
        """Return the way of one group."""
        found: RecordLayout = getattr(self, group)
        return found

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The four layouts, in the order of the class's description."""
        return tuple(self.of(group).layout for group in _GROUPS)


def is_needed(rule: KernelSignature, setting: Setting) -> bool:
    """Return whether every class of a setting must have the kernel."""
    return rule.required or (rule.name == "observe" and bool(setting.context))


def check_functions(
    cls: Any, rules: Sequence[KernelSignature], root: type, *, abstract: bool
) -> None:
    """Refuse a class with a function that nobody calls, or without one that is called."""
    known = [*(rule.name for rule in rules), *cls.helpers]
    for base in cls.__mro__:
        if base is cls or (not issubclass(base, root) and base not in root.__mro__):
            for name, kernel in _kernels_in(base):
                _check_is_called(cls, name, kernel, known)
    if abstract:
        return
    for rule in rules:
        if is_needed(rule, cls.setting) and not hasattr(cls, rule.name):
            raise TypeError(
                f"{cls.__name__} lacks the kernel {rule.name}: it {rule.description}, "
                f"{rule.called} (a class that is only a base of others says `abstract=True`)"
            )
    for name in cls.helpers:
        if not hasattr(cls, name):
            raise TypeError(
                f"{cls.__name__} lacks the kernel {name}, which its other kernels call "
                f"(a class that is only a base of others says `abstract=True`)"
            )


def _check_is_called(cls: Any, name: str, kernel: Kernel, known: Sequence[str]) -> None:
    """Refuse a function that nobody calls."""
    if name in known:
        return
    if name == "imagine" and IMAGINE.name in known:
        where = source_location(kernel)
        raise ValueError(f"the kernel imagine of {cls.__name__} ({where}) is called impute now")
    hint = suggestion(name, known) or ": write what kernels call as a function of the module"
    raise ValueError(
        f"a kernel of {cls.__name__} ({source_location(kernel)}) must be one of "
        f"{', '.join(known)}; got {name!r}{hint}"
    )


def _kernels_in(cls: type) -> Iterator[tuple[str, Kernel]]:
    """Yield the public functions of a class that are no methods."""
    for name, value in vars(cls).items():
        plain = getattr(value, "py_func", value)
        if isinstance(plain, FunctionType) and not name.startswith("_"):
            code = plain.__code__
            if code.co_varnames[: code.co_argcount][:1] != ("self",):
                yield name, plain


def check_kernels(
    cls: Any,
    rules: Sequence[KernelSignature],
    inputs: Mapping[str, Field],
    given: Sequence[str],
    remedy: Callable[[str], str],
) -> None:
    """Refuse kernels that name or read what is not there."""
    owner, channels = cls.__qualname__, KernelRecords(cls.setting, integers(inputs))
    state = Layout(declared_state(cls), integers(inputs)).fields
    kernels = {rule.name: rule.words(channels) for rule in rules}
    for name in (*kernels, *cls.helpers):
        kernel = getattr(cls, name, None)
        if kernel is None:
            continue
        if name in (fixed := getattr(cls, "helper_arguments", {})):
            check_arguments(owner, kernel, fixed[name])
        if name in kernels:
            lent = ("update",) if name == IMAGINE.name else ()
            check_names(owner, kernel, [*kernels[name], *given, *lent])
        check_field_access(owner, kernel, rules[0].own[0], inputs, remedy)
        check_field_access(owner, kernel, "s", state, _remedy(cls, name))


def missing_arrays(cls: type, name: str) -> tuple[str, ...]:
    """Return the arrays that a kernel of a class uses and its state lacks."""
    if (kernel := getattr(cls, name, None)) is None:
        return ()
    used = dict.fromkeys(array for array, _, _ in accesses(source_of(kernel).__code__, "s"))
    return tuple(array for array in used if array not in declared_state(cls))


def _remedy(cls: type, name: str) -> Callable[[str], str]:
    """Return what to do about an array that a kernel misses, if the class inherits the kernel."""
    home = next(base for base in cls.__mro__ if name in vars(base))
    if home is cls or home.__qualname__ == cls.__qualname__:
        return lambda array: ""
    missing = join_words(missing_arrays(cls, name))
    return lambda array: f"declare {missing} in {cls.__name__}.State, or write {name}"


def signature_table(rules: Sequence[KernelSignature]) -> str:
    """Return the kernels as a table in Markdown, for the documentation."""
    lines = ["| kernel | may name | does | is called |", "|---|---|---|---|"]
    for rule in rules:
        words = [f"`{word}`" for word in rule.own]
        words += [f"the {group}" for group in rule.inputs]
        if rule.outputs in _GROUPS:
            words.append(f"the arrays of the {rule.outputs}")
        elif rule.outputs == "metrics":
            words.append("`metrics`")
        needed = "" if rule.required else "; may be left out"
        lines.append(
            f"| `{rule.name}` | {', '.join(words)} | {rule.description} | {rule.called}{needed} |"
        )
    return "\n".join(lines)
