import json
from functools import cache

import pytest

from keyhole.experiment import spec
from keyhole.experiment.objects_from_spec import make_problem
from keyhole.pages import figure_files
from keyhole.papers import Entry, reproduce
from tests.conftest import draw_only_svg

TINY = """
title = "A tiny entry"
source = "tests, section 1"
about = "Two problems & two policies."
metrics = ["aggregate_regret", "gold_agreement"]
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
name = "RoundRobin"
label = "Uniform"

[[parameter_figures]]
title = "Wrong labels against the number of arms"
x_label = "arms"
x = { hard = 3.0, easy = 2.0 }

[[published]]
source = "tests, Table 1."
values = { easy = { Uniform = 0.5 }, hard = { LSA = 0.25, Uniform = 1.0 } }

[[claims]]
kind = "estimate"
of = "value"
problems = ["easy", "hard"]
text = "No label is ever wrong."
origin = "ours"
source = "tests."
value = 0.0

[[claims]]
kind = "trend"
text = "An arm near the threshold makes the problem hard."
origin = "ours"
source = "tests."
policy = "Uniform"
cells = [{ problem = "easy" }, { problem = "hard" }]
"""


entry_of = cache(Entry.load)
"""Return a shipped entry, whatever a test makes of `Entry.load`; its file is read once."""


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


@pytest.fixture(scope="session")
def reproduced(tiny, tmp_path_factory):
    """Return a reproduction of the small entry; its folder is not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "load", lambda name: tiny)
        draw_only_svg(patch)
        return reproduce("tiny", out=tmp_path_factory.mktemp("tiny") / "out", threads=1)


@pytest.fixture
def problems_made_once(monkeypatch):
    """Have specs that describe the same problem share it: of some it takes a second to make."""
    monkeypatch.setattr(spec, "make_problem", make_once)


def make_once(table, folder=None):
    names_a_file = any(isinstance(value, str) and "." in value for value in table.values())
    return _made(json.dumps(table), folder if names_a_file else None)


@cache
def _made(table, folder):
    return make_problem(json.loads(table), folder)


PLAIN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" role="img"><text>plain</text></svg>'
)


@pytest.fixture
def plain_figures(monkeypatch):
    """Draw nothing into figures: where they are not the point, they take most of the time."""
    draw_nothing(monkeypatch)


def draw_nothing(patch):
    patch.setattr(figure_files, "write_figure", write_plain)


def write_plain(figure, path, *, title, caption):
    files = [path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png", "pdf")]
    for file in files:
        file.write_text(PLAIN)
    return files
