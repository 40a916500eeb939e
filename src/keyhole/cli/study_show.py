"""The command `keyhole study show`: recommendation, means by arm (option), pending decisions."""

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.key_values import format_key_values, format_recommendation, names_in_recommendation
from keyhole.cli.options import AsJson
from keyhole.cli.study import Name, Own, Storage, open_study
from keyhole.contract.text_formatting import count_text


def show(storage: Storage, name: Name, as_json: AsJson = False, own: Own = None) -> None:
    """Print the recommendation, the means by arm, and the pending decisions.

    Pending decisions that expired and wait to be asked again are counted and marked (JSON: their
    ids, to_ask_again).
    Recommended arms without feedback are listed after the recommendation (JSON:
    recommended_without_feedback): the policy has only its assumptions about them. The interval of a
    mean holds at all times at once, with 95 % confidence for each arm: look as often as you like.
    Means, and the list of arms without feedback, are left out above 50,000 events.
    """
    from keyhole.study.arm_means import mean_lines, means_as_json
    from keyhole.study.stopping_progress import progress_text
    from keyhole.study.study_summary import MOST_EVENTS

    with open_study(storage, name, own) as study:
        policy = study.policy
        found = study.recommend() if policy.vocabulary_class.has_recommendation() else None
        pending, expired = study.pending, study.to_ask_again
        means = study.means(most_events=MOST_EVENTS)
        untried = study.arms_without_feedback(most_events=MOST_EVENTS)
        has_means = any((means or {}).values())
        content = {
            "name": name,
            "policy": repr(policy),
            "arms": study.arms,
            "recommended": found,
            "recommended_without_feedback": names_in_recommendation(found, untried),
            "settled": study.settled,
            "is_done": study.is_done,
            "means": None if means is None else means_as_json(means),
            "intervals": study.explain_intervals(most_events=MOST_EVENTS) if has_means else None,
            "pending": [decision.as_json() for decision in pending],
            "to_ask_again": expired,
        }
    if as_json:
        print_json(content)
        return
    typer.echo(
        f"{name}: {content['policy']}, {count_text(len(content['arms']), 'arm')}, "
        f"{len(pending)} pending{f' ({len(expired)} to ask again)' if expired else ''}"
    )
    if found is not None:
        without = content["recommended_without_feedback"]
        mark = f" (no feedback yet: {', '.join(without)})" if without else ""
        typer.echo(f"recommended: {format_recommendation(found)}{mark}")
    if policy.verdicts:
        typer.echo("settled: " + progress_text(policy, content["settled"], len(content["arms"])))
        for verdict in policy.verdicts:
            its = [arm for arm, found in content["settled"].items() if found == verdict]
            if its:
                typer.echo(f"settled {verdict}: {', '.join(its)}")
    for line in mean_lines(means or {}):
        typer.echo(line)
    if has_means:
        typer.echo(content["intervals"])
    if means is None:
        typer.echo(f"More than {MOST_EVENTS:,} events: means and arms without feedback left out.")
    marked = frozenset(expired)
    for decision in pending:
        mark = ", expired: to ask again" if decision.id in marked else ""
        typer.echo(
            f"{decision.id} {format_key_values(decision.words)} since {decision.at:%F %T} UTC{mark}"
        )
