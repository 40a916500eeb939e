import functools
import math
import random
import types
from collections import namedtuple

import numpy as np
import pytest
from numba import cfunc, njit

import keyhole.draws.streams
from keyhole.kernels.fingerprint import compiled_copy, fingerprint
from keyhole.kernels.kernel_decorators import bounds_checked


def function(source, **scope):
    """Return `f` of some source text."""
    exec(source, scope)
    return scope["f"]


CONSTANTS = types.ModuleType("constants")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x): return x + 1", "def f(x): return x + 2"),
        ("def f(x): return x + 1", "def f(x): return x - 1"),
        ("def f(x, y=1): return x + y", "def f(x, y=2): return x + y"),
        ("C = 1\ndef f(x): return x + C", "C = 2\ndef f(x): return x + C"),
        ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x\ndef f(x): return g(x)"),
        (
            "def h(x): return x\ndef g(x): return h(x)\ndef f(x): return g(x)",
            "def h(x): return -x\ndef g(x): return h(x)\ndef f(x): return g(x)",
        ),
        (
            "def m(c):\n def f(x): return x + c\n return f\nf = m(1)",
            "def m(c):\n def f(x): return x + c\n return f\nf = m(2)",
        ),
        ("C = (1, 2)\ndef f(x): return C[0]", "C = (3, 2)\ndef f(x): return C[0]"),
    ],
)
def test_a_change_anywhere_below_a_kernel_changes_its_fingerprint(before, after):
    assert fingerprint(function(before)) == fingerprint(function(before))
    assert fingerprint(function(before)) != fingerprint(function(after))


def test_arrays_and_module_constants_are_followed():
    table = np.array([1.0, 2.0])
    f = function("def f(x): return table[0] + constants.C", table=table, constants=CONSTANTS)
    CONSTANTS.C = 1
    first = fingerprint(f)
    CONSTANTS.C = 2
    second = fingerprint(f)
    table[0] = 5.0
    assert len({first, second, fingerprint(f)}) == 3


def test_compiled_helpers_are_followed_like_plain_ones():
    plain = function("def f(x): return g(x)", g=function("def f(x): return x"))
    compiled = function("def f(x): return g(x)", g=njit(function("def f(x): return x")))
    assert fingerprint(plain) == fingerprint(compiled)


def test_objects_that_cannot_be_followed_are_refused():
    f = function("def f(x): return settings.alpha", settings=object())
    with pytest.raises(TypeError, match="f uses 'settings', a object: a kernel may use numbers"):
        fingerprint(f)
    with pytest.raises(TypeError, match="a kernel must be a function written in Python"):
        fingerprint(math.log)


def test_a_linked_kernel_uses_its_helpers_as_they_are_now():
    scope = {"njit": njit}
    exec("@njit\ndef g(x): return x\n@njit\ndef f(x): return g(x)", scope)
    assert scope["f"](2) == 2
    exec("@njit\ndef g(x): return 10 * x", scope)
    assert scope["f"](2) == 2  # numba keeps what it compiled first
    assert compiled_copy(scope["f"])(2) == 20


def test_plain_helpers_need_no_decorator():
    f = function("def g(x): return h(x) + 1\ndef h(x): return 2 * x\ndef f(x): return g(x)")
    assert compiled_copy(f)(3) == 7


def test_only_equal_kernels_share_a_copy():
    source = "def g(x): return {} * x\ndef f(x): return g(x)"
    first = compiled_copy(function(source.format(2)))
    assert compiled_copy(function(source.format(2))) is first
    assert compiled_copy(function(source.format(3))) is not first
    with bounds_checked():
        assert compiled_copy(function(source.format(2))) is not first


def test_a_shared_copy_has_a_snapshot_of_an_array():
    source, table = "def f(i): return table[i]", np.array([1.0, 2.0])
    first = compiled_copy(function(source, table=table))
    table[0] = 5.0
    assert compiled_copy(function(source, table=np.array([1.0, 2.0]))) is first
    assert (first(0), compiled_copy(function(source, table=table))(0)) == (1.0, 5.0)


def test_attributes_are_not_taken_for_globals_of_the_same_name():
    source = "def f(p, s): return s.arms + p.threshold"
    alone = fingerprint(function(source))
    assert fingerprint(function(source, arms=["red", "blue"], threshold=[0.1, 0.5])) == alone
    assert fingerprint(function(source, arms=3, threshold=0.5)) == alone


def test_only_the_used_attributes_of_a_module_count():
    module = types.ModuleType("mine")
    module.scale, module.threshold = 2.0, [0.1, 0.5]
    f = function("def f(p): return mine.scale * p.threshold", mine=module)
    first = fingerprint(f)
    module.threshold = "anything"
    assert fingerprint(f) == first
    module.scale = 3.0
    assert fingerprint(f) != first


def test_a_module_within_a_module_is_followed():
    outer, inner = types.ModuleType("outer"), types.ModuleType("inner")
    outer.inner, inner.scale = inner, 1
    f = function("def f(x): return outer.inner.scale * x", outer=outer)
    first = fingerprint(f)
    inner.scale = 2
    assert fingerprint(f) != first


def test_a_module_as_a_value_is_refused():
    f = function("def f(x):\n m = mine\n return m.scale", mine=types.ModuleType("mine"))
    with pytest.raises(TypeError, match="'mine', a module, as a value"):
        fingerprint(f)


def make(number):
    def helper(x):
        return x + number

    return helper


def test_helpers_of_one_name_are_told_apart():
    one, two = make(1), make(2)
    source = "def f(x): return a(x) + b(x) + c(x)"
    first = fingerprint(function(source, a=one, b=two, c=one))
    assert fingerprint(function(source, a=one, b=two, c=two)) != first


def test_the_order_of_a_tuples_names_counts():
    source = "def f(x): return v.a"
    first, second = (namedtuple("V", names)(1.0, 2.0) for names in (["a", "b"], ["b", "a"]))
    assert fingerprint(function(source, v=first)) != fingerprint(function(source, v=second))


def test_the_arguments_of_a_function_count():
    assert fingerprint(function("def f(a, b): return a")) != fingerprint(
        function("def f(a, *b): return a")
    )


def test_a_default_is_followed_to_its_last_digit():
    source = "def f(x, table=T): return table[0]"
    first = fingerprint(function(source, T=np.array([0.1])))
    assert fingerprint(function(source, T=np.array([np.nextafter(0.1, 1)]))) != first


def test_a_function_that_claims_to_be_keyholes_is_followed():
    def mine(source):
        f = function(source)
        return functools.wraps(keyhole.draws.streams.mix64.py_func)(f)

    assert fingerprint(mine("def f(x): return x")) != fingerprint(mine("def f(x): return -x"))


def test_a_variable_of_the_kernel_is_not_one_of_the_script():
    source = "def f(p):\n g = lambda i: i % p.arms\n return g(1)"
    assert fingerprint(function(source, p=object())) == fingerprint(function(source))


def test_many_globals_do_not_hide_an_attribute():
    lines = "".join(f" + c{i}" for i in range(300))
    scope = {f"c{i}": i for i in range(300)}
    module = types.ModuleType("mine")
    module.K = 1
    f = function(f"def f(x): return x{lines} + mine.K", mine=module, **scope)
    first = fingerprint(f)
    module.K = 2
    assert fingerprint(f) != first


def test_helpers_in_modules_are_compiled_as_they_are_now():
    module = types.ModuleType("mine")
    module.K = 1
    exec("def g(x): return x + K", vars(module))
    for compile_it in (lambda g: g, njit):
        module.h = compile_it(module.g)
        f = function("def f(x): return mine.h(x)", mine=module)
        module.K = 1
        assert compiled_copy(f)(1) == 2
        module.K = 5
        assert compiled_copy(f)(1) == 6


def test_arrays_with_gaps_are_copied_and_huge_ones_refused():
    assert compiled_copy(function("def f(i): return w[i]", w=np.arange(20.0)[::2]))(3) == 6.0
    with pytest.raises(TypeError, match="an array of more than 1,000,000 bytes"):
        fingerprint(function("def f(i): return w[i]", w=np.zeros(200_000)))


@pytest.mark.parametrize(
    ("source", "scope", "message"),
    [
        ("def f(x): return np.random.random()", {"np": np}, "draws from rng"),
        ("def f(x): return draw()", {"draw": random.random}, "a builtin_function_or_method"),
        ("def f(x): return c(x)", {"c": cfunc("float64(float64)")(lambda x: x)}, "a CFunc"),
    ],
)
def test_draws_and_functions_of_c_are_refused(source, scope, message):
    with pytest.raises(TypeError, match=message):
        fingerprint(function(source, **scope))


COUNT = 0


def misspelt(total):
    return totl + 1  # noqa: F821


def counting(total):
    global COUNT
    COUNT = total
    return total


def misspelt_function(total):
    return math.sqr(total)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (misspelt, r"misspelt uses 'totl', which is not defined \(did you mean 'total'\?\) .*line"),
        (
            counting,
            r"counting assigns the global variable 'COUNT': only the arrays .*line",
        ),
        (misspelt_function, r"uses 'math'.sqr, which math does not have \(did you mean 'sqrt'\?\)"),
    ],
)
def test_what_a_kernel_cannot_use_is_named_with_its_line(kernel, message):
    with pytest.raises(TypeError, match=message):
        fingerprint(kernel)
