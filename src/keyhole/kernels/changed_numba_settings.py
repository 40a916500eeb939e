"""Numba's settings (environment variables, `config`), read without importing Numba."""

import os
import sys
from pathlib import Path
from typing import Any, Final

from keyhole.kernels.compiler_fork_locks import import_numba

# The settings on which machine code depends, with Numba's defaults as `repr` shows them.
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
    """Return the settings that affect machine code and differ from the defaults.

    Numba is imported, and asked, only where an environment variable or a file may have changed a
    setting; or if it is loaded already, since a program may have changed its `config`.
    """
    is_set = any(f"NUMBA_{name}" in os.environ for name in _DEFAULTS) or Path(_FILE).exists()
    if not is_set and "numba" not in sys.modules:
        return {}
    config = import_numba().config
    values = {name: getattr(config, name) for name in _DEFAULTS}
    return {name: value for name, value in values.items() if repr(value) != _DEFAULTS[name]}
