"""A page of every kind, with results that cost little to simulate."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import keyhole.papers.reproduction
from keyhole import interpreted
from keyhole.benchmark import bench
from keyhole.benchmark.report import write_benchmark_page
from keyhole.experiment import Spec, run
from keyhole.experiment.report import write_report
from keyhole.papers import ENTRY_FILES, Entry, demo, reproduce_all
from keyhole.stochastic import KLUCB
from keyhole.study import Study
from keyhole.tune import SavedTune, Tuner, load_tune
from keyhole.tune import Spec as TuneSpec
from keyhole.tune.report import write_report as write_tune_report
from tests.study.studies import Clock
from tests.tune.conftest import TABLE, Simulated
from tests.tune.spaces import SPACE
from tests.tune.test_pair_estimates import simulate_runs
from tests.tune.trial_records import record

RUN = """
name = "labels"
seed = 1
replications = 12
horizon = 60
checkpoints = { count = 6 }
[problem]
setting = "thresholding"
means = [0.2, 0.3, 0.4, 0.6, 0.7, 0.8]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "APT"
epsilon = 0.05
[[policy]]
name = "APT"
[[policy]]
name = "RoundRobin"
"""
SWEEP = """
[sweep]
"policy.alpha" = [0.5, 1.0, 2.0]
"problem.threshold" = [0.35, 0.65]
"""
ENTRY, ENTRY_OF_PROBLEMS = "tao2019-setup1", "tao2019-simple-regret"
# Replications. Set-up 1 has as many as users see, since words depend on its verdicts.
FEW = {ENTRY: 1000, ENTRY_OF_PROBLEMS: 50, "tao2019-lemma-19": 100}
FEW_IN_DEMO = {"crowd-labels": 50}


def make_run(folder, more=""):
    with interpreted():
        run(Spec.from_text(RUN + more), folder, command="keyhole run labels.toml", threads=1)
    return write_report(folder)


def make_tune(folder):
    runs = simulate_runs(np.random.default_rng(9), (0.05, 1.0), 118, [0.01, 0.1, 1.0])
    runs.append(record("failed", 0.5, 1.0, "slow", reason="<b>no</b>", output="x"))
    runs.append(record("expired", 0.5, 1.0, "slow", reason="the machine was asleep meanwhile"))
    folder.mkdir()
    return write_tune_report(SavedTune(folder, TuneSpec.from_table(TABLE), runs))


def make_space(folder):
    tuner = Tuner(TuneSpec.from_table(SPACE), folder, executors=Simulated)
    tuner.run(runs=60)
    tuner.validate(["x", "y", "z"])
    return write_tune_report(load_tune(folder))


def make_study(folder):
    """Return the page of a study with late feedback, and with a name that is like HTML."""
    folder.mkdir()
    clock = Clock()
    arms = ["red", "blue", "<b>", "a long name of an arm, of which there may be one"]
    options = {"timeout": "2h", "on_timeout": "no_reward", "clock": clock}
    with interpreted(), Study.create(folder / "s.db", "<i>shop", KLUCB(), arms, **options) as study:
        for step in range(120):
            clock.now += 60.0
            decision = study.ask()
            if step % 7:
                study.tell(decision, step % (2 + arms.index(decision.arm)) == 0)
        return study.write_report(folder / "page.html")


def make_demo(folder):
    with few_replications("paper", FEW_IN_DEMO):
        return demo(folder, threads=1).report


def make_index(folder):
    """Return the index of few entries; their own pages are in `entries`."""
    with few_replications("quick", FEW) as patch:
        few = {name: ENTRY_FILES[name] for name in FEW}
        patch.setattr(keyhole.papers.reproduction, "ENTRY_FILES", few)
        return reproduce_all(out=folder, threads=1).index


def make_benchmark(folder):
    with interpreted():
        content = bench(
            "thresholding",
            problems=["tao-1", "fifty-uniform", "fifteen"],
            policies=["LSA", "RoundRobin", "UCBE"],
            out=folder,
            threads=1,
        )
    return write_benchmark_page(folder, content)


@contextmanager
def few_replications(scale, replications):
    load = Entry.load

    def load_small(name):
        entry = load(name)
        if name not in replications:
            return entry
        few = entry.scales[scale].model_copy(update={"replications": replications[name]})
        return entry.model_copy(update={"scales": {**entry.scales, scale: few}})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "load", load_small)
        yield patch


MAKERS = {
    "run": make_run,
    "sweep": partial(make_run, more=SWEEP),
    "tune": make_tune,
    "space": make_space,
    "study": make_study,
    "demo": make_demo,
    "index": make_index,
    "benchmark": make_benchmark,
}
OF_INDEX = {"entry": ENTRY, "entry of problems": ENTRY_OF_PROBLEMS}
KINDS = (*MAKERS, *OF_INDEX)
each_kind = pytest.mark.parametrize("kind", KINDS)

WIDE, PHONE = 1300, 390
each_width = pytest.mark.parametrize("width", [WIDE, PHONE])
OPEN = "for (const part of document.querySelectorAll('details')) part.open = true"
MEASURES = Path(__file__).with_name("measures.js").read_text()


class ExamplePages:
    """Pages in a folder, each made when it is first asked for."""

    def __init__(self, folder):
        self._folder, self._made = folder, {}

    def __getitem__(self, kind):
        if kind in OF_INDEX:
            return self["index"].parent / "entries" / OF_INDEX[kind] / "report.html"
        if kind not in self._made:
            self._made[kind] = MAKERS[kind](self._folder / kind)
        return self._made[kind]


def measure(page):
    """Return the measures of a page in a browser."""
    return page.evaluate(MEASURES)
