"""The first pass of Numba's compiler: a function as operations on named variables."""

from numba.core import ir as ir
from numba.core.compiler import run_frontend as run_frontend
