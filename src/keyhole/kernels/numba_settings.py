"""What Numba is set to, by its environment variables or in its `config`, without importing it."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from keyhole.kernels.compiler_lock import import_numba

# What machine code depends on, and what holds where nobody has said otherwise, as Numba prints it.
_DEFAULTS: Final = {
    "OPT": "_OptLevel(3)",
    "BOUNDSCHECK": "None",
    "CPU_NAME": "None",
    "CPU_FEATURES": "None",
    "ENABLE_AVX": "True",
    "LOOP_VECTORIZE": "1",
    "SLP_VECTORIZE": "0",
    "DISABLE_INTEL_SVML": "False",
    "DISABLE_JIT": "0",
}
_FILE: Final = ".numba_config.yaml"  # Numba reads it in the folder where a process begins


def changed_settings() -> dict[str, Any]:
    """Return the settings that machine code depends on and that are not as by default.

    Numba is imported, and asked, only where some may be: where a variable of the environment or a
    file may say so. Where it is loaded already, a program may have changed its `config`.
    """
    told = any(f"NUMBA_{name}" in os.environ for name in _DEFAULTS) or Path(_FILE).exists()
    if not told and "numba" not in sys.modules:
        return {}
    config = import_numba().config
    values = {name: getattr(config, name) for name in _DEFAULTS}
    return {name: value for name, value in values.items() if repr(value) != _DEFAULTS[name]}
