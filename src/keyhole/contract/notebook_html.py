"""HTML that notebooks show of a policy and of a problem."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.arm_names import name_text
from keyhole.validate import escape_html

if TYPE_CHECKING:
    from keyhole.contract.problem import Environment, Problem

_LISTED_ARMS: Final = 20


def policy_html(policy: Any) -> str:
    """Return the first sentence on a policy, and a table of its parameters and quantities."""
    rows = [
        [item.name, f"{getattr(policy, item.name)}", item.metadata.get("doc", "")]
        for item in fields(policy)
    ]
    rows += [
        [f"knows {name}", "", fact.doc]
        for name, fact in policy.setting.known_quantities(policy.needs).items()
        if fact.argument is not None
    ]
    paragraph = (inspect.getdoc(type(policy)) or "").partition("\n\n")[0]
    line = f"{policy!r}, setting {policy.setting.name}: {' '.join(paragraph.split())}"
    return html_table(line, ["parameter", "value", "meaning"], rows)


def problem_html(problem: Problem) -> str:
    """Return the problem, its setting and the number of its arms."""
    rows = [["setting", problem.setting.name]]
    with suppress(Exception):  # it may be a user's code, and a notebook would show its traceback
        rows.append(["arms", _list_arms(problem)])
    if problem.rounds is not None:
        rows.append(["most rounds", f"{problem.rounds:,}"])
    return html_table(repr(problem), [], [*rows, *_metric_rows(problem.environment)])


def _list_arms(problem: Problem) -> str:
    """Return the number of arms, and the names of the first ones."""
    text = f"{problem.arms:,}"
    names = problem.arm_names
    if names is not None:
        text += f": {', '.join(map(name_text, names[:_LISTED_ARMS]))}"
        if len(names) > _LISTED_ARMS:
            text += ", ..."
    return text


def _metric_rows(environment: type[Environment]) -> list[list[str]]:
    metrics = [metric for metric in environment.metrics if not metric.detail]
    return [["metric" if i == 0 else "", metric.title] for i, metric in enumerate(metrics)]


def html_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; with no rows, its caption as a paragraph."""
    if not rows:
        return f"<p>{escape_html(caption)}</p>"
    titles = "".join(f'<th scope="col">{escape_html(cell)}</th>' for cell in head)
    body = "\n".join(
        f'<tr><th scope="row">{escape_html(name)}</th>'
        + "".join(f"<td>{escape_html(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    head_html = f"<thead><tr>{titles}</tr></thead>\n" if titles else ""
    caption_html = f"<caption>{escape_html(caption)}</caption>"
    return f"<table>\n{caption_html}\n{head_html}<tbody>\n{body}\n</tbody>\n</table>"
