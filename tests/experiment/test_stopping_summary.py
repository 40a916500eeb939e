"""What a run shows of policies that stop: the terminal, and the report."""

from dataclasses import replace

import pytest

from keyhole.experiment import Spec, run
from keyhole.experiment.report import write_report
from keyhole.experiment.run_folder import load_run_folder
from keyhole.experiment.stopping_summary import find_guarantees, stopping_table

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("no_figures")]

SPEC = """
name = "enough"
replications = 6
horizon = 400
checkpoints = [10, 400]
[problem]
setting = "thresholding"
means = [0.1, 0.9]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "FamilywiseStopping"
label = "all"
base = {name = "APT", epsilon = 0.1}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("enough") / "run"
    run(Spec.from_text(SPEC), path)
    return path


def test_a_run_shows_rounds_used_and_errors_against_the_guarantee(folder):
    found = load_run_folder(folder)
    curves, guarantees = found.curves, find_guarantees(found)
    assert list(guarantees) == ["all"]
    used = curves.values("all", "rounds_used")[-1]
    (row,) = stopping_table(curves, guarantees).rows
    assert row[0] == "all"
    assert row[4:6] == [f"{used.max():,.0f}", "0 of 6"]
    assert row[6].startswith("0.0")
    assert row[7] == "chance of any verdict wrong by 0.05 or more: at most 0.05"
    # The policy that cannot stop is in the same run, with all of its rounds.
    assert curves.values(curves.labels[0], "rounds_used").tolist() == [[10] * 6, [400] * 6]


def test_the_report_has_a_section_of_it(folder):
    text = write_report(folder).read_text()
    assert "Stopping: rounds used and errors" in text
    assert "chance of any verdict wrong by 0.05 or more: at most 0.05" in text


def run_of_an_older_version(folder):
    """Return a run whose run.json has no guarantees."""
    found = load_run_folder(folder)
    return replace(found, provenance=found.provenance | {"guarantees": None})


def test_a_run_of_an_older_version_has_its_guarantees_from_its_spec(folder):
    old = run_of_an_older_version(folder)
    assert find_guarantees(old) == find_guarantees(load_run_folder(folder)) != {}
    del old.provenance["guarantees"]
    assert list(find_guarantees(old)) == ["all"]


def test_policies_of_an_older_version_are_left_out_where_their_files_are_gone(folder):
    old = run_of_an_older_version(folder)
    spec = old.spec | {"policy": [{"name": "gone.py:Policy"}]}
    assert find_guarantees(replace(old, spec=spec)) == {}


@pytest.mark.parametrize("file", ["labels", "policy"])
def test_files_beside_the_spec_are_not_needed_in_the_run_folder(tmp_path, file):
    text = SPEC
    if file == "labels":
        (tmp_path / "labels.csv").write_text("item,label\na,1\na,1\nb,0\nb,0\n")
        text = text.replace("means = [0.1, 0.9]", 'labels = "labels.csv"')
    else:
        (tmp_path / "mine.py").write_text(
            "from keyhole.thresholding import FamilywiseStopping\n"
            "class Mine(FamilywiseStopping):\n    pass\n"
        )
        text = text.replace('"FamilywiseStopping"', '"mine.py:Mine"')
    (tmp_path / "spec.toml").write_text(text)
    run(Spec.from_file(tmp_path / "spec.toml"), tmp_path / "run")
    guarantees = find_guarantees(load_run_folder(tmp_path / "run"))
    assert guarantees["all"].text == "chance of any verdict wrong by 0.05 or more: at most 0.05"
    assert "Stopping: rounds used and errors" in write_report(tmp_path / "run").read_text()


@pytest.mark.parametrize("result", ["1 / 0", "None"])
def test_a_faulty_guarantee_is_named_before_the_run(tmp_path, result):
    (tmp_path / "mine.py").write_text(
        "from keyhole.thresholding import FamilywiseStopping\n"
        "class Mine(FamilywiseStopping):\n"
        f"    def guarantee(self):\n        return {result}\n"
    )
    text = SPEC.replace('"FamilywiseStopping"', '"mine.py:Mine"')
    with pytest.raises(ValueError, match=r"^all has no valid guarantee: "):
        run(Spec.from_text(text, folder=tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists()
