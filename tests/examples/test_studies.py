"""The examples of studies run as they are, on fewer rounds."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.interpreted
EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"


def play(name, rounds, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](rounds)
    return capsys.readouterr().out


def test_five_people_label(capsys):
    text = play("labelling", 250, capsys)
    assert "250 labels by 5 people, 108 pictures" in text


def test_labelling_ends_when_it_is_enough(capsys):
    text = play("enough", 150, capsys)
    assert "150 labels, 1 a picture; a fixed number: 289 a picture" in text
    assert "of 108 pictures" in text


def test_conversions_arrive_late(capsys):
    text = play("conversions", 8, capsys)
    assert "best so far: offer" in text
    assert text.count("shown to") == 4


def test_patrols_are_asked_in_the_morning_and_told_in_the_evening(capsys):
    assert "10 days, 9 cities" in play("patrols", 10, capsys)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_an_example_says_what_it_shows_and_how_it_is_run(path):
    assert f"python examples/studies/{path.name}" in path.read_text()
