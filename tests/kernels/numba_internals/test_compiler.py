"""Compilation of functions: parts that are linked into one entry."""

import numba
import numpy as np
import pytest
from numba import njit

from keyhole.kernels import kernel_decorators
from keyhole.kernels.numba_internals.machine_code import MachineCode, load_machine_code

parts = kernel_decorators.import_internals()
OPTIONS = kernel_decorators.njit_options() | {"nogil": True}
SIGNATURE = "int64(float64[::1], int64)"


@kernel_decorators.kernel
def twice(x):
    return 2 * x


def total(values, count):
    result = 0.0
    for i in range(count):
        result += twice(values[i])
    values[0] = result
    return count


def test_an_entry_survives_serialisation():
    machine = parts.compile_entry_point(total, SIGNATURE, OPTIONS)
    again = MachineCode.from_bytes(machine.to_bytes())
    assert again == machine
    values = np.array([1.0, 2.0, 3.0])
    assert load_machine_code(again)(values, 3) == 3
    assert values.tolist() == [12.0, 2.0, 3.0]


def test_constants_of_callers_make_no_copies():
    @kernel_decorators.kernel
    def scaled(x, by, upwards):
        return x * by if upwards else x / by

    def play(values, count):
        values[0] = scaled(values[0], 2, True) + scaled(values[1], 3, False)
        values[1] = scaled(values[1], count, values[0] > 0)
        return count

    entry = load_machine_code(parts.compile_entry_point(play, SIGNATURE, OPTIONS))
    values = np.array([5.0, 6.0])
    assert entry(values, 4) == 4
    assert values.tolist() == [12.0, 24.0]
    assert [str(kind) for kind in scaled.numba_object.signatures] == ["(float64, int64, bool)"]


def test_a_function_that_needs_a_constant_gets_it():
    @kernel_decorators.kernel
    def entry_of(pair, place):
        return pair[place]

    def play(values, count):
        values[0] = entry_of((count, 2.5), 1)
        return entry_of((count, 2.5), 0)

    entry, values = (
        load_machine_code(parts.compile_entry_point(play, SIGNATURE, OPTIONS)),
        np.zeros(1),
    )
    assert (entry(values, 4), values[0]) == (4, 2.5)


def test_code_with_missing_symbols_is_refused_before_linking():
    machine = parts.compile_entry_point(total, SIGNATURE, OPTIONS)
    broken = MachineCode(
        machine.wrapper,
        machine.environments,
        [*machine.undefined_symbols, "no_such_function"],
        machine.is_lasting,
        machine.code,
    )
    with pytest.raises(ImportError, match="compiled code needs no_such_function"):
        load_machine_code(broken)


def test_exceptions_of_kernels_are_raised():
    def fail(values, count):
        if count > 2:
            raise ValueError("three are too many")
        return count

    entry = load_machine_code(parts.compile_entry_point(fail, SIGNATURE, OPTIONS))
    assert entry(np.zeros(1), 2) == 2
    with pytest.raises(ValueError, match="three are too many"):
        entry(np.zeros(1), 3)


def test_kernels_can_be_called_from_python_and_from_functions_of_numba():
    @njit
    def four_times(x):
        return twice(twice(x))

    assert twice(3.0) == 6.0
    assert four_times(3) == 12


def test_mutually_recursive_functions_are_refused():
    scope = {}
    exec("def even(x): return True if x == 0 else odd(x - 1)", scope)
    exec("def odd(x): return False if x == 0 else even(x - 1)", scope)
    scope |= {name: kernel_decorators.kernel(scope[name]) for name in ("even", "odd")}
    exec("def start(values, count): return int(even(count))", scope)
    with pytest.raises(TypeError, match="call one another in a circle"):
        parts.compile_entry_point(scope["start"], SIGNATURE, OPTIONS)


def test_bounds_checks_disabled_by_the_environment_are_refused(monkeypatch):
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 0)
    with pytest.raises(ValueError, match="NUMBA_BOUNDSCHECK"), kernel_decorators.bounds_checked():
        pass
