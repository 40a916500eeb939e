"""What the last bit of a result depends on."""

import math

from keyhole.kernels.arithmetic import arithmetic_digest


def test_the_digest_stands_for_the_values_of_the_functions(monkeypatch):
    here = arithmetic_digest()
    arithmetic_digest.cache_clear()
    assert arithmetic_digest() == here
    monkeypatch.setattr(math, "pow", lambda x, y: math.nextafter(x**y, 2.0))
    arithmetic_digest.cache_clear()
    assert arithmetic_digest() != here
    monkeypatch.undo()
    arithmetic_digest.cache_clear()
    assert arithmetic_digest() == here
