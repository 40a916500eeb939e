"""Serialisation and loading of machine code, without importing Numba.

llvmlite links the code. The functions of Numba that the code calls are in two C extension modules,
which can be loaded without the package around them. `register_symbols` registers the symbols that
Numba would register (`numba.core.base`, `numba.core.externals`), at the same addresses: elementary
functions of another library would differ in the last bit. A test compares the addresses.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from llvmlite import binding

from keyhole.kernels.interpreted_mode import Kernel

_HEAD_LENGTH_BYTES: Final = 4
_PACKAGE: Final = "numba"
_PREFIX: Final = "numba_"
_FUNCTION_NAMES: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "exp",
    "expm1", "fabs", "floor", "fmod", "log", "log10", "log1p", "pow", "round", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
# Numba brings its own versions of these functions; all others are taken from the process.
_ELEMENTARY: Final = [f"{name}{end}" for name in _FUNCTION_NAMES for end in ("", "f")]


@dataclass(frozen=True)
class MachineCode:
    """The machine code of a function that Python calls, and the symbols that the code needs."""

    wrapper: str  # name of the function that Python calls
    environments: list[str]  # names of the variables that must point to an environment of Numba's
    undefined_symbols: list[str]  # names that the process must provide
    # whether another process may load it, since it contains no address of an object in this one
    is_lasting: bool
    code: bytes  # an object file
    key: dict[str, str] = field(default_factory=dict)  # the parts of the cache's key, by name

    def to_bytes(self) -> bytes:
        """Return the serialised code."""
        head_fields = {name: value for name, value in asdict(self).items() if name != "code"}
        head = json.dumps(head_fields).encode()
        return len(head).to_bytes(_HEAD_LENGTH_BYTES, "little") + head + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> MachineCode:
        """Return the code that `to_bytes` serialised."""
        end = _HEAD_LENGTH_BYTES + int.from_bytes(data[:_HEAD_LENGTH_BYTES], "little")
        return cls(**json.loads(data[_HEAD_LENGTH_BYTES:end]), code=data[end:])


@cache
def describe_processor() -> str:
    """Return the kind of processor and its features, on which machine code depends."""
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know the features of this kind of processor
        features = ""
    return repr((binding.get_process_triple(), binding.get_host_cpu_name(), features))


@cache
def load_numba_extension(name: str) -> ModuleType:
    """Return one of Numba's C extension modules, without importing Numba."""
    full_name = f"{_PACKAGE}.{name}"
    # If Numba is imported already, only the last line runs, and takes the module from it.
    package = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    for folder in (package and package.submodule_search_locations) or ():
        for ending in EXTENSION_SUFFIXES:
            path = Path(folder) / f"{name}{ending}"
            if path.exists() and (spec := spec_from_file_location(full_name, path)) and spec.loader:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                # A later import of Numba must load the module as part of the package.
                sys.modules.pop(full_name, None)
                return module
    return import_module(full_name)


@cache
def register_symbols() -> None:
    """Register with LLVM the symbols that machine code refers to, once in a process."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if sys.maxsize < 2**32 or sys.platform == "win32":  # Numba registers more symbols there
        import_module("numba.core.registry").cpu_target.target_context  # noqa: B018
        return
    binding.add_symbol("_Py_NoneStruct", id(None))
    helpers = load_numba_extension("_helperlib").c_helpers
    for addresses in (helpers, load_numba_extension("_dynfunc").c_helpers):
        for name, address in addresses.items():
            binding.add_symbol(f"{_PREFIX}{name}", address)
    for value in vars(builtins).values():
        if isinstance(value, type) and issubclass(value, BaseException):
            binding.add_symbol(f"PyExc_{value.__name__}", id(value))
    for name in _ELEMENTARY:
        binding.add_symbol(name, helpers[name])


def load_machine_code(code: MachineCode) -> Kernel:
    """Return the function in some machine code.

    The function does not check its arguments, since only Keyhole calls it. The machine code is
    freed with the last reference to the function.
    """
    # Each function has an LLVM engine of its own, so that symbols of equal name in two functions
    # are independent, and the code can be freed (decision 003).
    register_symbols()
    dynfunc = load_numba_extension("_dynfunc")
    target = binding.Target.from_triple(binding.get_process_triple())
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(""), target.create_target_machine(jit=True)
    )
    # This check must come after the engine is made: making the first engine tells LLVM the symbols
    # of the process.
    missing_names = [n for n in code.undefined_symbols if binding.address_of_symbol(n) is None]
    if missing_names:  # the linker would abort the process
        raise ImportError(f"compiled code needs {', '.join(missing_names)}")
    engine.add_object_file(binding.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    environment = dynfunc.Environment(globals())
    for name in code.environments:
        variable = ctypes.c_void_p.from_address(engine.get_global_value_address(name))
        variable.value = id(environment)
    address = engine.get_function_address(code.wrapper)
    # The function refers to the engine, so that the machine code lives as long as the function.
    references = (engine, environment)
    module = sys.modules[__name__]
    entry: Kernel = dynfunc.make_function(module, "entry", "", address, environment, references)
    return entry
