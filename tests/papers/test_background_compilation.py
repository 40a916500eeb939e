import subprocess
import sys
import time

import pytest

from keyhole.papers import Entry
from keyhole.papers.reproduction import background_compilation, compile_back_to_front


def test_the_second_process_fills_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    entry = Entry.load("tao2019-simple-regret").with_problems("setup1")
    with background_compilation([entry]):
        for _ in range(6000):  # as long as a busy machine takes to start a process
            if any(tmp_path.iterdir()):
                break
            time.sleep(0.1)
    assert any(tmp_path.iterdir())


def test_the_second_process_ends_with_the_block(monkeypatch):
    children = []

    class Recorded(subprocess.Popen):
        def __init__(self, words, **kwargs):
            super().__init__([sys.executable, "-c", "import time; time.sleep(60)"], **kwargs)
            children.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with pytest.raises(KeyboardInterrupt), background_compilation([]):
        raise KeyboardInterrupt
    assert children[0].returncode is not None


def test_a_second_process_that_cannot_start_is_ignored(monkeypatch):
    def failing(*args, **kwargs):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", failing)
    with background_compilation([]):
        pass


def test_the_second_process_compiles_every_policy_of_every_problem(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        "keyhole.experiment.compile_jobs.compiled_engine",
        lambda setting, policy, environment: compiled.append(
            (policy.owner.__name__, environment.owner)
        ),
    )
    compile_back_to_front(["tao2019-setup1:setup1", "crowd-labels:bluebirds"])
    assert len({name for name, _ in compiled}) == 5
    assert compiled[0][1].__name__ == "FiniteSampleGoldEnvironment"
    assert compiled[-1] == ("LSA", compiled[-1][1])
