"""From the functions in a policy's or a world's class body to compiled ones of a fixed form.

A kernel names what it needs; the drivers call every kernel in one fixed way. The bridge is a
one-line function, generated from the kernel's argument names, that the compiler inlines away.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, cast

from keyhole.contract.base import WithBase
from keyhole.contract.channel import Channel
from keyhole.contract.memory import Field, Layout, shared
from keyhole.contract.policy import Policy
from keyhole.contract.setting import Setting
from keyhole.contract.world import World, declared, declared_state, measured
from keyhole.kernels.jit import is_bounds_checked
from keyhole.kernels.jit import kernel as compiled
from keyhole.kernels.link import Kernel, fingerprint, link, source_of

_linked: Final[dict[str, dict[str, Kernel]]] = {}
_KEPT: Final = 6


def _do_nothing() -> int:
    return 0


def bind(owner: str, kernel: Kernel, call: str, words: Mapping[str, str], given: Any) -> Kernel:
    """Return a compiled function of the fixed form `call` that runs `kernel`.

    Parameters
    ----------
    owner : str
        Whose kernel it is, for the error message.
    kernel : callable
        The function as written.
    call : str
        The fixed argument list, such as ``"p, s, t, rng"``.
    words : mapping of str to str
        What the kernel may name, and where it is found in `call`.
    given : mapping of str to callable
        Compiled functions that the kernel may name.

    Returns
    -------
    callable
        The compiled bridge.

    Raises
    ------
    TypeError
        If the kernel names anything else.
    """
    plain = source_of(kernel)
    code = plain.__code__
    names = code.co_varnames[: code.co_argcount]
    for name in names:
        if name not in words and name not in given:
            raise TypeError(
                f"{owner}.{plain.__name__} names {name!r}; it may name "
                f"{', '.join([*words, *given])}"
            )
    values = ", ".join(words.get(name, name) for name in names)
    scope = {"kernel": link(kernel), **{n: given[n] for n in names if n in given}}
    exec(f"def bridge({call}):\n    return kernel({values})\n", scope)
    return cast(Kernel, compiled(scope["bridge"]))


def integers(fields: Mapping[str, Field]) -> tuple[str, ...]:
    """Return the names of the single integers among the fields: those that shapes may use."""
    return tuple(n for n, f in fields.items() if f.dtype == "int64" and not f.shape)


def tuple_of(length: int, start: int = 0) -> Kernel:
    """Return the compiled function that reads entries of a vector into a tuple."""
    entries = ", ".join(f"vector[{start + i}]" for i in range(length)) or "0"
    return shared(f"def read(vector):\n    return ({entries},)\n", "read")


class Channels:
    """The ways of a setting's context, decision, feedback and report.

    Parameters
    ----------
    setting : Setting
        The setting.
    dims : sequence of str
        Names of the integers that shapes may refer to.
    """

    def __init__(self, setting: Setting, dims: Sequence[str]) -> None:
        self.context = Channel(setting.context, dims)
        self.decision = Channel(setting.decision, dims)
        self.feedback = Channel(setting.feedback, dims)
        self.report = Channel(setting.report, dims, filled=True)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The four layouts, in the order of the class's description."""
        return tuple(c.layout for c in (self.context, self.decision, self.feedback, self.report))


class Component:
    """What policies and worlds have in common: read-only input, state, kernels.

    Parameters
    ----------
    owner : type
        The class that holds the kernels.
    channels : Channels
        The ways of the setting's values.
    inputs : mapping of str to Field
        What the kernels read.
    forms : mapping of str to (str, mapping of str to str)
        For each kernel its fixed argument list, and where the words stand in it.
    metrics : mapping of str to Field
        What `score` fills.
    """

    def __init__(
        self,
        owner: type,
        channels: Channels,
        inputs: Mapping[str, Field],
        forms: Mapping[str, tuple[str, dict[str, str]]],
        metrics: Mapping[str, Field] = MappingProxyType({}),
    ) -> None:
        self.owner = owner
        self.channels = channels
        self.forms = forms
        self.dims = integers(inputs)
        self.inputs = Layout(inputs, self.dims)
        self.state = Layout(declared_state(owner), self.dims)
        self.metrics = Layout(metrics, self.dims)
        self.sources: dict[str, Kernel] = {
            name: getattr(owner, name, _do_nothing) for name in forms
        }
        self.helper_sources: dict[str, Kernel] = {
            name: getattr(owner, name)
            for name in owner.helpers  # type: ignore[attr-defined]
        }
        self.base = owner.base_class if issubclass(owner, WithBase) else None

    @cached_property
    def digest(self) -> str:
        """A digest of everything the compiled kernels depend on."""
        ways = [layout.fields for layout in self.channels.layouts]
        layouts = (self.inputs.fields, self.state.fields, self.metrics.fields, ways, self.forms)
        kernels = list((self.sources | self.helper_sources).items())
        if self.base is not None:
            names = (*_base_calls(self.base), *self.base.helpers)
            kernels += [(f"base {name}", getattr(self.base, name, _do_nothing)) for name in names]
        prints = [(name, fingerprint(kernel)) for name, kernel in kernels]
        return hashlib.sha256(repr((layouts, prints)).encode()).hexdigest()

    def kernels(self) -> dict[str, Kernel]:
        """Return the kernels in their fixed forms, linked as they are now.

        Those used last are kept: what is typed for one pair serves the next.
        """
        key = f"{self.digest} {is_bounds_checked()}"
        found = _linked.pop(key, None) or self._link()
        _linked[key] = found
        while len(_linked) > _KEPT:
            _linked.pop(next(iter(_linked)), None)
        return found

    def _link(self) -> dict[str, Kernel]:
        helpers = {name: link(helper) for name, helper in self.helper_sources.items()}
        if self.base is not None:
            helpers |= base_kernels(self.base)
        return {
            name: bind(self.owner.__qualname__, self.sources[name], call, words, helpers)
            for name, (call, words) in self.forms.items()
        }

    def sizes(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Return the integers that shapes refer to."""
        return {name: int(values[name]) for name in self.dims}


def base_kernels(base: type[Policy]) -> dict[str, Kernel]:
    """Return the kernels of a base, for the policy that has it to name (see `WithBase`).

    Parameters
    ----------
    base : Policy class
        The class of the base.

    Returns
    -------
    dict of str to callable
        ``base_init``, ``base_select`` and ``base_update``.

    Raises
    ------
    TypeError
        If one of them names what it is not given.
    """
    helpers = {name: link(getattr(base, name)) for name in base.helpers}
    return {
        f"base_{name}": bind(
            base.__qualname__, getattr(base, name, _do_nothing), call, _words(call), helpers
        )
        for name, call in _base_calls(base).items()
    }


def _base_calls(base: type[Policy]) -> dict[str, str]:
    """Return the fixed argument lists of a base's kernels."""
    setting = base.setting
    select = ["p, s, t, rng", *setting.context]
    update = [*select, *setting.decision, *setting.feedback]
    return {"init": "p, s, t, rng", "select": ", ".join(select), "update": ", ".join(update)}


def policy_component(policy: type[Policy]) -> Component:
    """Return the compiled side of a policy class."""
    inputs = policy.input_fields()
    channels = Channels(policy.setting, integers(inputs))
    base = _words("p, s, t, rng")
    context = channels.context.received("context")
    decision, feedback = channels.decision, channels.feedback
    forms = {
        "init": ("p, s, t, rng", base),
        "select": ("p, s, t, rng, context, slots", base | context | decision.slots()),
        "update": (
            "p, s, t, rng, context, decision, feedback",
            base | context | decision.received("decision") | feedback.received("feedback"),
        ),
        "recommend": ("p, s, t, rng, slots", base | channels.report.slots()),
    }
    return Component(policy, channels, inputs, forms)


def world_component(world: type[World]) -> Component:
    """Return the compiled side of a world class."""
    inputs = declared(world)
    channels = Channels(world.setting, integers(inputs))
    base = _words("e, s, t, rng")
    context, decision = channels.context, channels.decision
    report = channels.report.received("report")
    forms = {
        "init": ("e, s, t, rng", base),
        "observe": ("e, s, t, rng, slots", base | context.slots()),
        "respond": (
            "e, s, t, rng, context, decision, slots",
            base
            | context.received("context")
            | decision.received("decision")
            | channels.feedback.slots(),
        ),
        "score": ("e, s, t, rng, report, metrics", base | report | {"metrics": "metrics"}),
    }
    metrics = {
        metric.name: Field("float64", ("arms" if metric.per_arm else 1,))
        for metric in measured(world)
    }
    return Component(world, channels, inputs, forms, metrics)


def guard(policy: Component, setting: Setting) -> Kernel:
    """Return the compiled check of a decision, ``(p, decision) -> bool``."""
    words = {"p": "p"} | policy.channels.decision.received("decision")
    return bind(f"Setting({setting.name!r})", setting.allowed, "p, decision", words, {})


def digest_of(*parts: object) -> str:
    """Return one digest of several."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _words(call: str) -> dict[str, str]:
    return {name: name for name in call.split(", ")}
