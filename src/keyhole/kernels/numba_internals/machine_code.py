"""Machine code that was compiled, perhaps by another process: written down, and loaded.

Nothing here imports Numba. llvmlite alone links the code, and the functions of Numba's that it
calls stand in two modules in C that can be loaded without the package around them.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from llvmlite import binding

from keyhole.kernels.numba_internals.process_symbols import add_symbols, load_extension

_HEAD: Final = 4


@dataclass(frozen=True)
class MachineCode:
    """What an entry is compiled to."""

    wrapper: str  # name of the function that Python calls
    environments: list[str]  # names of the variables that point to Numba's environments
    outside: list[str]  # names of the functions and variables that must be found in the process
    # whether another process may load it: it holds no address of something in this one
    lasting: bool
    code: bytes  # an object file

    def to_bytes(self) -> bytes:
        """Return the code as it is kept in a file."""
        names = {name: value for name, value in asdict(self).items() if name != "code"}
        head = json.dumps(names).encode()
        return len(head).to_bytes(_HEAD, "little") + head + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> MachineCode:
        """Return the code that `to_bytes` wrote."""
        end = _HEAD + int.from_bytes(data[:_HEAD], "little")
        return cls(**json.loads(data[_HEAD:end]), code=data[end:])


@cache
def processor() -> str:
    """Return what machine code depends on: the kind of processor, and what it can do."""
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know this kind of processor's
        features = ""
    return repr((binding.get_process_triple(), binding.get_host_cpu_name(), features))


def load(machine: MachineCode) -> Any:
    """Return the function that some machine code holds.

    Its arguments are not checked: for internal callers. The machine code is let go with the last
    reference to it.
    """
    add_symbols()
    dynfunc = load_extension("_dynfunc")
    target = binding.Target.from_triple(binding.get_process_triple())
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(""), target.create_target_machine(jit=True)
    )
    # Not before there is an engine: the first one opens the process itself to the linker.
    missing = [name for name in machine.outside if binding.address_of_symbol(name) is None]
    if missing:  # the linker would end the process
        raise ImportError(f"compiled code needs {', '.join(missing)}")
    engine.add_object_file(binding.ObjectFileRef.from_data(machine.code))
    engine.finalize_object()
    environment = dynfunc.Environment(globals())
    for name in machine.environments:
        variable = ctypes.c_void_p.from_address(engine.get_global_value_address(name))
        variable.value = id(environment)
    address = engine.get_function_address(machine.wrapper)
    held = (engine, environment)
    return dynfunc.make_function(sys.modules[__name__], "entry", "", address, environment, held)
