"""Results of which it is known what a claim about them must come to."""

import numpy as np

from keyhole import Curves
from keyhole.papers.claims import Result

RUNS = 400


def result(means, *, spread=0.5, checkpoints=(10, 20), arms=10, runs=RUNS, seed=0):
    """Return results whose means are given: `means[policy]` lists one for each checkpoint.

    Every policy shares the noise of its replication, with a little of its own: differences are
    sharp where means differ by much more than spread / sqrt(runs).
    """
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(len(checkpoints), runs))
    values = {}
    for policy, levels in means.items():
        own = rng.normal(size=(len(checkpoints), runs))
        noise = common + spread * (own - own.mean(axis=1, keepdims=True))
        noise -= noise.mean(axis=1, keepdims=True)
        values[policy] = (np.array(levels)[:, None] + 0.1 * noise)[:, None, :]
    return Result("Made up", arms, Curves(checkpoints, ["aggregate_regret"], values))


COMMON = {
    "text": "so it is",
    "source": "nowhere.",
    "origin": "ours",
    "problem": "made-up",
}
