"""Loading of a Sphinx extension of the documentation, whose folder is on no path."""

import importlib.util
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "_extensions"


def load_extension(name):
    """Return the module of an extension."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
