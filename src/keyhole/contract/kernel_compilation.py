"""Compilation of the kernels of a policy or an environment.

A kernel names the arguments that it needs, but the drivers (the loops that play rounds) call it
with a fixed argument list. The *adapter* converts between the two. It is a function of one line,
generated from the kernel's argument names, and the compiler inlines it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from keyhole.cached_property import cached_property
from keyhole.contract import kernel_checks, kernel_signatures, state_arrays
from keyhole.contract.kernel_signatures import BASE_KERNELS, KernelSignature
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Environment, checked_metrics
from keyhole.contract.setting import Setting
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.kernels.fingerprint import (
    CodeDigest,
    Kernel,
    code_location,
    compiled_copy,
    fingerprint,
    fingerprint_parts,
    is_shipped,
    python_function,
)
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.kernels.interpreter.error_explanation import UnnoticedError
from keyhole.kernels.kernel_decorators import is_bounds_checked
from keyhole.kernels.kernel_decorators import kernel as compiled

# The kernels of the most recently used classes; a key begins with the digest of the class. Kernels
# are cached since typing them takes seconds, and a learner, an engine and a study of one policy use
# the same kernels. The cache is small, since kernels hold their typed functions.
_cached_kernels: Final[dict[str, dict[str, Kernel]]] = {}
_CACHE_SIZE: Final = 6


def _do_nothing() -> int:
    return 0


def bind_kernel(
    owner: str,
    kernel: Kernel,
    call: str,
    expressions: Mapping[str, str],
    helpers: Mapping[str, Kernel],
    result_fields: Mapping[str, state_arrays.Field] | None = None,
) -> Kernel:
    """Return a compiled function with the fixed argument list `call` that runs `kernel`.

    An argument list is a text such as ``"p, s, t, rng"``. `expressions` maps each name that the
    kernel may use to an expression in the arguments of `call`. `helpers` are compiled functions
    that the kernel may name, too. `result_fields` are the single values that the kernel must
    return; by default its result is not checked.
    """
    kernel_checks.check_argument_names(owner, kernel, [*expressions, *helpers])
    names = kernel_checks.kernel_argument_names(kernel)
    # Arguments are chosen by name in a generated source text, since the compiler knows neither `**`
    # nor partial functions. All names in the text are checked identifiers.
    arguments = ", ".join(expressions.get(name, name) for name in names)
    scope = {"kernel": compiled_copy(kernel), **{n: helpers[n] for n in names if n in helpers}}
    result = f"kernel({arguments})"
    if result_fields is not None:
        scope["check_result"] = kernel_checks.make_return_check(owner, kernel, result_fields)
        result = f"check_result({result})"
    # The interpreter looks for the round of an error in functions named `adapter`
    # (`interpreter.error_explanation`).
    exec(f"def adapter({call}):\n    return {result}\n", scope)
    return compiled(scope["adapter"])


def _add_nan_check(owner: str, name: str, helper: Kernel) -> Kernel:
    """Return a function that calls `helper`, and raises an error if `helper` returns NaN."""
    # NaN would go unnoticed, since every comparison with NaN is false.
    arguments = ", ".join(kernel_checks.kernel_argument_names(helper))
    scope: dict[str, object] = {
        "helper": helper,
        "UnnoticedError": UnnoticedError,
        "text": f"{owner}.{name} must return a number, got nan",
    }
    source = (
        f"def refuse_nan({arguments}):\n"
        f"    value = helper({arguments})\n"
        "    if value != value:\n"
        "        raise UnnoticedError(text)\n"
        "    return value\n"
    )
    exec(source, scope)
    return compiled(cast(Kernel, scope["refuse_nan"]))


def tuple_reader(length: int, start: int = 0) -> Kernel:
    """Return the compiled function (vector) -> tuple of `length` entries, from `start` on.

    For length 0 the tuple is (0,).
    """
    entries = ", ".join(f"vector[{start + i}]" for i in range(length)) or "0"
    return state_arrays.compile_once(f"def read(vector):\n    return ({entries},)\n", "read")


class CompiledClass:
    """The memory layouts and the compiled kernels of `owner`, a policy or environment class."""

    def __init__(
        self,
        owner: Any,
        inputs: Mapping[str, state_arrays.Field],
        signatures: Sequence[KernelSignature],
        metrics: Mapping[str, state_arrays.Field] = MappingProxyType({}),
    ) -> None:
        self.owner = owner
        self.signatures = signatures
        self.dims = kernel_signatures.single_integer_names(inputs)
        # The layouts of context, decision, feedback and report.
        self.records = kernel_signatures.KernelRecords(owner.setting, self.dims)
        self.inputs = state_arrays.Layout(inputs, self.dims)
        self.state = state_arrays.Layout(state_arrays.declared_state(owner), self.dims)
        self.metrics = state_arrays.Layout(metrics, self.dims)
        self.sources: dict[str, Kernel] = {
            signature.name: getattr(owner, signature.name, _do_nothing) for signature in signatures
        }
        self.helper_sources: dict[str, Kernel] = {
            name: getattr(owner, name) for name in owner.helpers
        }
        self.base = owner.base_class if issubclass(owner, WrapperPolicy) else None

    @cached_property
    def digest(self) -> str:
        """The digest of everything on which the results of the kernels depend."""
        return self._compute_digest(error_lines=False)

    @cached_property
    def code_digest(self) -> str:
        """The digest of all that machine code depends on, including line numbers in errors."""
        return self._compute_digest(error_lines=True)

    def code_parts(self) -> dict[str, str]:
        """Return the parts from which `code_digest` is computed, by name."""
        digests = {f"the declared fields of {self.owner.__name__}": repr(self._declared_fields())}
        for _, kernel in self._all_functions():
            digests |= fingerprint_parts(kernel)
        return digests

    def _declared_fields(self) -> tuple[object, ...]:
        record_fields = [layout.fields for layout in self.records.layouts]
        return (self.inputs.fields, self.state.fields, self.metrics.fields, record_fields)

    def _compute_digest(self, *, error_lines: bool) -> str:
        fingerprints = [
            (name, fingerprint(kernel, error_lines=error_lines))
            for name, kernel in self._all_functions()
        ]
        # The error about a helper that returns NaN names the class (`_add_nan_check`).
        class_name = self.owner.__name__ if self.helper_sources else ""
        # Nothing is added for policies that cannot stop, so that they keep their digests.
        stop_parts = ("can stop",) if self.can_stop else ()
        content = (self._declared_fields(), fingerprints, class_name, *stop_parts)
        return hashlib.sha256(repr(content).encode()).hexdigest()

    @property
    def can_stop(self) -> bool:
        """Whether the class is a policy that can stop: one that can give `verdicts` on arms."""
        return issubclass(self.owner, Policy) and bool(self.owner.verdicts)

    @cached_property
    def is_shipped(self) -> bool:
        """Whether all kernels and the setting's guard are Keyhole's own, which surely compile."""
        guard = self.owner.setting.allowed
        return all(is_shipped(kernel) for kernel in (guard, *dict(self._all_functions()).values()))

    def _all_functions(self) -> list[tuple[str, Kernel]]:
        """Return the kernels and helpers of the class and its base, as written, by name."""
        kernels = list((self.sources | self.helper_sources).items())
        if self.base is not None:
            names = (*base_kernel_args(self.base), *self.base.helpers)
            kernels += [(f"base {name}", getattr(self.base, name, _do_nothing)) for name in names]
        return kernels

    def kernels(self, *, nan_checked: bool = False) -> dict[str, Kernel]:
        """Return the kernels with their fixed argument lists, linked to the current helpers.

        With `nan_checked`, or if indices are checked, a helper that returns NaN raises an error.
        The engine leaves this check out, since it takes 10 ns a round (measured, LSA, K = 10).
        """
        nan_checked = bool(self.helper_sources) and (nan_checked or is_bounds_checked())
        key = f"{self.code_digest} {is_bounds_checked()} {nan_checked} {self._location_hash()}"
        kernels = _cached_kernels.pop(key, None) or self._bind_all_kernels(nan_checked)
        _cached_kernels[key] = kernels
        # A dict keeps the order of insertion, so its first key is the least recently used key.
        # Another thread may remove this key first.
        while len(_cached_kernels) > _CACHE_SIZE:
            _cached_kernels.pop(next(iter(_cached_kernels)), None)
        return kernels

    def _location_hash(self) -> int:
        """Return a value that changes if interpreted kernels move to other lines; 0 if compiled."""
        # The code objects of interpreted copies hold the numbers of their lines.
        if not is_interpreted():
            return 0
        sources = (self.sources | self.helper_sources).values()
        return hash(tuple(code_location(python_function(source).__code__) for source in sources))

    def helpers(self, *, nan_checked: bool = False) -> dict[str, Kernel]:
        """Return the functions that kernels may call, by name: helpers, and the base's kernels."""
        helpers = {name: compiled_copy(helper) for name, helper in self.helper_sources.items()}
        if nan_checked:
            owner = self.owner.__name__
            helpers = {name: _add_nan_check(owner, name, h) for name, h in helpers.items()}
        if self.base is not None:
            helpers |= _base_kernels(self.base)
        return helpers

    def _bind_all_kernels(self, nan_checked: bool) -> dict[str, Kernel]:
        helpers = self.helpers(nan_checked=nan_checked)
        return {signature.name: self._bind(signature, helpers) for signature in self.signatures}

    def _bind(self, signature: KernelSignature, helpers: Mapping[str, Kernel]) -> Kernel:
        source = self.sources[signature.name]
        expressions = signature.argument_expressions(self.records)
        result_fields = None if source is _do_nothing else signature.result_fields(self.records)
        owner = self.owner.__qualname__
        return bind_kernel(owner, source, signature.args(), expressions, helpers, result_fields)

    def sizes(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Return the integers that shapes refer to."""
        return {name: int(values[name]) for name in self.dims}


def _base_kernels(base: type[Policy]) -> dict[str, Kernel]:
    """Return the functions ``base_init``, ``base_select`` and ``base_update`` for a base."""
    return {
        f"base_{name}": bind_kernel(
            base.__qualname__,
            getattr(base, name, _do_nothing),
            call,
            identity_mapping(call),
            {name: compiled_copy(getattr(base, name)) for name in base.helpers},
        )
        for name, call in base_kernel_args(base).items()
    }


def base_kernel_args(policy: type[Policy]) -> dict[str, str]:
    """Return the argument list with which other kernels call each kernel of a policy, by name."""
    return {signature.name: signature.flat_args(policy.setting) for signature in BASE_KERNELS}


def compiled_policy(policy: type[Policy]) -> CompiledClass:
    """Return the layouts and kernels of a policy class."""
    return CompiledClass(policy, policy.input_fields(), kernel_signatures.POLICY_KERNELS)


def compiled_environment(environment: type[Environment]) -> CompiledClass:
    """Return the layouts and kernels of an environment class."""
    metrics = {
        metric.name: state_arrays.Field("float64", ("arms" if metric.per_arm else 1,))
        for metric in checked_metrics(environment)
    }
    score = getattr(environment, "score", _do_nothing)
    owner = environment.__qualname__
    kernel_checks.check_field_access(owner, score, "metrics", metrics, lambda name: "")
    signatures = kernel_signatures.ENVIRONMENT_KERNELS
    return CompiledClass(
        environment, state_arrays.declared_fields(environment), signatures, metrics
    )


def compiled_guard(policy: CompiledClass, setting: Setting) -> Kernel:
    """Return the compiled guard of a setting, ``(p, context, decision) -> bool``."""
    records = policy.records
    guard = kernel_signatures.GUARD
    owner = f"Setting({setting.name!r})"
    expressions = guard.argument_expressions(records)
    result_fields = guard.result_fields(records)
    return bind_kernel(owner, setting.allowed, guard.args(), expressions, {}, result_fields)


def driver_digest(driver: str, *sources: CompiledClass | Kernel) -> CodeDigest:
    """Return the digest of a driver's machine code, which is built from classes and functions."""
    digests = [
        source.code_digest
        if isinstance(source, CompiledClass)
        else fingerprint(source, error_lines=True)
        for source in sources
    ]

    def parts() -> dict[str, str]:
        texts = {"driver": driver}
        for source in sources:
            if isinstance(source, CompiledClass):
                texts |= source.code_parts()
            else:
                texts |= fingerprint_parts(source)
        return texts

    digest = CodeDigest(hashlib.sha256(repr((driver, digests)).encode()).hexdigest())
    digest.parts = parts
    return digest


def identity_mapping(call: str) -> dict[str, str]:
    """Return a mapping of each name in an argument list to itself, as its expression."""
    return {name: name for name in call.split(", ")}
