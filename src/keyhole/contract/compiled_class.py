"""From the functions in a policy's or a world's class body to compiled ones of a fixed form.

A kernel names what it needs; the drivers call every kernel in one fixed way. The bridge is a
one-line function, generated from the kernel's argument names, that the compiler inlines away.
"""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from keyhole.cached import cached_property
from keyhole.contract.environment import Environment, with_metric_names
from keyhole.contract.kernel_checks import (
    check_field_access,
    check_names,
    check_return,
    local_names,
)
from keyhole.contract.kernel_signatures import (
    ENVIRONMENT,
    GUARD,
    POLICY,
    KernelRecords,
    KernelSignature,
    integers,
)
from keyhole.contract.policy import Policy
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import (
    Field,
    Layout,
    compile_shared,
    declared_fields,
    declared_state,
)
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.kernels.execution import is_interpreted
from keyhole.kernels.fingerprint import Kernel, fingerprint, fresh_copy, is_own, source_of
from keyhole.kernels.jit import is_bounds_checked
from keyhole.kernels.jit import kernel as compiled

_linked: Final[dict[str, dict[str, Kernel]]] = {}
_KEPT: Final = 6


def _do_nothing() -> int:
    return 0


def bind_kernel(
    owner: str,
    kernel: Kernel,
    call: str,
    words: Mapping[str, str],
    given: Mapping[str, Kernel],
    wanted: Mapping[str, Field] | None = None,
) -> Kernel:
    """Return a compiled function of the fixed form `call` that runs `kernel`.

    `words` says where in `call`, the fixed argument list such as ``"p, s, t, rng"``, that is found
    which the kernel may name; `given` has compiled functions that it may name, and `wanted` the
    single values that it must return: by default whatever it returns is handed on.
    """
    check_names(owner, kernel, [*words, *given])
    names = local_names(kernel)
    values = ", ".join(words.get(name, name) for name in names)
    scope = {"kernel": fresh_copy(kernel), **{n: given[n] for n in names if n in given}}
    result = f"kernel({values})"
    if wanted is not None:
        scope["returned"], result = check_return(owner, kernel, wanted), f"returned({result})"
    exec(f"def bridge({call}):\n    return {result}\n", scope)
    return compiled(scope["bridge"])


def _watched(owner: str, name: str, helper: Kernel) -> Kernel:
    """Return a helper that refuses to return NaN: what compares with it chooses silently."""
    words = ", ".join(local_names(helper))
    scope: dict[str, Any] = {
        "helper": helper,
        "text": f"{owner}.{name} must return a number, got nan",
    }
    source = (
        f"def watched({words}):\n"
        f"    value = helper({words})\n"
        "    if value != value:\n"
        "        raise ValueError(text)\n"
        "    return value\n"
    )
    exec(source, scope)
    return cast(Kernel, compiled(scope["watched"]))


def tuple_of(length: int, start: int = 0) -> Kernel:
    """Return the compiled function that reads entries of a vector into a tuple."""
    entries = ", ".join(f"vector[{start + i}]" for i in range(length)) or "0"
    return compile_shared(f"def read(vector):\n    return ({entries},)\n", "read")


class Component:
    """What policies and worlds have in common: read-only input, state, kernels."""

    def __init__(
        self,
        owner: type,
        channels: KernelRecords,
        inputs: Mapping[str, Field],
        rules: Sequence[KernelSignature],
        metrics: Mapping[str, Field] = MappingProxyType({}),
    ) -> None:
        self.owner = owner
        self.channels = channels
        self.rules = rules
        self.dims = integers(inputs)
        self.inputs = Layout(inputs, self.dims)
        self.state = Layout(declared_state(owner), self.dims)
        self.metrics = Layout(metrics, self.dims)
        self.sources: dict[str, Kernel] = {
            rule.name: getattr(owner, rule.name, _do_nothing) for rule in rules
        }
        self.helper_sources: dict[str, Kernel] = {
            name: getattr(owner, name)
            for name in owner.helpers  # type: ignore[attr-defined]
        }
        self.base = owner.base_class if issubclass(owner, WrapperPolicy) else None

    @cached_property
    def digest(self) -> str:
        """A digest of everything the compiled kernels depend on."""
        ways = [layout.fields for layout in self.channels.layouts]
        layouts = (self.inputs.fields, self.state.fields, self.metrics.fields, ways)
        prints = [(name, fingerprint(kernel)) for name, kernel in self._all_sources()]
        # A helper that returns NaN is complained of by the name of its class: see `_watched`.
        named = self.owner.__name__ if self.helper_sources else ""
        return hashlib.sha256(repr((layouts, prints, named)).encode()).hexdigest()

    @cached_property
    def is_own(self) -> bool:
        """Whether all kernels are Keyhole's own, of which it is known that they can be compiled."""
        return all(is_own(kernel) for _, kernel in self._all_sources())

    def _all_sources(self) -> list[tuple[str, Kernel]]:
        """Return all kernels, helpers and those of a base, as they were written."""
        kernels = list((self.sources | self.helper_sources).items())
        if self.base is not None:
            names = (*_base_calls(self.base), *self.base.helpers)
            kernels += [(f"base {name}", getattr(self.base, name, _do_nothing)) for name in names]
        return kernels

    def kernels(self, *, watched: bool = False) -> dict[str, Kernel]:
        """Return the kernels in their fixed forms, linked as they are now.

        Those used last are kept: what is typed for one pair serves the next. If `watched`, a helper
        that returns NaN ends the game (always, where indices are checked). The engine leaves it
        out: it takes 10 ns a round (measured, LSA, K = 10).
        """
        watched = bool(self.helper_sources) and (watched or is_bounds_checked())
        key = f"{self.digest} {is_bounds_checked()} {watched} {self._places()}"
        found = _linked.pop(key, None) or self._link(watched)
        _linked[key] = found
        while len(_linked) > _KEPT:
            _linked.pop(next(iter(_linked)), None)
        return found

    def _places(self) -> int:
        """Return what is another one when the kernels have moved, where it matters."""
        if not is_interpreted():
            return 0
        sources = (self.sources | self.helper_sources).values()
        codes = [source_of(source).__code__ for source in sources]
        return hash(tuple((c.co_filename, c.co_firstlineno, c.co_linetable) for c in codes))

    def _link(self, watched: bool) -> dict[str, Kernel]:
        helpers = {name: fresh_copy(helper) for name, helper in self.helper_sources.items()}
        if watched:
            owner = self.owner.__name__
            helpers = {name: _watched(owner, name, helper) for name, helper in helpers.items()}
        if self.base is not None:
            helpers |= base_kernels(self.base)
        return {rule.name: self._bound(rule, helpers) for rule in self.rules}

    def _bound(self, rule: KernelSignature, helpers: Mapping[str, Kernel]) -> Kernel:
        source, channels = self.sources[rule.name], self.channels
        wanted = None if source is _do_nothing else rule.returns(channels)
        owner, words = self.owner.__qualname__, rule.words(channels)
        return bind_kernel(owner, source, rule.call(), words, helpers, wanted)

    def sizes(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Return the integers that shapes refer to."""
        return {name: int(values[name]) for name in self.dims}


def base_kernels(base: type[Policy]) -> dict[str, Kernel]:
    """Return ``base_init``, ``base_select`` and ``base_update`` of a base (see `WrapperPolicy`)."""
    helpers = {name: fresh_copy(getattr(base, name)) for name in base.helpers}
    return {
        f"base_{name}": bind_kernel(
            base.__qualname__, getattr(base, name, _do_nothing), call, _words(call), helpers
        )
        for name, call in _base_calls(base).items()
    }


def _base_calls(base: type[Policy]) -> dict[str, str]:
    """Return the fixed argument lists of a base's kernels."""
    return {rule.name: rule.spelling(base.setting) for rule in POLICY if rule.lent}


def policy_component(policy: type[Policy]) -> Component:
    """Return the compiled side of a policy class."""
    inputs = policy.input_fields()
    return Component(policy, KernelRecords(policy.setting, integers(inputs)), inputs, POLICY)


def environment_component(environment: type[Environment]) -> Component:
    """Return the compiled side of a world class."""
    inputs = declared_fields(environment)
    channels = KernelRecords(environment.setting, integers(inputs))
    metrics = {
        metric.name: Field("float64", ("arms" if metric.per_arm else 1,))
        for metric in with_metric_names(environment)
    }
    score = getattr(environment, "score", _do_nothing)
    check_field_access(environment.__qualname__, score, "metrics", metrics, lambda name: "")
    return Component(environment, channels, inputs, ENVIRONMENT, metrics)


def add_checks(policy: Component, setting: Setting) -> Kernel:
    """Return the compiled check of a decision, ``(p, context, decision) -> bool``."""
    channels = policy.channels
    owner, words = f"Setting({setting.name!r})", GUARD.words(channels)
    return bind_kernel(owner, setting.allowed, GUARD.call(), words, {}, GUARD.returns(channels))


def digest_of(*parts: object) -> str:
    """Return one digest of several."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _words(call: str) -> dict[str, str]:
    return {name: name for name in call.split(", ")}
