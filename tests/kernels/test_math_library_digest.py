"""The digest of the C library's elementary functions."""

import math

from keyhole.kernels.package_digest import math_library_digest


def test_the_digest_stands_for_the_values_of_the_functions(monkeypatch):
    here = math_library_digest()
    math_library_digest.cache_clear()
    assert math_library_digest() == here
    monkeypatch.setattr(math, "pow", lambda x, y: math.nextafter(x**y, 2.0))
    math_library_digest.cache_clear()
    assert math_library_digest() != here
    monkeypatch.undo()
    math_library_digest.cache_clear()
    assert math_library_digest() == here
