"""What needs a package that is optional says how to get it, in one form."""

import sys
import tomllib
from importlib import import_module, reload
from pathlib import Path

import numpy as np
import pytest

import keyhole
from keyhole import Curves
from keyhole.clusters import connect
from keyhole.extras import EXTRAS
from keyhole.study import Study

CURVES = Curves([10], ["regret"], {"A": np.array([[[0.0, 1.0]]])})
NEEDED = {
    "dask": lambda: connect("dask=tcp://127.0.0.1:1"),
    "forests": keyhole.data.ForestTraining,
    "gymnasium": lambda: reload(import_module("keyhole.gymnasium_environment")),
    "pandas": CURVES.to_pandas,
    "postgres": lambda: Study.open("postgresql://127.0.0.1:1/x", "mine"),
    "ray": lambda: connect("ray"),
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
    for extra, packages in project["optional-dependencies"].items():
        names = {package.partition(">=")[0].partition("[")[0] for package in packages}
        assert EXTRAS[extra].package in names
    assert EXTRAS.keys() == project["optional-dependencies"].keys()
