"""A reproduction that version 0.2.0 wrote is judged again, the same.

See tests/saved/README.md.
"""

import json
import shutil
from pathlib import Path

import pytest

from keyhole.experiment import Spec, load_run_folder
from keyhole.papers import Entry, is_reproduction_folder, report_again

SAVED = Path(__file__).parents[1] / "saved"
EXPECTED = json.loads((SAVED / "reproduction.json").read_text())


def judged(done):
    """Return what became of each claim, and by which numbers."""
    return [
        [verdict.id, str(verdict.status), [float(f"{n.value:.9g}") for n in verdict.numbers]]
        for verdict in done.verdicts
    ]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(SAVED / "reproduction", tmp_path / "reproduction")


def test_a_saved_reproduction_is_judged_again(folder, plain_figures):
    assert is_reproduction_folder(folder)
    done = report_again(folder)
    assert judged(done) == EXPECTED["verdicts"]
    assert done.title == EXPECTED["title"]
    assert done.report.is_file()


def test_the_specs_of_its_runs_are_those_of_the_entry(folder):
    (part,) = json.loads((folder / "reproduction.json").read_text())["parts"]
    entry = Entry.find(part["entry"])
    for problem in part["problems"]:
        spec = Spec.from_table(load_run_folder(folder / problem).spec)
        assert spec.table() == entry.spec(problem, part["scale"]).table()
