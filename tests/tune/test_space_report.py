"""The page of a tune of a parameter space."""

import re

import pytest

from keyhole.tune import Spec, Tuner, load_tune
from keyhole.tune.report import write_report
from tests.tune.conftest import Simulated
from tests.tune.spaces import SPACE


@pytest.fixture
def folder(tmp_path):
    """Return a tune folder with 40 runs."""
    Tuner(Spec.from_table(SPACE), tmp_path, executors=Simulated).run(runs=40)
    return tmp_path


def test_the_page_begins_with_the_command_and_the_gain_over_the_default(folder):
    tune = load_tune(folder)
    best = tune.best().incumbent
    page = write_report(tune).read_text()
    text = re.sub(r"<[^>]*>", "", page).replace("&#34;", '"')
    assert "Which parameters and which time limit for space?" in text
    assert f"for at most {best.limit:g} s: it " in text
    assert "of a success a run over the default with the full cut-off." in text
    assert f"true {best.parameters['mean']:g} {{instance}}" in text
    for heading in ("Recommended after so many runs", "What each parameter did", "What was tried"):
        assert heading in text
    assert "Instances kept aside" not in text


def test_a_validation_is_on_the_page(folder):
    Tuner(load_tune(folder).spec, folder, executors=Simulated).validate(["x", "y", "z"])
    page = write_report(load_tune(folder)).read_text()
    assert "On 3 instances that no run of the tune has used." in page
    assert (folder / "validation.png").exists()


def test_nothing_is_written_before_the_first_run(tmp_path):
    Tuner(Spec.from_table(SPACE), tmp_path, executors=Simulated).run(budget=1e-9)
    with pytest.raises(ValueError, match="nothing has been run yet"):
        write_report(load_tune(tmp_path))


def test_the_default_is_not_compared_with_itself(tmp_path):
    Tuner(Spec.from_table(SPACE | {"limits": [1]}), tmp_path, executors=Simulated).run(runs=1)
    page = write_report(load_tune(tmp_path)).read_text()
    assert "for at most 1 s, the default with the full cut-off." in page
