"""Command `init`: ask three questions, and write a commented file that can be run at once."""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, TypeVar

import typer
from typer import Option

from keyhole import validation
from keyhole.cli.new import check_writable, fill_template, write_files
from keyhole.cli.options import AsJson, examples_epilog
from keyhole.durations import parse_seconds
from keyhole.files import read_toml

EXAMPLES: Final = examples_epilog(
    "keyhole init",
    "keyhole init --goal simulate --setting stochastic --horizon 5000 --out test.toml",
    "keyhole init --goal study --setting thresholding --arms 'cat, dog, owl'",
    "keyhole init --goal tune --command 'make test' --command 'make -j4 test' --limit 10m",
)


_QUESTIONS: Final = read_toml(Path(__file__).parent / "starters" / "questions.toml")
GOALS: Final[dict[str, dict[str, Any]]] = _QUESTIONS["goals"]
"""The goals by name, each with its text, its options, its file, and the command to type next."""
SITUATIONS: Final[dict[str, str]] = _QUESTIONS["situations"]
"""The situation of the users of each setting."""
_LIMIT_RATIO: Final = 100  # the largest limit of a tune divided by the smallest
# The allowed values of --limit, a tune's largest limit, in seconds: up to 31 years. The smallest
# limit is then at least a millisecond.
_LIMITS: Final = validation.Range(ge=0.1, le=10**9)
_PACKAGE: Final = Path(__file__).parents[1]
_Answer = TypeVar("_Answer")


def init(
    goal: Annotated[str | None, Option(help="simulate, study or tune.")] = None,
    setting: Annotated[str | None, Option(help="Setting of a simulation or a study.")] = None,
    horizon: Annotated[str | None, Option(metavar="N", help="Decisions of a simulation.")] = None,
    arms: Annotated[
        str | None, Option(metavar="NAME,NAME,...", help="The arms of a study.")
    ] = None,
    command: Annotated[list[str] | None, Option(help="A command of a tune; repeatable.")] = None,
    limit: Annotated[
        str | None, Option(help="The time limit of its commands, such as 10m.")
    ] = None,
    instances: Annotated[
        str | None, Option(help="The files of {instance}, as 'cnf/*.cnf'.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", help="By default experiment.toml, study.py or tune.toml, here."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer three questions, and get a file to run.

    The file is commented, and runs as it stands: an experiment, a study, or the spec of a tune.
    Options answer the questions beforehand; without a terminal, the options of the goal are needed.
    To extend Keyhole by a policy, setting, problem or entry of your own, there is keyhole new.
    """
    texts = {name: choice["text"] for name, choice in GOALS.items()}
    goal = _ask_choice("--goal", goal, "1. What do you want to do?", texts)
    options = {"setting": setting, "horizon": horizon, "arms": arms, "command": command}
    options |= {"limit": limit, "instances": instances}
    for option, value in options.items():
        if value and option not in GOALS[goal]["options"]:
            text = validation.short_repr(value)
            raise ValueError(f"--{option} must be left out with the goal {goal!r}, got {text}")
    path = _check_path(out or Path(GOALS[goal]["file"]), goal)
    # The path is checked before the questions, so that nobody answers them in vain.
    check_writable(path, advice="choose another --out, or overwrite it with --force", force=force)
    if goal == "study":
        _check_program_path(path)
    if goal == "tune":
        text = _ask_tune_spec(command, limit, instances, path)
    else:
        text = _ask_setting_file(goal, setting, arms, horizon, path)
    next_command = GOALS[goal]["next_command"].format(file=_quote_argument(path))
    write_files({path: text}, next_command, as_json=as_json)


def _check_path(path: Path, goal: str) -> Path:
    suffix = Path(GOALS[goal]["file"]).suffix
    validation.check_line("--out", str(path))
    if path.name == suffix:
        raise ValueError(f"--out must have a name before {suffix}, got {str(path)!r}")
    if path.suffix != suffix:
        raise ValueError(f"--out must end with {suffix} with the goal {goal!r}, got {str(path)!r}")
    return path


def _check_program_path(path: Path) -> None:
    """Refuse a program that would shadow an importable module, or whose database exists already."""
    user_folders = {path.parent.resolve(), Path.cwd()}
    import_path = [entry for entry in sys.path if Path(entry).resolve() not in user_folders]
    module = None if "." in path.stem else PathFinder.find_spec(path.stem, import_path)
    # `find_spec` also finds folders without `__init__.py`, which have no origin. They are rarely
    # packages, so their names are allowed.
    if path.stem in sys.stdlib_module_names or (module and module.origin):
        raise ValueError(
            "--out must not have the name of a module of Python, Keyhole or another installed "
            f"package, which the program could then not import; got {str(path)!r}"
        )
    database = path.with_suffix(".db")
    if database.exists():
        raise FileExistsError(
            f"{database} exists already, and the program would go on with the study in it; "
            f"choose another --out, or move {database} away"
        )


def _ask_setting_file(
    goal: str, setting: str | None, arms: str | None, horizon: str | None, path: Path
) -> str:
    """Return the text of an experiment or of a study's program; ask for missing options."""
    setting = _ask_choice("--setting", setting, "2. What do you have?", SITUATIONS)
    template = _PACKAGE / setting / "starters" / f"{goal}{path.suffix}.tmpl"
    if goal == "study":
        question = "3. What do you choose among? Names, with commas between"
        names = _ask_option("--arms", arms, question, _parse_arms)
        return _fill_starter(template, path, arms=_quote(names))
    # The answer is parsed by making the whole file. So the question is asked again if the setting
    # does not allow the number.
    return _ask_option(
        "--horizon",
        horizon,
        "3. How many decisions are there?",
        lambda text: _make_experiment(template, text, path),
        default=str(_QUESTIONS["horizons"][setting]),
    )


def _parse_arms(text: str) -> list[str]:
    names = [validation.check_line("each name of --arms", name.strip()) for name in text.split(",")]
    return list(validation.check_distinct("--arms", names))


def _make_experiment(template: Path, answer: str, path: Path) -> str:
    """Return the text of an experiment; refuse an answer that is no horizon for its setting."""
    from keyhole.experiment.spec import Spec

    # Numbers of more digits are above 2**53. Python refuses very long ones in words of its own.
    number = re.fullmatch(r"\d{1,16}|\d{1,3}(?:[,_]\d{3}){1,5}", answer.strip())
    horizon = 0
    if number:
        horizon = int(re.sub("[,_]", "", number[0]))
    if not 1 <= horizon <= 2**53:
        raise ValueError(
            f"--horizon must be a whole number from 1 to 2**53, got {validation.short_repr(answer)}"
        )
    text = _fill_starter(template, path, horizon=str(horizon))
    try:
        Spec.from_text(text, folder=path.parent)
    except ValueError as error:  # the cause is the horizon, since all else in the file is valid
        raise ValueError(f"--horizon {horizon} does not suit the setting: {error}") from error
    return text


def _ask_tune_spec(
    commands: list[str] | None, limit: str | None, pattern: str | None, path: Path
) -> str:
    """Return the text of a tune's spec; ask for missing options."""
    question = "2. A command (an empty line ends the list)"
    note = "{instance} in a command stands for a file that it is run on, {seed} for a number."

    def parse_command(text: str) -> str:
        return text and _check_command(text, path.parent.resolve())

    if commands:
        commands = [_check_command(command, path.parent.resolve()) for command in commands]
    else:
        commands = [_ask_option("--command", None, question, parse_command, note=note)]
        while command := _ask_option("--command", None, question, parse_command, optional=True):
            commands.append(command)
    seconds = _ask_option(
        "--limit",
        limit,
        "3. After what time do you stop a run at present? For example 30s or 10m",
        lambda text: validation.check_number("--limit", parse_seconds("--limit", text), _LIMITS),
    )
    if pattern is None and not any("{instance}" in command for command in commands):
        return _make_tune_spec(commands, seconds, "", path)
    return _ask_option(
        "--instances",
        pattern,
        "Which files does {instance} stand for? A pattern such as cnf/*.cnf",
        lambda text: _make_tune_spec(commands, seconds, f"instances = {_quote(text)}\n", path),
    )


def _check_command(text: str, folder: Path) -> str:
    """Return a command; refuse one that needs a shell, or whose program is not found."""
    validation.check_line("--command", text)
    # Imported here, since only a tune needs them.
    from keyhole.tune.arms import RUN_FIELDS, Arm, explain_shell_syntax, split_command

    argv = split_command("--command", text)
    if shell_error := explain_shell_syntax("--command", text):
        raise ValueError(shell_error)
    # The command is checked before the whole file, so that only this command is asked for again.
    example_run = dict(zip(RUN_FIELDS, ("file", 1, 1.0), strict=True))
    Arm("command", argv).check("--command", example_run, folder)
    return text


def _make_tune_spec(commands: Sequence[str], limit: float, instances: str, path: Path) -> str:
    """Return the checked text of a tune's spec; `instances` is its line on instances, or empty."""
    from keyhole.tune import Spec

    arms = []
    names: list[str] = []
    for command in commands:
        program = PurePath(shlex.split(command)[0]).name or "command"
        numbered_names = chain([program], (f"{program}-{number}" for number in count(2)))
        names.append(next(name for name in numbered_names if name not in names))
        arms.append(f"[[arm]]\nname = {_quote(names[-1])}\ncommand = {_quote(command)}\n")
    text = _fill_starter(
        Path(__file__).parent / "starters" / "tune.toml.tmpl",
        path,
        least=f"{limit / _LIMIT_RATIO:g}",
        limit=repr(limit).removesuffix(".0"),
        instances=instances and f"\n# The files that {{instance}} stands for.\n{instances}",
        arms="\n".join(arms).rstrip(),
    )
    Spec.from_table(tomllib.loads(text), folder=path.parent)
    return text


def _fill_starter(template: Path, path: Path, **values: str) -> str:
    file = _quote_argument(Path(path.name))
    if path.suffix == ".py":  # the name is put into a docstring
        file = file.replace("\\", "\\\\").replace('"', '\\"')
    return fill_template(template, file=file, name=_quote(path.stem), **values)


def _quote_argument(path: Path) -> str:
    """Quote a path for a shell; put ./ before a leading dash, which would make it an option."""
    text = str(path)
    if text.startswith("-"):
        text = f"./{text}"
    return shlex.quote(text)


def _quote(value: str | list[str]) -> str:
    """Return a text or list as a literal that TOML and Python both read."""
    return json.dumps(value, ensure_ascii=False)


def _ask_choice(option: str, word: str | None, question: str, choices: Mapping[str, str]) -> str:
    """Return the choice that `word` names; if it is None, ask for a word or a number."""
    names = list(choices)
    width = max(map(len, names))
    lines = (
        f"  {number} {name:{width}}  {text}"
        for number, (name, text) in enumerate(choices.items(), 1)
    )

    def parse(text: str) -> str:
        if text.isdecimal() and 1 <= int(text) <= len(names):
            return names[int(text) - 1]
        return validation.check_choice(option, text, names)

    return _ask_option(option, word, f"{question} A number or a word", parse, note="\n".join(lines))


def _ask_option(
    option: str,
    value: str | None,
    question: str,
    parse: Callable[[str], _Answer],
    *,
    note: str = "",
    default: str = "",
    optional: bool = False,
) -> _Answer:
    """Return the parsed value of an option; if it is None, ask on the terminal for a valid one.

    `parse` raises a ValueError that names the option, after which the question is asked again;
    `note` is printed above the question. An empty line means the `default`. If there is no default,
    an empty line is parsed if the question is `optional`, and else the question is asked again.
    """
    if value is not None:
        return parse(value)
    if not can_ask():
        raise ValueError(f"{option} must be given, since there is no terminal to ask on")
    if note:
        typer.echo(note, err=True)
    if default:
        question = f"{question} [{default}]"
    while True:
        # Not by `typer.prompt`, which also writes to standard output, where the result belongs.
        typer.echo(f"{question}: ", nl=False, err=True)
        if not (line := sys.stdin.readline()):
            typer.echo(err=True)  # ends the line of the question before the message
            raise typer.Abort("the input ended before the last answer; nothing was written")
        text = line.strip() or default
        try:
            if text or optional:
                return parse(text)
        except ValueError as error:
            typer.echo(f"  {error}", err=True)


def can_ask() -> bool:
    """Return whether a person can read questions on standard error, and answer them."""
    # A stream that was closed before Python began, as by `0<&-` in a shell, is None.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
