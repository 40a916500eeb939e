import sys
from functools import cache, partial

import pytest
import typer.main

from keyhole.cli import main, run
from keyhole.experiment.forecast import measure_forecast

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
def spec(tmp_path):
    """Return the path of a small spec."""
    path = tmp_path / "spec.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def measured_shortly(monkeypatch):
    """Forecast by a twentieth of a second of play, not by a second."""
    monkeypatch.setattr(run, "measure_forecast", partial(measure_forecast, span=0.05))


# Each start of the command line builds all commands, which takes as long as what most of them do.
build_once = cache(typer.main.get_command)


@pytest.fixture
def keyhole(monkeypatch, capsys):
    """Return a function that runs the command line here: code, standard output, error."""
    monkeypatch.setattr(typer.main, "get_command", build_once)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["keyhole", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return call
