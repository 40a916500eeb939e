import random
from dataclasses import dataclass

import pytest

from keyhole.tune import Spec


@dataclass
class Run:
    """The result of a run, as `keyhole.runner.CommandResult`."""

    outcome: str = "ok"
    seconds: float = 0.1
    cpu: float = 0.0
    memory: int = 2**20
    code: int | None = 0
    signal: int | None = None
    output: bytes = b""
    reason: str = ""
    slept: bool = False


class Simulated:
    """Executor that simulates: the command `sim MEAN INSTANCE SEED` has a random time."""

    def __init__(self, changed=None):
        self.commands, self.closed = [], False
        self._changed = changed or (lambda number, run: run)

    def run(self, command, limit, **options):
        self.commands.append((command, limit, options))
        _, mean, *rest = command
        seconds = random.Random(" ".join(rest)).expovariate(1.0 / float(mean))
        run = Run(seconds=seconds)
        if seconds > limit:
            run = Run("out of time", limit, code=None, signal=9)
        return self._changed(len(self.commands), run)

    def close(self):
        self.closed = True


TABLE = {
    "name": "two",
    "arm": [
        {"name": "quick", "command": "true 0.05 {instance} {seed}"},
        {"name": "slow", "command": "true 1 {instance} {seed}"},
    ],
    "instances": ["a", "b", "c"],
    "limits": [0.01, 0.1, 1],
}


@pytest.fixture
def spec():
    """Return a spec of two arms that take 0.05 and 1 second on average."""
    return Spec.from_table(TABLE)
