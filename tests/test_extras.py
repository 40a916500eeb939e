"""What needs a package that is optional says how to get it, in one form."""

import subprocess
import sys
import tomllib
from importlib import import_module, reload
from pathlib import Path

import numpy as np
import pytest

import keyhole
from keyhole import Curves
from keyhole.cli import serve
from keyhole.clusters import connect
from keyhole.extras import EXTRAS
from keyhole.study import Study

SPEC = Path(__file__).parent / "saved" / "run" / "spec.toml"
CURVES = Curves([10], ["regret"], {"A": np.array([[[0.0, 1.0]]]), "B": np.array([[[1.0, 3.0]]])})
NEEDED = {
    "dask": lambda: connect("dask=tcp://127.0.0.1:1"),
    "files": CURVES.to_arrow,
    "forests": keyhole.data.ForestTrainer,
    "gymnasium": lambda: reload(import_module("keyhole.gymnasium_environment")),
    "pandas": CURVES.to_pandas,
    "plots": CURVES.plot,
    "postgres": lambda: Study.open("postgresql://127.0.0.1:1/x", "mine"),
    "ray": lambda: connect("ray"),
    "scipy": lambda: CURVES.paired("A", "B", metric="regret", round=10),
    "serve": lambda: serve.serve(None, "items.db"),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_not_installed_is_named_with_its_extra(extra, monkeypatch):
    module, package = EXTRAS[extra]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=rf" needs {package}: pip install 'keyhole\[{extra}\]'( \(.*\))?$"
    ):
        NEEDED[extra]()


def test_every_extra_of_the_package_is_known():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    everything = project["optional-dependencies"].pop("all")
    assert everything == [f"keyhole[{','.join(EXTRAS)}]"]
    for extra, packages in project["optional-dependencies"].items():
        names = {package.partition(">=")[0].partition("[")[0] for package in packages}
        assert EXTRAS[extra].package in names
    assert EXTRAS.keys() == project["optional-dependencies"].keys()
    packages = project["optional-dependencies"]
    assert {*packages["plots"]} < {*packages["serve"]}  # its pages have charts


# What `pip install keyhole` leaves out. A module that is None cannot be imported.
SMALL = """
import sys
sys.modules.update(dict.fromkeys(["matplotlib", "pandas", "pyarrow", "scipy"]))
"""
CORE = """
import importlib, pathlib, tempfile
import keyhole
import numpy as np
for name in keyhole.__all__:
    if name != "load_run":
        getattr(keyhole, name)
for name in ["cli.app", "cli.new", "cli.setting_catalog", "cli.compilation", "confidence_sequences",
             "distributions", "resource.plots", "runner", "semibandit.bounds", "study.log_export"]:
    importlib.import_module(f"keyhole.{name}")
from keyhole import simulate
from keyhole.study import Study
from keyhole.thresholding import LSA, Problem, RoundRobin
with keyhole.interpreted():
    problem = Problem([0.2, 0.8], threshold=0.5)
    curves = simulate(problem, [LSA(), RoundRobin()], horizon=9, replications=3)
    print(curves)
    assert "<svg" not in curves._repr_html_() and "<img" not in curves._repr_html_()
    learner = LSA().learner(arms=3, threshold=0.5)
    learner.ask()
    learner.tell(1)
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(f"{folder}/items.db", "labels", LSA(), ["cat", "dog"], threshold=0.5)
        study.tell(study.ask().id, True)
        print(study)
        study._repr_html_()
        try:
            study.write_report(f"{folder}/page.html")
        except ImportError as error:
            assert "keyhole[plots]" in str(error)
        else:
            raise AssertionError("a page with charts needs Matplotlib")
        study.export(f"{folder}/log.jsonl")
        Study.restore(f"{folder}/again.db", f"{folder}/log.jsonl")
import keyhole.tune.pair_estimates
"""


COMMANDS = """
from keyhole.cli import main
for words in {commands}:
    sys.argv = ["keyhole", *words]
    try:
        main()
    except SystemExit as end:
        print(end.code, file=sys.stderr)
"""
NEEDS = [
    (["run", "x.toml", "--out", "x"], "there is no file x.toml"),
    (["run", str(SPEC)], "--out must be given: a folder for the results"),
    (
        ["run", str(SPEC), "--dry-run"],
        "keyhole run needs pyarrow, matplotlib, scipy: pip install 'keyhole[files,plots,scipy]'",
    ),
    (["tune", "report", "x"], "keyhole tune report needs matplotlib: pip install 'keyhole[plots]'"),
]


def test_the_core_needs_no_extra_and_commands_name_what_they_need_and_exit_with_2():
    program = SMALL + CORE + COMMANDS.format(commands=[words for words, _ in NEEDS])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "± half of its 95 % interval" in done.stdout
    assert done.stderr == "".join(f"keyhole: {said}\n2\n" for _, said in NEEDS)
