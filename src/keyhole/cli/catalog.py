"""What there is: settings, problems, policies."""

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any, cast

from keyhole.cli.text import heading, paragraph
from keyhole.contract.policy import Policy
from keyhole.experiment import rooms
from keyhole.metric import Metric


def show(setting: str | None) -> None:
    """Print the catalog of one setting, or of all."""
    for room in rooms.every() if setting is None else [rooms.find(setting)]:
        heading(room.name, 0)
        paragraph(_sentence(room.module), 2)
        heading("[problem]", 2)
        for source, how in room.sources.items():
            paragraph(f"{source}: {how.doc}", 4)
            for entry, what in how.entries.items():
                paragraph(f"{entry} ({what.kind}): {what.doc}", 8)
        heading("metrics", 2)
        for metric in room.metrics.values():
            paragraph(f"{metric.name}: {metric.title}{_remarks(metric)}", 4)
        for policy in room.policies.values():
            _policy(policy)


def _policy(policy: type[Policy]) -> None:
    heading(policy.__name__, 2)
    paragraph(_sentence(policy), 4)
    for item in fields(cast(Any, policy)):
        default = "" if item.default is MISSING else f" = {_short(item.default)}"
        paragraph(
            f"{item.name}{default}: {item.metadata['doc']}; must {item.metadata['allowed']}", 4
        )
    for trait, words in policy.traits().items():
        paragraph(f"{trait}: {words}", 4)
    paragraph(f"source: {_section(policy, 'References')}", 4)


def _remarks(metric: Metric) -> str:
    """Return what a metric is beyond a number at each checkpoint, of which lower is better."""
    remarks = {
        "higher is better": metric.better == "higher",
        "of each arm": metric.per_arm,
        "kept with details": metric.detail,
    }
    return "".join(f"; {words}" for words, so in remarks.items() if so)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def _section(thing: Any, name: str) -> str:
    """Return the first paragraph of a docstring's section on one line."""
    found = re.search(rf"^{name}\n-+\n(.*?)(\n\n|\Z)", _doc(thing), re.DOTALL | re.MULTILINE)
    return " ".join(found.group(1).split()) if found else "none"


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""
