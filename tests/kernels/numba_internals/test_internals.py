"""Use of Numba's internals: in one package only."""

import ast
from pathlib import Path

import keyhole

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
        assert "numba_internals" not in text or path == ROOT / "kernels" / "kernel_decorators.py", (
            path
        )
        if "numba" in text or "llvmlite" in text:
            for module, name in imported(path):
                if module.split(".")[0] in ("numba", "llvmlite"):
                    assert module in PUBLIC, (path, module)
                    assert not name.startswith("_"), (path, name)
