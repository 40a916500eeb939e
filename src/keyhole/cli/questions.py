"""Questions on the terminal, for what the options of a command leave open."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import typer

from keyhole.validate import check_choice

_INDENT: Final = "  "


@dataclass(frozen=True)
class Question:
    """A question whose answer an option may give.

    Attributes
    ----------
    option : str
        The option.
    text : str
        The question.
    parse : callable
        Returns the answer, given the text; raises a ValueError that names the option.
    default : str, optional
        The text that stands for no answer on the terminal.
    note : str
        Lines above the question.
    """

    option: str
    text: str
    parse: Callable[[str], Any]
    default: str | None = None
    note: str = ""

    def answer(self, given: str | None) -> Any:
        """Return the answer of the option, or ask until there is a valid one."""
        if given is not None:
            return self.parse(given)
        self.check_terminal()
        if self.note:
            typer.echo(self.note, err=True)
        return self._ask()

    def answer_several(self, given: list[str] | None) -> list[Any]:
        """Return the answers of a repeatable option, or ask for one a line until one is empty."""
        if given:
            return [self.parse(text) for text in given]
        self.check_terminal()
        if self.note:
            typer.echo(self.note, err=True)
        found = [self._ask()]
        while (one := self._ask(default="")) != "":
            found.append(one)
        return found

    def check_terminal(self) -> None:
        """Refuse to ask where nobody can answer."""
        if not can_ask():
            raise ValueError(f"{self.option} must be given where there is no terminal to ask on")

    def _ask(self, default: str | None = None) -> Any:
        default = self.default if default is None else default
        shown = f" [{default}]" if default else ""
        while True:
            text = _read_line(f"{self.text}{shown}: ").strip() or default
            if text == "":  # only if that is the default
                return text
            try:
                if text is not None:
                    return self.parse(text)
            except ValueError as error:
                typer.echo(f"{_INDENT}{error}", err=True)


def can_ask() -> bool:
    """Return whether a person can read questions on standard error, and answer them."""
    # Python has None for a stream that was closed before it began, as by `0<&-` in a shell.
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def _read_line(prompt: str) -> str:
    # Not `typer.prompt`, which also writes to standard output: only the result belongs there.
    typer.echo(prompt, nl=False, err=True)
    if not (line := sys.stdin.readline()):
        typer.echo(err=True)  # the message is not to follow the question on its line
        raise typer.Abort("the input ended before the last answer; nothing was written")
    return line


def choice_question(option: str, text: str, choices: Mapping[str, str]) -> Question:
    """Return a question with numbered choices: an answer is a word, or on the terminal a number."""
    width = max(map(len, choices))

    def parse(typed: str) -> str:
        words = list(choices)
        if typed.isdecimal() and 1 <= int(typed) <= len(words):
            return words[int(typed) - 1]
        return check_choice(option, typed, words)

    lines = (
        f"{_INDENT}{number} {word:{width}}  {what}"
        for number, (word, what) in enumerate(choices.items(), 1)
    )
    return Question(option, f"{text} A number or a word", parse, note="\n".join(lines))
