"""Command `init`: three questions, and a commented file to start from that runs as it stands."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from keyhole.cli import init_files
from keyhole.cli.questions import Question, choice_question
from keyhole.cli.template_files import check_absent, write_files
from keyhole.durations import parse_duration
from keyhole.validate import Range, check_distinct, check_line, check_number, short_repr

GOALS: Final = {
    "simulate": "compare policies in simulations",
    "study": "take decisions for real, and learn from what comes of each",
    "tune": "run commands, and learn which one to run and when to give up on it",
}
# As docs/which_setting.md says it.
SITUATIONS: Final = {
    "stochastic": "an A/B test: each click, purchase or other reward is known for its own decision",
    "thresholding": "labels, screening, quality control: which of many items are good enough",
    "threshold": "a deadline, a price or a bid that is known before each decision",
    "delayed": "sales at the end of the day: rewards that come late, and only as a sum",
    "semibandit": "a traffic split, a quota, patrols: how much each place gets, so that none fails",
    "resource": "a timeout: what to run, such as a solver, and when to give up on it",
}
_HORIZONS: Final = {
    "stochastic": 5000,
    "thresholding": 1000,
    "threshold": 2000,
    "delayed": 10_000,
    "semibandit": 5000,
    "resource": 1000,
}
_OPTIONS: Final = {
    "simulate": ("setting", "horizon"),
    "study": ("setting", "arms"),
    "tune": ("command", "limit", "instances"),
}
_FILES: Final = {"simulate": "experiment.toml", "study": "study.py", "tune": "tune.toml"}
# Seconds: the least of five limits is a hundredth of the largest; the largest is 31 years.
_LIMITS: Final = Range(ge=0.1, le=10**9)

_GOAL: Final = choice_question("--goal", "1. What do you want to do?", GOALS)
_SETTING: Final = choice_question("--setting", "2. What do you have?", SITUATIONS)


def write_first_file(
    goal: str | None, given: Mapping[str, Any], out: Path | None, *, force: bool, as_json: bool
) -> None:
    """Ask what `given` leaves open; write the file, and print its path and what to do next."""
    goal = _GOAL.answer(goal)
    for option, value in given.items():
        if value and option not in _OPTIONS[goal]:
            raise ValueError(
                f"--{option} must be left out with the goal {goal!r}, got {short_repr(value)}"
            )
    path = _check_path(out or Path(_FILES[goal]), goal)
    # Before the questions too, so that nobody answers them in vain.
    check_absent([path], advice="choose another --out, or overwrite it with --force", force=force)
    if goal == "study":
        _check_no_database(path)
    make: dict[str, Callable[[Mapping[str, Any], Path], str]] = {
        "simulate": _simulation,
        "study": _study,
        "tune": _tune,
    }
    text = make[goal](given, path)
    write_files({path: text}, next_command=init_files.next_command(goal, path), as_json=as_json)


def _check_path(path: Path, goal: str) -> Path:
    suffix = Path(_FILES[goal]).suffix
    check_line("--out", str(path))
    if path.name == suffix:
        raise ValueError(f"--out must have a name before {suffix}, got {str(path)!r}")
    if path.suffix != suffix:
        raise ValueError(f"--out must end with {suffix} with the goal {goal!r}, got {str(path)!r}")
    if suffix == ".py":
        _check_module(path)
    return path


def _check_module(path: Path) -> None:
    """Refuse a program that its own imports would find in the place of a module."""
    here = {path.parent.resolve(), Path.cwd()}
    others = [entry for entry in sys.path if Path(entry).resolve() not in here]
    found = None if "." in path.stem else PathFinder.find_spec(path.stem, others)
    # A folder without code has a spec too, but no origin; a file goes before it anyway.
    if path.stem in sys.stdlib_module_names or (found and found.origin):
        raise ValueError(
            f"--out must not be called like a module of Python, Keyhole or another installed "
            f"package, which the program would hide from its imports, got {str(path)!r}"
        )


def _check_no_database(path: Path) -> None:
    """Refuse a program beside whose name there is a database, which holds another study."""
    database = path.with_suffix(".db")
    if database.exists():
        raise FileExistsError(
            f"{database} exists already, and the program would go on with the study in it; "
            f"choose another --out, or move {database} away"
        )


def _simulation(given: Mapping[str, Any], path: Path) -> str:
    setting = _SETTING.answer(given["setting"])
    # The answer is the text of the file, so that a number that does not suit it is asked again.
    text: str = Question(
        "--horizon",
        "3. How many decisions are there?",
        lambda text: init_files.simulation_text(setting, _parse_count("--horizon", text), path),
        str(_HORIZONS[setting]),
    ).answer(given["horizon"])
    return text


def _study(given: Mapping[str, Any], path: Path) -> str:
    setting = _SETTING.answer(given["setting"])
    arms = Question(
        "--arms", "3. What do you choose among? Names, with commas between", _parse_names
    ).answer(given["arms"])
    return init_files.study_text(setting, arms, path)


def _tune(given: Mapping[str, Any], path: Path) -> str:
    commands = Question(
        "--command",
        "2. A command, or an empty line at the end",
        lambda text: init_files.check_command(text, path.parent.resolve()),
        note="{instance} in a command stands for a file that it is run on, {seed} for a number.",
    ).answer_several(given["command"])
    limit = Question(
        "--limit", "3. When do you give up on it today? Such as 30s or 10m", _parse_limit
    ).answer(given["limit"])
    pattern = given["instances"]
    if pattern is None and not any("{instance}" in command for command in commands):
        return init_files.tune_text(commands, limit, None, path)
    # The answer is the text of the file, so that a pattern of no file is asked again.
    text: str = Question(
        "--instances",
        "Which files is {instance}? A pattern such as cnf/*.cnf",
        lambda text: init_files.tune_text(commands, limit, text, path),
    ).answer(pattern)
    return text


def _parse_count(option: str, text: str) -> int:
    # Longer numbers are above 2**53, and Python refuses very long ones with a message of its own.
    typed = re.fullmatch(r"\d{1,16}|\d{1,3}(?:[,_]\d{3}){1,5}", text.strip())
    digits = typed[0].replace(",", "").replace("_", "") if typed else "0"
    if not 1 <= int(digits) <= init_files.MOST_ROUNDS:
        raise ValueError(f"{option} must be a whole number from 1 to 2**53, got {short_repr(text)}")
    return int(digits)


def _parse_names(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    return check_distinct("--arms", [check_line("each name of --arms", name) for name in names])


def _parse_limit(text: str) -> float:
    return check_number("--limit", parse_duration("--limit", text), _LIMITS)
