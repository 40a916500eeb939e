"""Debuggers, coverage and print see the kernels of a policy in its own file."""

import os
import subprocess
import sys
import trace
from pathlib import Path

import pytest

import keyhole
from keyhole.thresholding import IndexPolicy

PAGE = Path(__file__).parents[3] / "docs" / "interpreted.md"


def script():
    """Return the example of the page "Look inside a policy"."""
    text = PAGE.read_text()
    begin = text.index("```python\nimport keyhole\n") + len("```python\n")
    return text[begin : text.index("```", begin)]


def pdb_session():
    """Return what the page types, and what it shows."""
    text = PAGE.read_text()
    lines = text[text.index("$ python -m pdb") :].split("```")[0].splitlines()[1:]
    typed = [line.removeprefix("(Pdb) ") for line in lines if line.startswith("(Pdb) ")]
    return typed, [line for line in lines if not line.startswith("(Pdb) ")]


def test_pdb_stops_in_a_kernel_as_the_page_shows(tmp_path):
    (tmp_path / "inside.py").write_text(script())
    typed, shown = pdb_session()
    done = subprocess.run(
        [sys.executable, "-m", "pdb", "inside.py"],
        input="\n".join([*typed, "w", "q", ""]),
        text=True,
        cwd=tmp_path,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sys.path))},
        timeout=600,
        check=False,
    )
    for line in shown:
        assert line.lstrip("> ").replace("inside.py", "", 1) in done.stdout
    assert f"> {tmp_path / 'inside.py'}(15)select()" in done.stdout


def test_the_lines_of_a_kernel_are_counted_in_its_file(tmp_path):
    path = tmp_path / "inside.py"
    path.write_text(script())
    counting = trace.Trace(count=1, trace=0)
    scope = {"__name__": "inside"}
    exec(compile(script(), path, "exec"), scope)
    problem = scope["Problem"](means=[0.2, 0.7])
    counting.runfunc(
        keyhole.simulate, problem, [scope["Greedy"]()],
        horizon=5, replications=1, interpreted=True,
    )  # fmt: skip
    seen = {line: n for (file, line), n in counting.results().counts.items() if file == str(path)}
    text = script().splitlines()
    counts = {text[line - 1].strip(): n for line, n in seen.items()}
    assert counts == {
        "best, highest = 0, -1.0": 5,
        "for arm in range(p.arms):": 15,
        "mean = s.totals[arm] / s.pulls[arm]": 10,
        "if mean > highest:": 10,
        "best, highest = arm, mean": 4,  # nothing is known in the first round
        "return best": 5,
        "s.pulls[arm] += 1.0": 5,
        "s.totals[arm] += reward": 5,
    }


class Printing(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        print("index of", pulls, p.threshold)  # noqa: T201
        return total / pulls

    def recommend(p, s, labels):
        print(s.pulls)  # noqa: T201
        for arm in range(p.arms):
            labels[arm] = 0


def test_print_shows_numbers_and_arrays(capsys):
    learner = Printing().learner(arms=2, threshold=0.5, interpreted=True)
    learner.ask()
    learner.tell(1.0)
    learner.recommend()
    assert capsys.readouterr().out == "index of 1.0 0.5\n[1. 0.]\n"


MOVING = """
from keyhole.stochastic import UCB1

class Moving(UCB1):
    def update(p, s, t, arm, reward):
{comment}        s.pulls[t] += 1.0
"""


@pytest.mark.parametrize("lines", [0, 2])
def test_lines_are_current_after_a_comment_was_added(lines, tmp_path):
    path = tmp_path / "moving.py"
    path.write_text(MOVING.format(comment="        # moved\n" * lines))
    scope = {"__name__": "moving"}
    exec(compile(path.read_text(), path, "exec"), scope)
    learner = scope["Moving"]().learner(arms=1, interpreted=True)
    learner.ask()
    with pytest.raises(IndexError, match=rf"moving\.py, line {6 + lines}, in update, round 1"):
        learner.tell(1.0)


def test_code_without_its_source_is_refused_if_it_divides():
    scope = {"__name__": "nowhere"}
    text = MOVING.format(comment="        reward = reward / t\n")
    exec(compile(text, "<nowhere>", "exec"), scope)
    with pytest.raises(TypeError, match=r"Moving.update cannot be interpreted: its source is not"):
        scope["Moving"]().learner(arms=1, interpreted=True)


def test_a_file_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "changed.py"
    path.write_text(MOVING.format(comment="        reward = reward / t\n"))
    scope = {"__name__": "changed"}
    exec(compile(path.read_text(), path, "exec"), scope)
    path.write_text(MOVING.format(comment="        reward = reward * t\n"))
    with pytest.raises(TypeError, match="its source has changed since it was imported"):
        scope["Moving"]().learner(arms=1, interpreted=True)
