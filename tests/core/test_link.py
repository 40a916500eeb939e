import math
import types

import numpy as np
import pytest
from numba import njit

from keyhole.core.link import fingerprint, link


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


def test_what_cannot_be_followed_is_refused():
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
    assert link(scope["f"])(2) == 20


def test_plain_helpers_need_no_decorator():
    f = function("def g(x): return h(x) + 1\ndef h(x): return 2 * x\ndef f(x): return g(x)")
    assert link(f)(3) == 7


def test_attributes_are_not_taken_for_globals_of_the_same_name():
    source = "def f(p, s): return s.arms + p.threshold"
    alone = fingerprint(function(source))
    assert fingerprint(function(source, arms=["red", "blue"], threshold=[0.1, 0.5])) == alone
    assert fingerprint(function(source, arms=3, threshold=0.5)) == alone


def test_only_what_is_used_of_a_module_counts():
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
