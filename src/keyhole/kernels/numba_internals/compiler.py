"""From functions to machine code: helpers as parts, all parts in one entry, optimised once.

Numba makes of every function a library of its own: linked with all that it calls, optimised in
full, emitted as machine code, wrapped twice, and kept for ever. Of some 45 functions in a pair of
policy and world, Python calls one. Here helpers are typed and lowered only (*parts*), and linked
flat into the one function that is called (*the entry*). The entry's machine code belongs to its
caller: when the last reference goes, so does the code.
"""

# mypy: disable-error-code="no-untyped-call"
# (Numba gives no types for its insides.)

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

from llvmlite import binding
from numba import _dynfunc, njit, types  # type: ignore[attr-defined]
from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NativeLowering

from keyhole.kernels.error_lines import encode_line
from keyhole.kernels.numba_internals.machine_code import MachineCode
from keyhole.kernels.numba_internals.powers import define_powers
from keyhole.kernels.numba_internals.process_symbols import READ_ERROR

thread_ident: Final = types.ExternalFunction("PyThread_get_thread_ident", types.uint64())
"""Returns which thread calls: for compiled code."""

_RAISING: Final = (ir.Raise, ir.StaticRaise, ir.DynamicRaise)
_CONSTANT: Final = (types.IntegerLiteral, types.BooleanLiteral)


class PartLibrary(JITCodeLibrary):
    """Code that waits to be linked: neither optimised nor emitted."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Make the code ready to be linked, under names that several may bring."""
        self._raise_if_finalized()
        self._finalized = True
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"

    def needed(self) -> list[Any]:
        """Return all libraries that this one uses, each once."""
        seen: dict[Any, None] = {}
        ahead = list(self._linking_libraries)
        while ahead:
            library = ahead.pop()
            if library not in seen:
                seen[library] = None
                if isinstance(library, PartLibrary):
                    library._ensure_finalized()
                    ahead.extend(library._linking_libraries)
        return list(seen)

    def whole(self) -> Any:
        """Return a module of this code and all that it uses."""
        module = self._final_module.clone()
        for library in self.needed():
            alone = isinstance(library, PartLibrary)
            other = library._final_module if alone else library._get_module_for_linking()
            module.link_in(other, preserve=True)
        return module

    def _get_module_for_linking(self) -> Any:
        """Return the code with all it uses, for a library that does not know of parts."""
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = self.whole()
        return self._shared_module


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Lower a function for use by others alone: no wrappers, no machine code of its own."""

    _name = "keyhole_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function that the compiler is at."""
        _lower(super(), state, wrapped=False)
        # Stands for the function inside the compiler; its address is 0: it must not be called.
        lowered = state.cr
        module = lowered.fndesc.lookup_module()
        token = _dynfunc.make_function(module, "part", "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(token, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=token)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """Lower the function that Python calls, with the wrapper that takes Python's arguments."""

    _name = "keyhole_entry_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function that the compiler is at."""
        _lower(super(), state, wrapped=True)
        return True


def _lower(step: Any, state: Any, *, wrapped: bool) -> None:
    _encode_lines(state.func_id.func, state.func_ir)
    state.flags.no_cpython_wrapper = not wrapped
    state.flags.no_cfunc_wrapper = state.flags.no_compile = True
    state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
    step.run_pass(state)


def _encode_lines(function: Any, code: Any) -> None:
    """Have errors that are raised refer to instructions, not to lines: see `raised_lines`."""
    for block in code.blocks.values():
        for line in block.body:
            if isinstance(line, _RAISING) and (place := encode_line(function, line.loc.line)):
                line.loc = ir.Loc(*place)


class PartCompiler(CompilerBase):
    """Numba's pipeline with another last step."""

    lowering: type[NativeLowering] = PartLowering

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in manager.passes
        ]
        manager.finalize()
        return [manager]


class EntryCompiler(PartCompiler):
    """The same for the function that Python calls."""

    lowering = EntryLowering


class Part(CPUDispatcher):
    """A function for use by others; called from Python, it is compiled by Numba as usual."""

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        compiler: type[PartCompiler] = PartCompiler,
    ) -> None:
        super().__init__(function, {}, {**options, "nopython": True}, compiler)
        self._options = options
        self._usual: Any = None
        _parts.add(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Take a caller's constants for any numbers, so that code is made once for all callers.

        Numba makes a copy for each combination of them: up to a fifth of what there is to compile,
        and of no use to code that is inlined. What needs to know a constant has a copy of its own.
        """
        plain, named = tuple(map(_plain, args)), {name: _plain(kws[name]) for name in kws}
        try:
            return super().get_call_template(plain, named)
        except TypingError:
            if (plain, named) == (args, kws):
                raise
            return super().get_call_template(args, kws)

    def add_overload(self, cres: Any) -> None:
        """Make the compiled function known to callers that are compiled, not to Python."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        if self._usual is None:
            self._usual = njit(**self._options)(self.py_func)
        return self._usual


def _plain(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, _CONSTANT) else kind


# What Numba calls variables that hold an address, and functions called before they are compiled.
_ADDRESS: Final = "numba.dynamic.globals"
_ADDRESSES: Final = re.compile(
    rf"^@({_ADDRESS}\S*) = .*inttoptr \(i64 (\d+) to ptr\)", re.MULTILINE
)
# What the compiler knows as functions, and what stands for them: see `Part` and `type_of`.
_parts: Final[WeakSet[Any]] = WeakSet()
_AHEAD: Final = ".numba.unresolved$"


def type_of(deferred: Any, made: Any) -> Any:
    """Return the type that the compiler gives to a value which stands for what was `made`."""
    _parts.add(deferred)
    if isinstance(made, types.ExternalFunction):
        return made
    if (kind := getattr(made, "_numba_type_", None)) is not None:
        return kind
    context = cpu_target.typing_context
    context.refresh()  # an intrinsic may be newer than the last look at what there is
    return context.resolve_value_type(made)


def compile_entry(
    function: Callable[..., Any], signature: str, options: dict[str, Any]
) -> MachineCode:
    """Compile plain Python that calls parts, and all that it uses, for one signature."""
    plain = getattr(function, "py_func", function)  # a kernel, too, may be called by Python
    dispatcher = Part(plain, options, EntryCompiler)
    with _without_collector():
        dispatcher.compile(signature)
    result: Any = next(iter(dispatcher.overloads.values()))
    with global_compiler_lock:
        result.library._ensure_finalized()
        module = result.library.whole()
        wrapper = result.fndesc.llvm_cpython_wrapper_name
        module.get_function(wrapper).linkage = "external"  # all else may be inlined and dropped
        module.get_function("numba_unpickle").name = READ_ERROR
        define_powers(module)
        generator = result.library.codegen
        # Numba runs a cheaper pass before this one, to prune reference counts. There are none.
        manager, builder = generator._module_pass_manager()
        manager.run(module, builder)
        module.verify()
        code = generator._tm.emit_object(module)
    known = [item.name for item in module.global_variables]
    environments = {name: lookup_environment(name) for name in known}
    found = [name for name, value in environments.items() if value is not None]
    if any(environments[name].consts for name in found):
        raise TypeError("a kernel cannot use objects of Python")  # they are not in the machine code
    lasting = not (any(name.startswith(_ADDRESS) for name in known) and _holds_address(str(module)))
    if any(name.startswith(_AHEAD) for name in known):
        raise TypeError("a kernel cannot use functions that call one another in a circle")
    outside = [
        item.name
        for items in (module.functions, module.global_variables)
        for item in items
        if item.is_declaration and not item.name.startswith("llvm.")
    ]
    return MachineCode(wrapper, found, outside, lasting, code)


def _holds_address(text: str) -> bool:
    """Tell whether code uses the address of something other than a part, whose is never looked at.

    A part is handed to kernels that name it (`base_select`, say) as its address, and called as what
    it is.
    """
    parts = {id(part) for part in _parts}
    return any(
        int(address) not in parts and text.count(f"@{name}") > 1
        for name, address in _ADDRESSES.findall(text)
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Put off the collection of garbage: there is little, and looking for it costs 8 %."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
