"""The work of experiments: rounds and expected times."""

import os
from pathlib import Path

import pytest

from keyhole.experiment import Spec
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache

TEXT = """
name = "small"
replications = 40
horizon = 100
[problem]
setting = "thresholding"
means = [0.2, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "PooledKG"
[[policy]]
name = "LSA"
alpha = 2.0
"""


def test_each_policy_is_a_work_with_its_rounds_and_its_time(monkeypatch):
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")  # nothing is compiled
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    spec = Spec.from_text(TEXT)
    one, other, again = list_work({"here": spec}, ResultCache(Path(), [spec]), 2)
    assert (one.location, one.label, one.rounds) == ("here", "LSA(alpha=1.35)", 4000)
    assert again.seconds == one.seconds
    assert other.seconds > 5 * one.seconds > 0.0
    (all_threads, *_) = list_work({"here": spec}, ResultCache(Path(), [spec]), None)
    assert all_threads.seconds == pytest.approx(one.seconds / 2)


def test_code_that_is_missing_is_compiled_once(monkeypatch, tmp_path):
    monkeypatch.delenv("KEYHOLE_INTERPRET", raising=False)
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    spec = Spec.from_text(TEXT)
    one, other, again = list_work({"here": spec}, ResultCache(Path(), [spec]), 2)
    assert one.seconds > 1.0 < other.seconds
    assert again.seconds < 0.1  # the code of the first, with another parameter
