import pytest

from keyhole.experiment import Spec, run
from keyhole.play.simulation_job import SimulationJob

TEXT = """
name = "small"
seed = 4
replications = 40
horizon = 60
checkpoints = [20, 60]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
label = "ours"
[[policy]]
name = "RoundRobin"
"""


@pytest.fixture
def text():
    return TEXT


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return the folder of a finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(Spec.from_text(TEXT), folder, command="keyhole run small.toml")
    return folder


@pytest.fixture
def small_blocks(monkeypatch):
    """Have blocks of eight replications, however long they take."""

    def take(self, seconds, threads=1):
        first, *others = self.remaining
        self.remaining = [gap for gap in (first[8:], *others) if gap]
        return first[:8]

    monkeypatch.setattr(SimulationJob, "take_next_block", take)
