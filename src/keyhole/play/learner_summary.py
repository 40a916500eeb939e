"""The summary of a learner, a policy at work, for `print` and notebooks: what it has learnt."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.text_formatting import count_text
from keyhole.validate import short_repr

if TYPE_CHECKING:
    from keyhole.play.learner import Learner

_SHOWN_LINES: Final = 10


def describe_state(learner: "Learner") -> list[str]:
    """Return what the policy says that it has learnt, the first ten lines.

    An error in the code of a policy becomes the only line: printing must not fail.
    """
    try:
        lines = learner.policy.describe(learner)
    except Exception as error:
        return [_say_error(f"{type(learner.policy).__name__}.describe", error)]
    if len(lines) > _SHOWN_LINES:
        return [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
    return lines


def _say_error(what: str, error: Exception) -> str:
    return f"({what} failed: {type(error).__name__}: {' '.join(str(error).split())})"


def learner_html(learner: "Learner", known: Sequence[str], waiting: Mapping[str, Any]) -> str:
    """Return the tables that notebooks show.

    Parameters
    ----------
    learner : Learner
        The learner, which stays as it is.
    known : sequence of str
        Its known quantities.
    waiting : mapping of str to array
        The decision that waits for its feedback; empty if there is none.
    """
    from keyhole.pages.notebook import notebook_html
    from keyhole.pages.table import Table

    rows = [
        ["setting", learner.policy.setting.name],
        ["known", ", ".join(known)],
        ["rounds", f"{learner.rounds_told:,}"],
    ]
    if waiting:
        taken = (f"{name} {short_repr(value.tolist())}" for name, value in waiting.items())
        rows.append(["waiting for the feedback of", ", ".join(taken)])
    if (recommended := _recommendation(learner)) is not None:
        rows.append(["recommended", recommended])
    # A line such as "arm 0: 2 pulls, mean 1" has its name before the colon.
    parts = [line.partition(": ") for line in describe_state(learner)]
    state = [[name, value] if value else ["", name] for name, _, value in parts]
    tables = [Table(repr(learner.policy), ["", ""], rows)]
    if state:
        after = count_text(learner.rounds_told, "round")
        tables.append(Table(f"What it has learnt after {after}.", ["", ""], state))
    return notebook_html(tables)


def _recommendation(learner: Any) -> str | None:
    """Return what the learner recommends; None if its setting has no recommendation."""
    if not hasattr(learner, "recommend"):
        return None
    try:
        found = learner.recommend()
    except (TypeError, NotImplementedError):  # the setting's vocabulary has no words for it
        return None
    except Exception as error:
        return _say_error("recommend", error)
    return short_repr(found.tolist() if hasattr(found, "tolist") else found)
