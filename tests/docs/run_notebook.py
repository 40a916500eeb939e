"""Run the code cells of a notebook in order.

    python run_notebook.py FILE.ipynb

Each cell is a file, so that tools that read source code find it, as they do in a notebook.
"""

import json
import sys
import tempfile
from pathlib import Path


def run(file: str) -> None:
    """Run the cells in the main module."""
    names = sys.modules["__main__"].__dict__
    cells = json.loads(Path(file).read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder:
        for number, source in enumerate(sources):
            path = Path(folder, f"cell_{number}.py")
            path.write_text(source)
            exec(compile(source, str(path), "exec"), names)


if __name__ == "__main__":
    run(*sys.argv[1:])
