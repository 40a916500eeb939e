"""The signatures of all kernels: their names, arguments and results, and when they are called.

`CompiledClass` and the checks of classes follow the tables `POLICY_KERNELS` and
`ENVIRONMENT_KERNELS`. A test compares the documentation with them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, cast

from keyhole.contract import kernel_checks, state_arrays
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, Layout, compile_once
from keyhole.kernels.fingerprint import Kernel, python_function
from keyhole.text_formatting import join_words
from keyhole.validation import suggestion

Expressions = dict[str, str]


@dataclass(frozen=True)
class KernelSignature:
    """The arguments and the result of one kind of kernel, such as `select`."""

    name: str
    description: str  # what the kernel does, as a verb
    occasion: str  # when the kernel is called
    own_args: tuple[str, ...]  # the arguments that the kernel may name in every setting
    # the groups whose values the kernel may name: context, decision, feedback, report
    inputs: tuple[str, ...] = ()
    # the result: the group that the kernel returns or fills, "metrics", "allowed", or "" for none
    outputs: str = ""
    required: bool = False  # whether every class must have this kernel

    def args(self) -> str:
        """Return the fixed argument list with which the drivers call the kernel."""
        return ", ".join((*self.own_args, *self.inputs, *self._target_argument()))

    def _target_argument(self) -> tuple[str, ...]:
        if self.outputs in _GROUPS:
            return ("targets",)
        return ("metrics",) if self.outputs == "metrics" else ()

    def argument_expressions(self, records: "KernelRecords") -> Expressions:
        """Return an expression in terms of `args` for each name that the kernel may use."""
        expressions = {name: name for name in self.own_args}
        for group in self.inputs:
            expressions |= records.layout_of(group).value_expressions(group)
        if self.outputs in _GROUPS:
            expressions |= records.layout_of(self.outputs).target_expressions()
        return expressions | ({"metrics": "metrics"} if self.outputs == "metrics" else {})

    def result_fields(self, records: "KernelRecords") -> dict[str, Field]:
        """Return the single values that the kernel must return; none if it fills arrays."""
        if self.outputs == "allowed":
            return {"": Field("bool")}  # a value without a name
        if self.outputs not in _GROUPS or records.layout_of(self.outputs).is_filled:
            return {}
        return records.layout_of(self.outputs).layout.fields

    def flat_args(self, setting: Setting) -> str:
        """Return the argument list in which each value of a group is an argument."""
        value_names = [name for group in self.inputs for name in getattr(setting, group)]
        return ", ".join((*self.own_args, *value_names))


_GROUPS: Final = ("context", "decision", "feedback", "report")
_P_ARGS: Final = ("p", "s", "t", "rng")
_E_ARGS: Final = ("e", "s", "t", "rng")

POLICY_KERNELS: Final[tuple[KernelSignature, ...]] = (
    KernelSignature("init", "prepares the state", "before the first round", _P_ARGS),
    KernelSignature(
        "select",
        "returns the decision",
        "in every round, or when a learner is asked",
        _P_ARGS,
        inputs=("context",),
        outputs="decision",
        required=True,
    ),
    KernelSignature(
        "update",
        "learns from the feedback",
        "after every decision, or when a learner is told",
        _P_ARGS,
        inputs=("context", "decision", "feedback"),
        required=True,
    ),
    KernelSignature(
        "recommend",
        "fills the report",
        "at every checkpoint, or when a learner is asked for it",
        _P_ARGS,
        outputs="report",
    ),
)
"""The kernels of policies."""

BASE_KERNELS: Final = POLICY_KERNELS[:3]
"""The kernels of a base that a `WrapperPolicy` may call: ``init``, ``select``, ``update``."""

IMPUTE: Final = KernelSignature(
    "impute",
    "learns the expected feedback of a pending decision, on a copy of the state",
    "for each pending decision, before the next `select`",
    (*_P_ARGS, "age"),
    inputs=("context", "decision"),
)
"""The kernel of policies that is used only when a decision is taken while others are pending.

It may also name ``update``, the policy's own kernel, and then calls it with all arguments that an
`update` may name, in the order of the table:
``update(p, s, t, rng, <context>, <decision>, <feedback>)``.
"""

ENVIRONMENT_KERNELS: Final = (
    KernelSignature("init", "prepares the state", "before the first round", _E_ARGS),
    KernelSignature(
        "observe", "returns the context", "at the start of every round", _E_ARGS, outputs="context"
    ),
    KernelSignature(
        "respond",
        "returns the feedback",
        "after every decision",
        _E_ARGS,
        inputs=("context", "decision"),
        outputs="feedback",
        required=True,
    ),
    KernelSignature(
        "score",
        "writes the metrics",
        "at every checkpoint",
        _E_ARGS,
        inputs=("report",),
        outputs="metrics",
        required=True,
    ),
)
"""The kernels of environments."""

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


def single_integer_names(fields: Mapping[str, Field]) -> tuple[str, ...]:
    """Return the names of the single integers among the fields; shapes may name these."""
    return tuple(n for n, f in fields.items() if f.dtype == "int64" and not f.shape)


class RecordLayout:
    """The layout of one record, and the compiled functions that read and write it.

    A record holds one group of the setting's values: a context, a decision, a feedback or a report.
    If no value of the group is an array, the kernel that makes the values returns them: a single
    value as it is, several values as a tuple. If a value is an array, the kernel returns nothing.
    It then names the values as arguments, and fills the array that it gets for each value; the
    array of a single value has length 1. Kernels that receive the values name them in both cases.

    `dims` are the names of integers that shapes may use. `filled` says whether the kernel fills
    arrays; by default it does if a value is an array.
    """

    def __init__(
        self, fields: Mapping[str, Field], dims: Sequence[str], *, filled: bool | None = None
    ) -> None:
        self.layout = Layout(fields, dims)
        has_array = any(field.shape for field in fields.values())
        self.is_filled = has_array if filled is None else filled

    def value_expressions(self, group: str) -> dict[str, str]:
        """Return the expression of each value, by name; `group` is the whole group's expression."""
        names = list(self.layout.fields)
        # Arrays are in a named tuple, several single values in a plain tuple.
        if self.is_filled:
            return {name: f"{group}.{name}" for name in names}
        if len(names) == 1:
            return {names[0]: group}
        return {name: f"{group}[{i}]" for i, name in enumerate(names)}

    def target_expressions(self) -> dict[str, str]:
        """Return the expressions of the arrays to fill, by name; none if values are returned."""
        return self.value_expressions("targets") if self.is_filled else {}

    def reader(self) -> Kernel:
        """Return the compiled function (buffer, start, dims) -> the values, as kernels get them."""
        if self.is_filled:
            return self.layout.reader("Values")
        expressions = list(self.layout.field_expressions().values())
        result = "0"
        if expressions:
            result = expressions[0] if len(expressions) == 1 else f"({', '.join(expressions)},)"
        lines = self.layout.offset_statements()
        return compile_once(f"def read(buffer, start, dims):\n{lines}    return {result}\n", "read")

    def writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, value) that stores the values.

        It does nothing if the kernel that makes the values has filled the arrays of the buffer.
        """
        lines = ""
        if not self.is_filled and self.layout.fields:
            lines = self.layout.offset_statements()
            values = self.value_expressions("value")
            for name, target in self.layout.field_expressions().items():
                value = values[name]
                if self.layout.fields[name].dtype == "int64":  # a learner's step gets a float
                    value = f"int({value})"
                lines += f"    {target} = {value}\n"
        source = f"def write(buffer, start, dims, value):\n{lines}    return\n"
        return compile_once(source, "write")

    @property
    def is_number(self) -> bool:
        """Whether the group is a single number."""
        return len(self.layout.fields) == 1 and not self.is_filled

    def number_writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, number) that stores a single number.

        It does nothing for any other group.
        """
        if self.is_number:
            return self.writer()
        return compile_once("def write(buffer, start, dims, number):\n    return\n", "write")

    def number_encoder(self) -> Kernel:
        """Return the compiled function (values) -> the result of a learner's step, at least 0.

        If the group is a single integer, the result is this value, or 0 if it is negative. For
        other groups the result is 0.
        """
        is_integer = self.is_number and all(f.dtype == "int64" for f in self.layout.fields.values())
        # A learner's step returns negative numbers if it fails (`keyhole.drivers.learner_step`).
        code = "max(int(values), 0)" if is_integer else "0"
        return compile_once(f"def code(values):\n    return {code}\n", "code")

    def make_caller(self, kernel: Kernel, call: str) -> Kernel:
        """Return the compiled function (`call`, buffer, start, dims) -> the values.

        The function passes the arguments `call` to `kernel`, and then the arrays to fill, which are
        in `buffer`, from `start` on. A kernel that returns its values gets 0 in place of arrays.
        """
        # Kernels cannot return arrays, since compiled code allocates no memory. They fill cells of
        # the buffer instead.
        scope: dict[str, object] = {"kernel": kernel}
        if self.is_filled:
            scope |= {"targets": self.layout.reader("Targets", targets=True), "read": self.reader()}
            body = (
                f"    kernel({call}, targets(buffer, start, dims))\n"
                "    return read(buffer, start, dims)\n"
            )
        else:
            body = f"    return kernel({call}, 0)\n"
        source = f"def produce({call}, buffer, start, dims):\n{body}"
        return state_arrays.compile_source(source, "produce", scope)


class KernelRecords:
    """The record layouts of a setting's context, decision, feedback and report."""

    def __init__(self, setting: Setting, dims: Sequence[str]) -> None:
        self.context = RecordLayout(setting.context, dims)
        self.decision = RecordLayout(setting.decision, dims)
        self.feedback = RecordLayout(setting.feedback, dims)
        self.report = RecordLayout(setting.report, dims, filled=True)

    def layout_of(self, group: str) -> RecordLayout:
        """Return the record layout of one group."""
        return cast(RecordLayout, getattr(self, group))

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of context, decision, feedback and report."""
        return tuple(self.layout_of(group).layout for group in _GROUPS)

    def readers(self) -> tuple[Kernel, Kernel, Kernel]:
        """Return the compiled functions that read a context, a decision and a feedback."""
        return self.context.reader(), self.decision.reader(), self.feedback.reader()


is_restoring: Final[ContextVar[bool]] = ContextVar("is_restoring", default=False)
"""Whether a class is being restored: another process has checked it; attributes are set later."""


def check_functions(
    cls: Any, signatures: Sequence[KernelSignature], root: type, *, abstract: bool
) -> None:
    """Refuse a class with a public function that is no kernel, or without a required kernel."""
    # Of the bases only mixins are checked. Subclasses of `root` were checked when they were
    # defined, and `root` has public functions that are no kernels.
    kernel_names = [*(signature.name for signature in signatures), *cls.helpers]
    for base in cls.__mro__:
        if base is cls or (not issubclass(base, root) and base not in root.__mro__):
            for name, kernel in _public_functions_in(base):
                if name not in kernel_names:
                    hint = ": a function that kernels call belongs outside the class"
                    raise ValueError(
                        f"a kernel of {cls.__name__} ({kernel_checks.source_location(kernel)}) "
                        f"must be one of {', '.join(kernel_names)}; got {name!r}"
                        f"{suggestion(name, kernel_names) or hint}"
                    )
    if abstract:
        return
    purposes = {
        signature.name: f": it {signature.description}, {signature.occasion}"
        for signature in signatures
        if signature.required or (signature.name == "observe" and cls.setting.context)
    } | dict.fromkeys(cls.helpers, ", which its other kernels call")
    for name, purpose in purposes.items():
        if not hasattr(cls, name):
            raise TypeError(
                f"{cls.__name__} lacks the kernel {name}{purpose} "
                "(a class that is only a base of others says `abstract=True`)"
            )


def _public_functions_in(cls: type) -> Iterator[tuple[str, Kernel]]:
    """Yield the public functions of a class that are not methods."""
    for name, value in vars(cls).items():
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType) and not name.startswith("_"):
            # The first argument of a method is `self`.
            code = function.__code__
            if code.co_varnames[: code.co_argcount][:1] != ("self",):
                yield name, function


def check_kernels(
    cls: Any,
    signatures: Sequence[KernelSignature],
    inputs: Mapping[str, Field],
    borrowed_kernels: Sequence[str],
    remedy: Callable[[str], str],
) -> None:
    """Refuse kernels that name arguments, or read fields, that do not exist."""
    owner = cls.__qualname__
    records = KernelRecords(cls.setting, single_integer_names(inputs))
    state = Layout(state_arrays.declared_state(cls), single_integer_names(inputs)).fields
    kernels = {signature.name: signature.argument_expressions(records) for signature in signatures}
    for name in (*kernels, *cls.helpers):
        kernel = getattr(cls, name, None)
        if kernel is None:
            continue
        if name in (helper_arguments := getattr(cls, "helper_arguments", {})):
            kernel_checks.check_exact_arguments(owner, kernel, helper_arguments[name])
            if "s" not in helper_arguments[name]:  # then it can do nothing but return a value
                kernel_checks.check_returns_value(owner, kernel)
        if name in kernels:
            # `impute` may call `update`, to learn expected feedback as it learns real feedback.
            names = [*kernels[name], *borrowed_kernels]
            if name == IMPUTE.name:
                names.append("update")
            kernel_checks.check_argument_names(owner, kernel, names)
        kernel_checks.check_field_access(owner, kernel, signatures[0].own_args[0], inputs, remedy)
        kernel_checks.check_field_access(owner, kernel, "s", state, _make_remedy(cls, name))


def missing_state_arrays(cls: type, name: str) -> tuple[str, ...]:
    """Return the names of arrays that a kernel uses and its class's state lacks."""
    if (kernel := getattr(cls, name, None)) is None:
        return ()
    arrays = dict.fromkeys(
        array
        for array, _, _ in kernel_checks.find_attribute_uses(python_function(kernel).__code__, "s")
    )
    return tuple(array for array in arrays if array not in state_arrays.declared_state(cls))


def _make_remedy(cls: type, name: str) -> Callable[[str], str]:
    """Return a function that returns what to do about an array that an inherited kernel misses."""
    defining_class = next(base for base in cls.__mro__ if name in vars(base))
    # The subclass of a `WrapperPolicy` for a base has the name of the class as written.
    if defining_class is cls or defining_class.__qualname__ == cls.__qualname__:
        return lambda array: ""
    missing_text = join_words(missing_state_arrays(cls, name))
    return lambda array: f"declare {missing_text} in {cls.__name__}.State, or write {name}"
