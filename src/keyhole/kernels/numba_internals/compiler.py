"""A compiler built of Numba's parts, which optimises all kernels of a program together, once.

Numba makes a library of every function, links it with all that the function calls, optimises it in
full, emits it as machine code, wraps it twice, and keeps it for ever. Of some 45 functions of a
policy and its environment, Python calls one. Here helpers are only typed and lowered to LLVM code
(*parts*), and linked flat into the one function that Python calls (*the entry*). The entry's
machine code belongs to its caller, and is freed with the last reference.
"""

# mypy: disable-error-code="no-untyped-call"
# (Numba has no type hints for its internals.)

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from llvmlite import binding
from numba import _dynfunc, njit, types  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NativeLowering

from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.numba_internals.machine_code import MachineCode

if TYPE_CHECKING:
    from numba.core.compiler import StateDict
    from numba.core.compiler_machinery import PassManager

_LITERALS: Final = (types.IntegerLiteral, types.BooleanLiteral)


class PartLibrary(JITCodeLibrary):
    """A library of LLVM code that is not optimised or emitted, only linked."""

    def _optimize_functions(self, ll_module: binding.ModuleRef) -> None:
        # Numba's own method optimises each function. Here the entry is optimised as a whole, after
        # everything that it calls is linked into it.
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Make the code ready for linking, also with code that defines the same functions."""
        self._raise_if_finalized()
        self._finalized = True
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            # With this linkage, the linker keeps one of several equal definitions, and drops unused
            # definitions.
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"

    def linked_libraries(self) -> list[JITCodeLibrary]:
        """Return all libraries that this one uses, each once."""
        libraries: dict[JITCodeLibrary, None] = {}
        remaining = list(self._linking_libraries)
        while remaining:
            library = remaining.pop()
            if library not in libraries:
                libraries[library] = None
                if isinstance(library, PartLibrary):
                    library._ensure_finalized()
                    remaining.extend(library._linking_libraries)
        return list(libraries)

    def linked_module(self) -> binding.ModuleRef:
        """Return an LLVM module of this code and all that it uses."""
        module = self._final_module.clone()
        for library in self.linked_libraries():
            # A part is linked without the parts that it uses, since the list has these too.
            if isinstance(library, PartLibrary):
                module.link_in(library._final_module, preserve=True)
            else:
                module.link_in(library._get_module_for_linking(), preserve=True)
        return module

    def _get_module_for_linking(self) -> binding.ModuleRef:
        """Return the code with all it uses, for one of Numba's own libraries."""
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = self.linked_module()
        return self._shared_module


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """The pass that lowers a function for compiled callers, without wrappers and machine code."""

    _name = "keyhole_part_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower the current function."""
        _lower(super().run_pass, state, has_wrapper=False)
        # The token stands for the function inside the compiler. Its address is 0, so calling it
        # would crash; but callers are linked to the code, not to the address.
        lowered = state.cr
        module = lowered.fndesc.lookup_module()
        token = _dynfunc.make_function(module, "part", "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(token, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=token)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryPointLowering(NativeLowering):
    """The pass that lowers the function that Python calls, with the wrapper for its arguments."""

    _name = "keyhole_entry_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower the current function."""
        _lower(super().run_pass, state, has_wrapper=True)
        return True


def _lower(run_pass: Callable[[StateDict], object], state: StateDict, *, has_wrapper: bool) -> None:
    """Lower a function into a `PartLibrary`, with or without the wrapper for Python's arguments."""
    state.flags.no_cpython_wrapper = not has_wrapper
    state.flags.no_cfunc_wrapper = True
    state.flags.no_compile = True
    state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
    run_pass(state)


class PartCompiler(CompilerBase):
    """Numba's compiler pipeline with another lowering pass."""

    lowering: type[NativeLowering] = PartLowering

    def define_pipelines(self) -> list[PassManager]:
        """Return the one pipeline."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in manager.passes
        ]
        manager.finalize()
        return [manager]


class EntryPointCompiler(PartCompiler):
    """The pipeline for the function that Python calls."""

    lowering = EntryPointLowering


class PartDispatcher(CPUDispatcher):
    """A function for compiled callers; if Python calls it, Numba compiles it as usual."""

    def __init__(
        self,
        function: Kernel,
        options: dict[str, Any],
        compiler: type[PartCompiler] = PartCompiler,
    ) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, compiler)
        self._options = options
        self._compiled: Kernel | None = None
        _parts.add(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Treat a caller's constants as variables, so that one compilation serves all callers.

        Numba would compile a copy for each combination of constants. These copies are up to a fifth
        of all code to compile, and useless where the code is inlined. A function that must know a
        constant still gets its own copy.
        """
        plain_args = tuple(map(_variable_type, args))
        plain_kws = {name: _variable_type(kws[name]) for name in kws}
        # Typing fails where a constant is needed, for example as the index of a tuple with entries
        # of several types. The function is then typed with the constants.
        try:
            return super().get_call_template(plain_args, plain_kws)
        except TypingError:
            if plain_args == args and plain_kws == kws:
                raise
            return super().get_call_template(args, kws)

    def add_overload(self, cres: Any) -> None:
        """Make the compiled function known to compiled callers, not to Python."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: object, **kwargs: object) -> Kernel:
        # If Python calls the function (in tests and examples), Numba compiles it as usual.
        if self._compiled is None:
            self._compiled = njit(**self._options)(self.py_func)
        return self._compiled


def _variable_type(numba_type: types.Type) -> types.Type:
    """Return the type of a variable for values of `numba_type`, which may be a constant's type."""
    return types.unliteral(numba_type) if isinstance(numba_type, _LITERALS) else numba_type


# Numba gives names with this beginning to variables that hold an address.
_ADDRESS_PREFIX: Final = "numba.dynamic.globals"
# Matches the name and the address of such a variable.
_ADDRESS_DEFINITION: Final = re.compile(
    rf"^@({_ADDRESS_PREFIX}\S*) = .*inttoptr \(i64 (\d+) to ptr\)", re.MULTILINE
)
# All objects that the compiler takes for functions: parts, and the `Deferred` objects of parts.
_parts: Final[WeakSet[object]] = WeakSet()
# Numba gives names with this beginning to functions that are called before they are compiled.
_UNRESOLVED_PREFIX: Final = ".numba.unresolved$"


def type_of_deferred(deferred: object, numba_object: object) -> object:
    """Return the compiler's type of a deferred value, given the Numba object that it stands for."""
    _parts.add(deferred)
    if isinstance(numba_object, types.ExternalFunction):
        return numba_object
    if (numba_type := getattr(numba_object, "_numba_type_", None)) is not None:
        return numba_type
    context = cpu_target.typing_context
    context.refresh()  # an intrinsic may have been registered since the last refresh
    return context.resolve_value_type(numba_object)


def compile_entry_point(
    function: Kernel, signature: str, options: dict[str, object]
) -> MachineCode:
    """Compile a Python function and all that it uses, for one signature."""
    plain = getattr(function, "py_func", function)  # a kernel, too, may be called by Python
    dispatcher = PartDispatcher(plain, options, EntryPointCompiler)
    with _pause_garbage_collector():
        dispatcher.compile(signature)
    result: Any = next(iter(dispatcher.overloads.values()))
    with global_compiler_lock:
        result.library._ensure_finalized()
        module = result.library.linked_module()
        wrapper = result.fndesc.llvm_cpython_wrapper_name
        module.get_function(wrapper).linkage = "external"  # all else may be inlined and dropped
        _replace_power_functions(module)
        generator = result.library.codegen
        # Numba runs a cheaper pass before this one to prune reference counts. There are none here.
        manager, builder = generator._module_pass_manager()
        manager.run(module, builder)
        module.verify()
        code = generator._tm.emit_object(module)
    names = [item.name for item in module.global_variables]
    environments = {name: lookup_environment(name) for name in names}
    environment_names = [name for name, value in environments.items() if value is not None]
    if any(environments[name].consts for name in environment_names):
        # Objects of Python live in Numba's environments, which are not saved with the machine code.
        raise TypeError("a kernel cannot use objects of Python")
    # Machine code that holds an address is valid in this process only.
    is_lasting = not (
        any(name.startswith(_ADDRESS_PREFIX) for name in names) and _uses_address(str(module))
    )
    if any(name.startswith(_UNRESOLVED_PREFIX) for name in names):
        raise TypeError("a kernel cannot use functions that call one another in a circle")
    undefined_names = [
        item.name
        for items in (module.functions, module.global_variables)
        for item in items
        if item.is_declaration and not item.name.startswith("llvm.")
    ]
    return MachineCode(wrapper, environment_names, undefined_names, is_lasting, code)


# Where LLVM sees a constant exponent or base, it replaces `pow` by another function: a square root,
# `exp2`, `exp10`. So the last bit would depend on the version of LLVM, on inlining, and on how a
# kernel is written. Here `x ** 0.5` is a square root, `x ** 2.0` a product and
# `x ** -1.0` a quotient wherever the exponent comes from, and every other power is the C library's
# `pow`. The functions of `keyhole.kernels.interpreter.arithmetic` do the same.

# The functions that Numba calls for `x ** y` and for `math.pow(x, y)`.
_POWERS: Final = ("llvm.pow.f64", "pow")

# "nobuiltin" hides from LLVM that the function called is the C library's `pow`, so that LLVM does
# not replace it. `sqrt` and `pow` differ for -0.0 (root -0.0, power 0.0) and -infinity (root NaN,
# power infinity). So the code needs `fabs` and a test for -infinity.
_POWER: Final = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
declare double @pow(double, double)

define linkonce_odr double @{name}(double %x, double %y) alwaysinline nounwind {{
begin:
  %is_square = fcmp oeq double %y, 2.0
  br i1 %is_square, label %square, label %not_square
square:
  %product = fmul double %x, %x
  ret double %product
not_square:
  %is_root = fcmp oeq double %y, 0.5
  br i1 %is_root, label %root, label %not_root
root:
  %signed = call double @llvm.sqrt.f64(double %x)
  %unsigned = call double @llvm.fabs.f64(double %signed)
  %is_minus_infinity = fcmp oeq double %x, 0xFFF0000000000000
  %result = select i1 %is_minus_infinity, double 0x7FF0000000000000, double %unsigned
  ret double %result
not_root:
  %is_reciprocal = fcmp oeq double %y, -1.0
  br i1 %is_reciprocal, label %reciprocal, label %power
reciprocal:
  %quotient = fdiv double 1.0, %x
  ret double %quotient
power:
  %called = call double @pow(double %x, double %y) nobuiltin nounwind willreturn memory(none)
  ret double %called
}}
"""


def _replace_power_functions(module: binding.ModuleRef) -> None:
    """Replace the functions that a module calls for powers of floats, before it is optimised."""
    for name in {function.name for function in module.functions} & set(_POWERS):
        replacement = f"keyhole_{name.replace('.', '_')}"
        module.get_function(name).name = replacement
        module.link_in(binding.parse_assembly(_POWER.format(name=replacement)))


def _uses_address(text: str) -> bool:
    """Return whether code uses the address of anything but a part.

    A part that is an argument of a kernel (such as `base_select`) is passed as its address. But the
    address is never read, since the type of the argument says which part to call.
    """
    part_addresses = {id(kernel) for kernel in _parts}
    return any(
        int(address) not in part_addresses and text.count(f"@{name}") > 1
        for name, address in _ADDRESS_DEFINITION.findall(text)
    )


@contextmanager
def _pause_garbage_collector() -> Iterator[None]:
    """Pause the garbage collector, which finds little garbage and takes 8 % of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
