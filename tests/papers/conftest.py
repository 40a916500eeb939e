import pytest

from keyhole.papers import Entry

TINY = """
title = "A tiny entry"
source = "tests, section 1"
about = "Two problems & two policies."
metrics = ["aggregate_regret", "gold_agreement"]
tests = true
ratio_to = "Uniform"

[scales.quick]
replications = 40
checkpoints = 2

[scales.paper]
replications = 80
checkpoints = 2

[problems.easy]
title = "Easy"
note = "Far from the threshold."
horizon = 60
problem = { setting = "thresholding", means = [0.1, 0.9], threshold = 0.5 }

[problems.hard]
title = "Hard"
horizon = 60
problem = { setting = "thresholding", means = [0.1, 0.45, 0.9], threshold = 0.5 }

[[policies]]
name = "LSA"
label = "LSA"

[[policies]]
name = "Uniform"
label = "Uniform"

[[overviews]]
title = "Wrong labels against the number of arms"
x_label = "arms"
x = { hard = 3.0, easy = 2.0 }

[[printed]]
source = "tests, Table 1."
values = { easy = { Uniform = 0.5 }, hard = { LSA = 0.25, Uniform = 1.0 } }

[[claims]]
kind = "exactly"
problems = ["easy", "hard"]
text = "No label is ever wrong."
origin = "ours"
source = "tests."
value = 0.0

[[claims]]
kind = "across"
text = "An arm near the threshold makes the problem hard."
origin = "ours"
source = "tests."
policy = "Uniform"
cells = [{ problem = "easy" }, { problem = "hard" }]
"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Return a small entry; its first claim holds for one problem and not for the other."""
    folder = tmp_path_factory.mktemp("entries")
    (folder / "tiny.toml").write_text(TINY)
    return Entry.from_file(folder, "tiny.toml", "tiny")


@pytest.fixture
def load(monkeypatch, tiny):
    """Make every entry the small one."""
    monkeypatch.setattr(Entry, "load", lambda name: tiny)
