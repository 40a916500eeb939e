"""Use of Numba's internals: in one package only, with a fallback where they differ."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole
from keyhole.kernels import kernel_declaration

ROOT = Path(keyhole.__file__).parent
HERE = ROOT / "kernels" / "numba_internals"
PUBLIC = {"numba", "numba.extending"}


def imported(path):
    """Yield the modules and names that a file imports of Numba and what is below it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((name.name, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)


def test_no_other_file_uses_internals_of_numba():
    files = [path for path in ROOT.rglob("*.py") if HERE not in path.parents]
    assert len(files) > 300
    for path in files:
        text = path.read_text()
        assert "_nrt" not in text, path
        assert (
            "numba_internals" not in text or path == ROOT / "kernels" / "kernel_declaration.py"
        ), path
        if "numba" in text or "llvmlite" in text:
            for module, name in imported(path):
                if module.split(".")[0] in ("numba", "llvmlite"):
                    assert module in PUBLIC, (path, module)
                    assert not name.startswith("_"), (path, name)


def test_the_installed_numba_has_the_known_internals():
    if not kernel_declaration.has_internals():
        pytest.skip("KEYHOLE_PLAIN_NUMBA is set")
    kernel_declaration.import_internals().check_internals()


def has_internals_of(version, monkeypatch):
    """Tell whether a version of Numba, which is not loaded yet, is used whole."""
    monkeypatch.setattr(kernel_declaration, "version", lambda package: version)
    return kernel_declaration.has_internals.__wrapped__()


@pytest.mark.parametrize("version", ["0.69.0", "1.0.0rc1"])
def test_internals_of_a_newer_numba_are_used_if_the_check_passes(monkeypatch, version):
    checked = []
    internals = pytest.importorskip("keyhole.kernels.numba_internals.internals_api")
    monkeypatch.delenv("KEYHOLE_PLAIN_NUMBA", raising=False)
    monkeypatch.setattr(internals, "check_internals", lambda: checked.append(1))
    assert has_internals_of(version, monkeypatch)
    assert checked == [1]


def test_public_numba_is_used_with_one_warning_where_internals_differ(monkeypatch):
    internals = pytest.importorskip("keyhole.kernels.numba_internals.internals_api")

    def moved():
        raise AttributeError("module 'numba' has no attribute 'core'")

    monkeypatch.delenv("KEYHOLE_PLAIN_NUMBA", raising=False)
    monkeypatch.setattr(internals, "check_internals", moved)
    with pytest.warns(RuntimeWarning) as said:
        assert not has_internals_of("0.70.1", monkeypatch)
    (warning,) = said
    assert str(warning.message).startswith(
        "the internals of Numba 0.70.1 differ from those that keyhole knows (AttributeError: "
        "module 'numba' has no attribute 'core'): results are the same, but kernels are slower"
    )
    monkeypatch.setenv("KEYHOLE_PLAIN_NUMBA", "1")
    assert not has_internals_of("0.70.1", monkeypatch)


HIDDEN = """
import importlib.metadata, sys, warnings

class Hidden:
    "Finds nothing of Numba's insides, for those who look for it now."
    def find_spec(self, name, path=None, target=None):
        if name.startswith("keyhole.kernels.numba_internals.internals_api"):
            raise ImportError("cannot import name 'CompilerBase' from 'numba.core.compiler'")

sys.meta_path.insert(0, Hidden())
importlib.metadata.version = lambda package: "0.70.1"
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import keyhole.thresholding, keyhole.policy, keyhole.study, keyhole.experiment
(warning,) = [one for one in said if "Numba" in str(one.message)]
print(warning.message)
"""


def test_keyhole_can_be_imported_without_the_internals():
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True
    )
    assert "the internals of Numba 0.70.1 differ from those" in done.stdout
    assert "cannot import name 'CompilerBase'" in done.stdout
