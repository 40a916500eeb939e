"""Public Numba gives the same results, in a separate process."""

import json
import os
import subprocess
import sys

import pytest

from keyhole.kernels import kernel_declaration

PLAY = """
import math
from keyhole import simulate
from keyhole.kernels.cache_files import cached_files
from keyhole.policy import (
    argmin,
    argmin_fill,
    argmin_tree_array,
    argmin_update,
    betas,
    float_array,
    scratch_array,
)
from keyhole.stochastic import Policy, Problem, ThompsonSampling, Uniform
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import LSA
from keyhole.thresholding import Problem as ThresholdingProblem

class Everything(Policy):  # uses all that is written for the internals of Numba
    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        up = scratch_array("arms")
        down = scratch_array("arms")
        drawn = scratch_array("arms")
        index = argmin_tree_array("arms")

    def init(p, s):
        argmin_fill(s.index, p.arms, -math.inf)

    def select(p, s):
        return argmin(s.index, p.arms)

    def update(p, s, rng, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        for i in range(p.arms):
            s.up[i] = 1.0 + s.totals[i]
            s.down[i] = 1.0 + s.pulls[i] - s.totals[i]
        betas(rng, s.up, s.down, p.arms, s.drawn)
        argmin_update(s.index, p.arms, arm, math.lgamma(s.pulls[arm]) - s.drawn[arm])

def regret_of(policy, problem, metric):
    curves = simulate(problem, {"it": policy}, horizon=60, replications=50, seed=1)
    return curves.values("it", metric).tolist()

def decided(learner, **asked_with):
    asked = []
    for n in range(60):
        asked.append(str(learner.ask(**asked_with)))
        learner.tell(n % 2)
    return asked, learner._words.tolist()

def played(how):
    if how == "all at once":
        yield decided(Everything().learner(arms=21, seed=1))
        return
    yield regret_of(Uniform(), Problem(means=[0.2, 0.45, 0.7]), "regret")
    problem = ThresholdingProblem(means=[0.2, 0.45, 0.7], threshold=0.5)
    yield regret_of(LSA(), problem, "aggregate_regret")
    yield decided(LSA().learner(arms=40, threshold=0.5, seed=1))
    yield decided(ThompsonSampling().learner(arms=6, seed=1))
    censored = KaplanMeierUCB().learner(arms=3, levels=4, feedback="censored", horizon=60)
    yield decided(censored, threshold=2)
"""

DRAW = """
import numpy as np
from keyhole.draws.argmin_tree import argmin, argmin_fill, argmin_update, argmin_size
from keyhole.draws.beta_batch import betas
from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.cache_files import cached_files
from keyhole.kernels.fingerprint import fingerprint

def draw(values, words):
    betas(words, values[:21], values[21:42], 21, values[42:])
    return 1

def played(how):
    signature = "int64(float64[::1], uint64[::1])"
    code = compile_cached("draw", fingerprint(draw), lambda: draw, signature)
    values = np.linspace(0.2, 3.0, 63)
    code(values, stream(3, 1, ENVIRONMENT))
    yield values.tolist()

if __name__ == "__main__":
    for candidates in (10, 300):
        keys, plain = np.empty(argmin_size(candidates)), np.full(candidates, 9.0)
        argmin_fill(keys, candidates, 9.0)
        for i in range(500):
            plain[i * 7 % candidates] = i * 31 % 8
            argmin_update(keys, candidates, i * 7 % candidates, float(i * 31 % 8))
            assert argmin(keys, candidates) == plain.argmin()
"""

IMPORTED = """
import sys
assert not [name for name in sys.modules if "numba_internals" in name]
"""


# All that a policy plays takes ten seconds to compile, and nothing is kept.
@pytest.mark.skipif(not kernel_declaration.has_internals(), reason="KEYHOLE_PLAIN_NUMBA is set")
@pytest.mark.parametrize(
    ("script", "how"),
    [
        pytest.param(DRAW, "", id="one kernel"),
        pytest.param(PLAY, "all at once", id="a policy", marks=pytest.mark.slow),
        pytest.param(PLAY, "simulations and policies", id="many", marks=pytest.mark.slow),
    ],
)
def test_public_numba_gives_the_same_bits_and_caches_nothing(tmp_path, script, how):
    scope = {"__name__": "test_plain_numba"}
    exec(script, scope)
    printed = f"import json; print(json.dumps([[*played({how!r})], cached_files()]))"
    done = subprocess.run(
        [sys.executable, "-c", script + IMPORTED + printed],
        env=os.environ | {"KEYHOLE_PLAIN_NUMBA": "1", "KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    plain, kept = json.loads(done.stdout)
    assert kept == []
    assert plain == json.loads(json.dumps([*scope["played"](how)]))
    assert "(once, in every process)" in done.stderr
