"""Public Numba alone gives the same results: one policy each of some settings, in a process."""

import json
import os
import subprocess
import sys

import pytest

from keyhole.kernels import jit

PLAY = """
from keyhole import simulate
from keyhole.kernels.cache import cached_files
from keyhole.stochastic import ThompsonSampling
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import LSA, Problem

def played():
    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    curves = simulate(problem, [LSA()], horizon=60, replications=50, seed=1)
    yield curves.values(curves.labels[0], "aggregate_regret").tolist()
    lsa = LSA().learner(arms=40, threshold=0.5, seed=1)
    thompson = ThompsonSampling().learner(arms=6, seed=1)
    censored = KaplanMeierUCB().learner(arms=3, levels=4, feedback="censored", horizon=60)
    for learner, asked_with in ((lsa, {}), (thompson, {}), (censored, {'threshold': 2})):
        asked = []
        for n in range(60):
            asked.append(str(learner.ask(**asked_with)))
            learner.tell(n % 2)
        yield asked, learner._words.tolist()
"""

IMPORTED = """
import sys
assert not [name for name in sys.modules if "numba_internals" in name or "first_pass" in name]
"""


@pytest.mark.skipif(jit.internals is None, reason="KEYHOLE_PLAIN_NUMBA is set")
def test_public_numba_plays_the_same_to_the_bit_and_keeps_nothing(tmp_path):
    scope = {}
    exec(PLAY, scope)
    script = f"{PLAY}{IMPORTED}\nimport json; print(json.dumps([[*played()], cached_files()]))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"KEYHOLE_PLAIN_NUMBA": "1", "KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    plain, kept = json.loads(done.stdout)
    assert kept == []
    assert plain == json.loads(json.dumps([*scope["played"]()]))
    assert "(once, in every process)" in done.stderr
