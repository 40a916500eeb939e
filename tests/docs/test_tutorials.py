"""Tutorials and exercises have their parts, and can be run as notebooks."""

import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from tests.docs.loaded_extension import load_extension

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs/tutorials").rglob("*.py"))
EXERCISES = sorted((ROOT / "docs/exercises").glob("*.py"))
GALLERY = sorted((ROOT / "docs/gallery").rglob("*.py"))
# Its code is read back from the cell.
WITH_A_POLICY = ROOT / "docs/tutorials/tasks/1_is_my_formula_any_good.py"


@pytest.fixture(scope="module")
def extension():
    return load_extension("page_claims")


def blocks(path):
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    return split_code_and_text_blocks(str(path))[1]


def write_notebook(path, folder):
    """Write the notebook of a script, as the documentation offers it."""
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.notebook import jupyter_notebook, save_notebook

    made = folder / f"{path.stem}.ipynb"
    conf = deepcopy(DEFAULT_GALLERY_CONF)
    save_notebook(jupyter_notebook(blocks(path), conf, str(folder)), str(made))
    return made


def names(paths):
    return {"argvalues": paths, "ids": [path.stem for path in paths]}


@pytest.mark.parametrize("path", **names(TUTORIALS))
def test_a_tutorial_asks_first_and_decides_last(path):
    first, *_, last = blocks(path)
    assert first.type == last.type == "text"
    assert "?" in first.content
    assert last.content.startswith("**The decision**")


@pytest.mark.parametrize("path", **names(EXERCISES))
def test_an_exercise_has_question_hint_solution_and_more(path):
    text = [block.content for block in blocks(path) if block.type == "text"]
    assert "?" in text[0]
    headings = re.findall(r"^(\w.*)\n[-]{3,}$", "\n".join(text), re.MULTILINE)
    assert headings == ["Hint", "Solution", "To go on"]


def test_exercises_are_numbered():
    titles = [blocks(path)[0].content.split("\n")[1] for path in EXERCISES]
    numbers = [int(path.stem.split("_")[0]) for path in EXERCISES]
    assert numbers == list(range(1, len(EXERCISES) + 1))
    assert [int(title.split(".")[0]) for title in titles] == numbers


def test_claims_are_about_pages_that_exist(extension):
    assert extension.CLAIMS.keys() <= {path.stem for path in (*TUTORIALS, *EXERCISES)}
    assert {path.stem for path in EXERCISES} <= extension.CLAIMS.keys()


def test_a_build_checks_what_a_page_says_after_its_last_block(extension, tmp_path, monkeypatch):
    page, (first, last) = tmp_path / "1_a_page.py", ("lost = [1]\n", "lost += [2]\n")
    page.write_text(f'"""\nA page\n======\n"""\n{first}# %%\n# More.\n{last}')
    monkeypatch.setitem(extension.CLAIMS, page.stem, "most = max(lost)\nassert most == 2")

    def check(block, lost):
        variables = {"src_file": str(page), "example_globals": {"lost": lost}}
        return extension.check_claims(("code", block, 1), variables, {})

    codes = [block.content for block in blocks(page) if block.type == "code"]
    assert [code.strip() for code in codes] == [first.strip(), last.strip()]
    assert check(codes[0], [1]) == check(codes[1], [1, 2]) == ""
    words = r"1_a_page\.py: its text does not hold: assert most == 2"
    with pytest.raises(AssertionError, match=words):
        check(codes[1], [1])


@pytest.mark.parametrize("path", **names([*TUTORIALS, *EXERCISES, *GALLERY]))
def test_a_page_can_be_downloaded_as_a_notebook(path, tmp_path):
    cells = json.loads(write_notebook(path, tmp_path).read_text())["cells"]
    code = ["".join(cell["source"]).strip() for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.content.strip() for block in blocks(path) if block.type == "code"]
    assert cells[0]["cell_type"] == "markdown"
    assert not any("%%" in cell for cell in code)


# `make docs` runs the code of all pages, and checks what they say.
@pytest.mark.slow
@pytest.mark.parametrize("path", **names([WITH_A_POLICY, GALLERY[0]]))
def test_a_notebook_runs(path, tmp_path):
    made = write_notebook(path, tmp_path)
    run = Path(__file__).with_name("run_notebook.py")
    done = subprocess.run(
        [sys.executable, run, made],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
