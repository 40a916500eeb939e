"""Synthetic results with known means, for tests of claims."""

import re
from pathlib import Path

import numpy as np

from keyhole import Curves, Metric, papers
from keyhole.papers.claims import Result
from keyhole.papers.claims.kinds import read_claims
from keyhole.thresholding import Problem

RUNS = 400
TEN_ARMS = Problem(means=[0.2] * 5 + [0.9] * 5, threshold=0.5)


def result(
    means,
    *,
    spread=0.5,
    checkpoints=(10, 20),
    runs=RUNS,
    seed=0,
    own=0,
    title="Made up",
    better="lower",
):
    """Return results whose means are given: `means[policy]` lists one for each checkpoint.

    Every policy shares the noise of its replication, of standard deviation 0.1, with a little of
    its own: differences are sharp where means differ by much more than 0.1 x spread / sqrt(runs).
    Results that differ in `own` alone are those of several problems over common random numbers.
    """
    size = len(checkpoints), runs
    common = np.random.default_rng(seed).normal(size=size)
    rng = np.random.default_rng([seed, own + 1])
    values = {}
    for policy, levels in means.items():
        noise = common + spread * rng.normal(size=size)
        noise -= noise.mean(axis=1, keepdims=True)
        values[policy] = (np.array(levels)[:, None] + 0.1 * noise)[:, None, :]
    metric = Metric("aggregate_regret", better=better, drawn="from 0")
    return Result(title, TEN_ARMS, Curves(checkpoints, [metric], values))


def results(levels, **more):
    """Return results of the policy "us" on several problems: `levels[key]` is its mean there."""
    return {
        key: result({"us": [level, level]}, title=key.upper(), own=i, **more)
        for i, (key, level) in enumerate(levels.items())
    }


def judge(claim, found):
    """Return what a claim about one problem comes to."""
    return claim.judge({claim.problem: found})


WORDS = {
    "text": "so it is",
    "source": "nowhere.",
    "origin": "ours",
    "metric": "aggregate_regret",
}
COMMON = WORDS | {"problem": "made-up"}
BY = {
    by.rpartition(":")[2]: by
    for path in Path(papers.__file__).parent.rglob("*.toml")
    for by in re.findall('^by = "(.*)"$', path.read_text(), re.MULTILINE)
}
"""The functions that computed claims of shipped entries name."""


def kind_fields(kind):
    """Return the fields that say how a claim is judged, of a kind as verdicts state it."""
    word, _, name = kind.partition(": ")
    more = {"estimate": {"of": name}, "computed": {"by": BY.get(name)}}
    return {"kind": word} | more.get(word, {})


def make_claim(table):
    """Return the claim that a table gives, as an entry's file would."""
    ((_, claim),) = read_claims([table], WORDS["metric"], "ours", "made-up")
    return claim
