"""Registration of the symbols that machine code refers to, with LLVM's linker.

They are those that Numba registers when it is imported (`numba.core.base`,
`numba.core.externals`), at the same addresses: the elementary functions above all, since those of
another C library differ in the last bit. A test compares them all. Two C extension modules of
Numba contain them, and do not need the package around them.
"""

import builtins
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

from llvmlite import binding

_PACKAGE: Final = "numba"
_PREFIX: Final = "numba_"
_REALS: Final = (
    ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "exp"),
    ("expm1", "fabs", "floor", "fmod", "log", "log10", "log1p", "pow", "round", "sin", "sinh"),
    ("sqrt", "tan", "tanh", "trunc"),
)
# Numba brings its own versions of these; all other functions are those of the process.
_ELEMENTARY: Final = [f"{name}{kind}" for names in _REALS for name in names for kind in ("", "f")]


@cache
def load_extension(name: str) -> Any:
    """Return one of Numba's C extension modules, without importing Numba."""
    full = f"{_PACKAGE}.{name}"
    package = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    for folder in (package and package.submodule_search_locations) or ():
        for ending in EXTENSION_SUFFIXES:
            path = Path(folder) / f"{name}{ending}"
            if path.exists() and (spec := spec_from_file_location(full, path)) and spec.loader:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                # Removed again, so that a later import of Numba loads it as part of the package.
                sys.modules.pop(full, None)
                return module
    return import_module(full)


@cache
def add_symbols() -> None:
    """Register with LLVM the symbols that machine code refers to, once in a process."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if sys.maxsize < 2**32 or sys.platform == "win32":  # Numba registers more symbols there
        import_module("numba.core.registry").cpu_target.target_context  # noqa: B018
        return
    binding.add_symbol("_Py_NoneStruct", id(None))
    helpers = load_extension("_helperlib").c_helpers
    for known in (helpers, load_extension("_dynfunc").c_helpers):
        for name, address in known.items():
            binding.add_symbol(f"{_PREFIX}{name}", address)
    for value in vars(builtins).values():
        if isinstance(value, type) and issubclass(value, BaseException):
            binding.add_symbol(f"PyExc_{value.__name__}", id(value))
    for name in _ELEMENTARY:
        binding.add_symbol(name, helpers[name])
