"""The summary of a study that notebooks and `print` show: its state in a table, and each option."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from keyhole.contract.text_formatting import count_text
from keyhole.extras import has_extra
from keyhole.pages.notebook_html import notebook_html, picture_html, text_table
from keyhole.pages.page import Table
from keyhole.study.arm_means import arm_table, chances_rows, explain_intervals
from keyhole.study.decision_counts import DecisionCounts
from keyhole.study.decision_plot import order_arms, plot_decisions, plot_size
from keyhole.study.state import State
from keyhole.validate import short_repr

MOST_EVENTS: Final = 200_000
"""The most events that a summary reads anew: more take many seconds."""
_MOST_ARMS: Final = 12
_MOST_DRAWN: Final = 200  # arms: more take seconds, and are a grey heap


def summary_rows(counts: DecisionCounts, learnt: Mapping[str, str] | None) -> list[list[str]]:
    """Return a table of two columns: setting, policy, arms, counts of decisions, last event.

    `learnt` has what only the policy knows, such as its recommendation, by the name of the row;
    None where the policy has not learnt the log in this process.
    """
    vocabulary = counts.policy.vocabulary_class
    if learnt is None and vocabulary and vocabulary.has_recommendation():
        learnt = {"recommended": "not computed yet; recommend() does it"}
    return [
        ["setting", counts.policy.setting.name],
        ["policy", repr(counts.policy)],
        ["arms", f"{len(counts.arms.live):,}"],
        ["decisions", f"{len(counts.asked):,}"],
        ["told", f"{counts.feedback_count:,}"],
        ["pending decisions", f"{len(counts.pending):,}"],
        ["expired", f"{counts.expired:,}"],
        ["last event", _format_time(counts.at)],
        *([name, text] for name, text in (learnt or {}).items()),
        *chances_rows(counts),
    ]


def learnt_facts(state: State) -> dict[str, str]:
    """Return the recommendation as text, and for a policy that can stop what is settled."""
    policy = state.definition.policy
    vocabulary, facts = policy.vocabulary_class, {}
    if vocabulary is not None and vocabulary.has_recommendation():
        facts["recommended"] = short_repr(state.recommend())
    if policy.verdicts:
        arms = len(state.arms.names_in_use)
        facts["settled"] = progress_text(policy, state.settled_names(), arms)
    return facts


def progress_text(policy: Any, settled: Mapping[str, str], arms: int) -> str:
    """Return how many arms are settled, and the guarantee of the policy's verdicts."""
    done = "; done" if len(settled) == arms else ""
    some = f"{len(settled)} of {count_text(arms, 'arm')}"
    return f"{some}{done} ({policy.guarantee().text})"


def _format_time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC" if at else "none yet"


def summary_text(title: str, rows: Sequence[Sequence[str]], counts: DecisionCounts) -> str:
    """Return the summary as lines of text."""
    state = [f"  {name}: {value}" for name, value in rows]
    return "\n".join([title, *state, means_text(counts)]).rstrip()


def means_text(counts: DecisionCounts) -> str:
    """Return the table by arm as text; empty where decisions are not about one arm each."""
    if not counts.has_arms:
        return ""
    lines = [text_table(*_arm_table(counts))]
    return "\n".join(
        [*lines, explain_intervals(counts)] if counts.feedback_count or counts.told_sums else lines
    )


def summary_html(title: str, rows: Sequence[Sequence[str]], counts: DecisionCounts) -> str:
    """Return the summary as HTML, with the plot of the decisions by arm unless arms are many."""
    tables, picture = [Table(title, ["", ""], rows)], ""
    if counts.has_arms:
        if len(counts.arms.names) <= _MOST_DRAWN and has_extra("plots"):
            from keyhole.pages.figure_files import blank_figure

            figure = blank_figure(*plot_size(counts))
            plot_decisions(counts, "decisions", figure.subplots())
            picture = picture_html(figure, "The number of decisions of each arm so far.")
        text = "Decisions and feedback by arm."
        text = (
            f"{text} {explain_intervals(counts)}"
            if counts.feedback_count or counts.told_sums
            else text
        )
        tables.append(Table(text, *_arm_table(counts)))
    return notebook_html(tables, picture)


def _arm_table(counts: DecisionCounts) -> tuple[list[str], list[list[str]]]:
    """Return the table by arm, of the arms with the most decisions."""
    head, rows = arm_table(counts)
    if len(rows) <= _MOST_ARMS:
        return head, rows
    more = [f"... and {len(rows) - _MOST_ARMS:,} more", *("" for _ in head[1:])]
    return head, [*(rows[arm] for arm in sorted(order_arms(counts)[:_MOST_ARMS])), more]
