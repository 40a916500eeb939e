"""The command `keyhole study show`: recommendation, means by arm (option), pending decisions."""

import time
from collections.abc import Mapping
from typing import Any, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.key_values import format_key_values, format_recommendation
from keyhole.cli.options import AsJson
from keyhole.cli.study import Name, Own, Storage, open_study
from keyhole.text_formatting import count_text

_ENDS: Final = 5  # pending decisions that are printed at the beginning and at the end, of many


def show(storage: Storage, name: Name, as_json: AsJson = False, own: Own = None) -> None:
    """Print the recommendation, the means by arm, and the pending decisions.

    Of more than 10 pending decisions the first and the last 5 are printed (JSON: all).
    Pending decisions that expired and wait to be asked again are counted and marked (JSON: their
    ids, to_ask_again). A decision past its time expires at the next ask, not here.
    Recommended arms without feedback are listed after the recommendation (JSON:
    recommended_without_feedback): the policy has only its assumptions about them. The interval of a
    mean holds at all times at once, with 95 % confidence for each arm: look as often as you like.
    The chance to be best is that of the policy's posterior, where it has one.
    Means, and the list of arms without feedback, are left out above 200,000 events; in Python
    Study.means() counts them.
    """
    from keyhole.study.arm_means import chances_text, mean_lines
    from keyhole.study.study_summary import MOST_EVENTS

    with open_study(storage, name, own) as study:
        policy, pending, expired = study.policy, study.pending, study.to_ask_again
        rule = study.definition.rule
        means = study.means(most_events=MOST_EVENTS)
        content = {"name": name} | _content(study, means, MOST_EVENTS)
    if as_json:
        waiting = {"pending": [decision.as_json() for decision in pending], "to_ask_again": expired}
        print_json(content | waiting)
        return
    _print_state(policy, content, len(pending), len(expired))
    for line in mean_lines(means or {}):
        typer.echo(line)
    if content["intervals"] is not None:
        typer.echo(content["intervals"])
    if content["best_chances"]:
        typer.echo("chance to be best: " + chances_text(content["best_chances"], len(pending)))
    if means is None:
        typer.echo(f"More than {MOST_EVENTS:,} events: Study.means() in Python counts them.")
    marked = frozenset(expired)
    now = time.time()
    overdue = sum(
        decision.id not in marked and rule.has_expired(now - decision.at.timestamp(), 0)
        for decision in pending
    )
    if overdue:
        typer.echo(f"past their time: {overdue:,} of the pending, which expire at the next ask")
    lines = [
        f"{decision.id} {format_key_values(decision.words)} since {decision.at:%F %T} UTC"
        f"{', expired: to ask again' if decision.id in marked else ''}"
        for decision in pending
    ]
    if len(lines) > 2 * _ENDS:
        lines[_ENDS:-_ENDS] = [f"... {len(lines) - 2 * _ENDS:,} more pending (all: --json)"]
    typer.echo("".join(f"{line}\n" for line in lines), nl=False)


def _content(study: Any, means: Any, most: int) -> dict[str, Any]:
    """Return all that is shown of a study as JSON, but its name and its pending decisions."""
    from keyhole.study.arm_means import means_as_json

    policy = study.policy
    found = study.recommend() if policy.vocabulary_class.has_recommendation() else None
    without = study.arms_without_feedback(most_events=most)
    has_feedback = without != list(study.arms)
    return {
        "policy": repr(policy),
        "arms": study.arms,
        "recommended": found,
        "recommended_without_feedback": None if without is None else _select_named(found, without),
        "settled": study.settled,
        "is_done": study.is_done,
        "means": None if means is None else means_as_json(means),
        "best_chances": study.best_chances(most_events=most) if has_feedback else None,
        "intervals": study.explain_intervals(most_events=most) if has_feedback else None,
    }


def _select_named(recommendation: Any, arms: list[str]) -> list[str]:
    """Return those of some arms that a recommendation names."""
    if isinstance(recommendation, dict):
        recommendation = (*recommendation, *recommendation.values())
    words = recommendation if isinstance(recommendation, tuple) else (recommendation,)
    return [arm for arm in arms if arm in words]


def _print_state(policy: Any, content: Mapping[str, Any], pending: int, to_ask_again: int) -> None:
    """Print the lines on policy, recommendation and settled arms."""
    from keyhole.study.study_summary import progress_text

    arms, settled = content["arms"], content["settled"]
    waiting = f"{pending} pending{f' ({to_ask_again} to ask again)' if to_ask_again else ''}"
    typer.echo(f"{content['name']}: {content['policy']}, {count_text(len(arms), 'arm')}, {waiting}")
    if content["recommended"] is not None:
        without = content["recommended_without_feedback"]
        mark = f" (no feedback yet: {', '.join(without)})" if without else ""
        typer.echo(f"recommended: {format_recommendation(content['recommended'])}{mark}")
    if policy.verdicts:
        typer.echo("settled: " + progress_text(policy, settled, len(arms)))
    for verdict in policy.verdicts:
        its = [arm for arm, found in settled.items() if found == verdict]
        if its:
            typer.echo(f"settled {verdict}: {', '.join(its)}")
