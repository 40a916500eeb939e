"""The commands `keyhole study` that change no study: list, show, history, report, replay, ..."""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer import Argument, Option

from keyhole.cli import study as commands
from keyhole.cli.options import AsJson, Quiet, add_command
from keyhole.cli.output import DAMAGED, print_json, print_result
from keyhole.text_formatting import count_text
from keyhole.validation import check_choice, check_distinct, short_repr

if TYPE_CHECKING:
    from keyhole.contract.policy import Policy

app = commands.app
"""The commands of `keyhole.cli.study`, to which this module adds others."""

_SHOWN_AT_EACH_END: Final = 5  # pending decisions shown of a longer list
_STOPPING_RULES: Final = {"stochastic": "BestArmStopping", "thresholding": "PerArmStopping"}
_CAVEAT: Final = " (the study's means so far; the highest is likely too high, and the test longer)"
Means = Annotated[str | None, Option(metavar="MEAN,...", help="Mean rewards you think possible.")]


@add_command(app, "keyhole study list items.db", name="list")
def list_(storage: commands.Storage, as_json: AsJson = False) -> None:
    """Print the studies in a database."""
    from keyhole.study import list_studies

    names = list_studies(storage)
    print_result(names, "\n".join(names), as_json=as_json)


@commands.study_command("keyhole study history items.db labels")
def history(study: Any, as_json: AsJson = False) -> None:
    """Print all events, each on a line."""
    from keyhole.study.log_export import EventFormatter

    formatter = EventFormatter(study.definition, metadata=study.metadata())
    for row in study.log():
        event = formatter.format(row)
        if as_json:
            print_json(event)
        else:
            when = datetime.fromtimestamp(event.pop("at"), UTC)
            time_text = f"{event.pop('seq')} {when:%F %T} {event.pop('event')}"
            # "stream", the position of the random stream, and "head", the study's whole definition,
            # are left out: they are long and only programs use them, with --json.
            fields = {n: v for n, v in event.items() if n not in ("decision", "stream", "head")}
            if "head" in event:
                fields["policy"] = event["head"]["policy"]
            columns = (time_text, event.get("decision", ""), commands.format_key_values(fields))
            typer.echo(" ".join(filter(None, columns)))


@commands.study_command("keyhole study report items.db labels --out page.html")
def report(
    study: Any,
    out: Annotated[Path, Option(metavar="FILE.html", help="The page.")],
    as_json: AsJson = False,
) -> None:
    """Write a page: recommendation, means, decisions over time, delays, the last events."""
    path = study.write_report(out)
    print_result({"page": str(path)}, f"page: {path}", as_json=as_json)


@commands.study_command("keyhole study show items.db labels")
def show(study: Any, as_json: AsJson = False) -> None:
    """Print the summary that print(study) shows in Python, and the pending decisions.

    The table has the 12 arms with the most decisions; other lists of arms stop after 5 arms (JSON:
    all). The interval of a mean holds at all times at once, with 95 % confidence for each arm: look
    as often as you like. If the policy has a posterior, the chance of an arm to be best follows
    from it. Without feedback on an arm, the policy has only its assumptions about the arm. Above
    200,000 events, counts, means and chances are left out; in Python, Study.means() has the means.

    If more than 10 decisions are pending, the first 5 and the last 5 are printed (JSON: all).
    Decisions that expired and wait to be asked again are marked (JSON: to_ask_again has their ids).
    A decision past its time expires at the next ask, not here.
    """
    pending = study.pending
    expired_ids = study.to_ask_again
    expiry_rule = study.definition.rule
    content = _study_as_json(study)
    if as_json:
        decisions = [decision.as_json() for decision in pending]
        print_json(content | {"pending": decisions, "to_ask_again": expired_ids})
        return
    typer.echo(study)
    expired_set = frozenset(expired_ids)
    now = time.time()
    overdue_count = sum(
        decision.id not in expired_set and expiry_rule.is_overdue(now - decision.at.timestamp(), 0)
        for decision in pending
    )
    if overdue_count:
        typer.echo(f"past their time: {overdue_count:,} pending, which expire at the next ask")
    lines = [
        f"{decision.id} {commands.format_key_values(decision.words)} since {decision.at:%F %T} UTC"
        + ", expired: to ask again" * (decision.id in expired_set)
        for decision in pending
    ]
    if (hidden_count := len(lines) - 2 * _SHOWN_AT_EACH_END) > 0:
        note = f"... {hidden_count:,} more pending (all: --json)"
        lines[_SHOWN_AT_EACH_END:-_SHOWN_AT_EACH_END] = [note]
    for line in lines:
        typer.echo(line)


def _study_as_json(study: Any) -> dict[str, Any]:
    """Return the summary of a study as JSON, without its pending decisions."""
    from keyhole.study.arm_means import means_as_json
    from keyhole.study.study_summary import MOST_EVENTS

    policy = study.policy
    means = study.means(most_events=MOST_EVENTS)
    recommendation = None
    if policy.vocabulary_class.has_recommendation():
        recommendation = study.recommend()
    unseen_arms = study.arms_without_feedback(most_events=MOST_EVENTS)
    best_chances = None
    intervals = None
    if unseen_arms != list(study.arms):
        best_chances = study.best_chances(most_events=MOST_EVENTS)
        intervals = study.explain_intervals(most_events=MOST_EVENTS)
    return {
        "name": study.name,
        "policy": repr(policy),
        "arms": study.arms,
        "recommended": recommendation,
        "arms_without_feedback": unseen_arms,
        "settled": study.settled,
        "is_done": study.is_done,
        "means": means and means_as_json(means),
        "best_chances": best_chances,
        "intervals": intervals,
    }


@commands.study_command("keyhole study replay items.db labels APT epsilon=0.05")
def replay(
    study: Any,
    policy: commands.OtherPolicy,
    values: commands.Parameters = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print how often another policy would have taken the same decisions.

    Each FIELD=VALUE is a parameter of the policy, or a known quantity that it needs.
    """
    other_policy, facts = commands.make_other_policy(study, policy, values)
    result = study.replay(other_policy, **facts)
    counts = {"asked": result.asked, "agreed": result.agreed}
    content = {"policy": repr(result.policy), **counts, "decisions": result.decisions.to_pylist()}
    print_result(content, repr(result), as_json=as_json)


@add_command(app, "keyhole study check items.db")
def check(
    storage: commands.Storage,
    name: Annotated[str | None, Argument(metavar="[NAME]", help="A study; by default all.")] = None,
    repair_to: Annotated[
        int | None, Option(metavar="EVENT", help="Copy the events up to this one to --out.")
    ] = None,
    out: Annotated[str | None, Option(help="Another database: a file, or postgresql://...")] = None,
    as_json: AsJson = False,
    user_policies: commands.UserPolicies = None,
) -> None:
    """Check a database: every page, definition, event and snapshot.

    Prints a line for each study, and ends with 1 if anything is damaged. With --repair-to, events
    of a study are copied to --out, and the damaged database is left as it is.
    """
    from keyhole.experiment.objects_from_spec import import_user_policies
    from keyhole.study import check_database, copy_intact_events

    if (repair_to is None) != (out is None):
        raise ValueError("--repair-to and --out must be given together")
    if repair_to is not None and name is None:
        raise ValueError("--repair-to must be given with the NAME of a study")
    policies = import_user_policies(user_policies or [])
    if repair_to is not None and out is not None and name is not None:
        copy = copy_intact_events(storage, name, repair_to, out, policies=policies)
        text = f"{name}: goes on after event {repair_to} in {out}"
        if lost_count := copy.events - repair_to:
            text += f", without the last {count_text(lost_count, 'event')}"
        content = asdict(copy) | {"continues_after": repair_to, "storage": out}
        print_result(content, copy, text, as_json=as_json)
        return
    result = check_database(storage, name, policies=policies)
    damage = [f"{storage}: damaged: {result.damage}"] if result.damage else []
    content = {"is_whole": result.is_whole, **asdict(result)}
    print_result(content, *damage, *result.studies, as_json=as_json)
    raise typer.Exit(0 if result.is_whole else DAMAGED)


@add_command(
    app,
    "keyhole study plan --means .04,.05,.07",
    "keyhole study plan items.db buttons --means .04,.07 --delta .1",
    "keyhole study plan --means .2,.4,.7 --threshold .5 --rule FamilywiseStopping",
)
def plan(
    storage: Annotated[str | None, Argument(help="The file of a study.")] = None,
    name: Annotated[str | None, Argument(help="The study.")] = None,
    means: Means = None,
    rule: Annotated[str | None, Option(help="The policy, which must be able to stop.")] = None,
    delta: Annotated[float | None, Option(help="The error rate that the policy allows.")] = None,
    tolerance: Annotated[float | None, Option(help="The policy's tolerance, if any.")] = None,
    threshold: Annotated[float | None, Option(help="Arms are labelled above or below it.")] = None,
    decisions: Annotated[int, Option(min=1, help="The most decisions of a test.")] = 200_000,
    replications: Annotated[int, Option(min=1, help="The number of simulated tests.")] = 200,
    as_json: AsJson = False,
    quiet: Quiet = False,
    user_policies: commands.UserPolicies = None,
) -> None:
    """Simulate how many decisions a test takes until it ends.

    A test ends when its policy has settled each arm: BestArmStopping, the default, names the best
    arm; with --threshold, PerArmStopping says which arms are above it. With STORAGE and NAME, the
    study gives the policy and the threshold; it also gives the means, unless --means is given.
    Decisions are counted from the first decision of a test, also if the study has already begun.
    The same arguments print the same numbers.
    """
    from keyhole.contract.reward_units import UNIT
    from keyhole.experiment.objects_from_spec import make_policy, make_problem
    from keyhole.play.simulation import stopping_times

    if storage is None and means is None:
        raise ValueError("--means must be given")
    if storage is not None and name is None:
        raise ValueError("NAME (see keyhole study list) must be given")
    setting = "stochastic" if threshold is None else "thresholding"
    policy: Policy | None = None
    scale = UNIT
    unit_threshold = None
    names, mean_rewards = _parse_means(means)
    if storage is not None and name is not None:
        with commands.open_study(storage, name, user_policies) as study:
            policy = study.policy
            scale = study.definition.scale
            setting = policy.setting.name
            names = names or list(study.arms)
            mean_rewards = mean_rewards or _find_means_so_far(study)
            unit_threshold = study.definition.facts.get("threshold")
    if threshold is not None:
        unit_threshold = scale.check_reward("--threshold", threshold)
    if rule is not None:
        _check_rule(rule, setting)
    options = {"delta": delta, "tolerance": tolerance}
    parameters = {option: value for option, value in options.items() if value is not None}
    if rule is None and policy is not None and policy.verdicts:
        policy = type(policy).from_parameters(policy.parameters() | parameters)
    else:
        table = {"name": rule or _STOPPING_RULES.get(setting) or type(policy).__name__}
        policy = make_policy(table | parameters, setting, Path())
    unit_means = [scale.check_reward("each of --means", reward) for reward in mean_rewards]
    entries = {"setting": setting, "means": unit_means, "threshold": unit_threshold}
    times = stopping_times(
        make_problem({n: entry for n, entry in entries.items() if entry is not None}, Path()),
        policy,
        horizon=decisions,
        replications=replications,
        progress=not quiet,
    )
    content = asdict(times) | {"names": names, "means": mean_rewards, "means_so_far": not means}
    pairs = zip(names, mean_rewards, strict=True)
    texts = [f"{name}={reward:.4g}" if name else f"{reward:.4g}" for name, reward in pairs]
    means_text = f"means: {', '.join(texts)}"
    if not means:
        means_text += _CAVEAT
    print_result(content, means_text, times, as_json=as_json)


def _check_rule(rule: str, setting: str) -> None:
    """Refuse a `--rule` that is no policy of the setting, or that cannot stop."""
    from keyhole.experiment.objects_from_spec import find_policy_class, is_policy_file
    from keyhole.experiment.setting_registry import find_setting

    names = [name for name, cls in find_setting(setting).policies.items() if cls.verdicts]
    if names and not is_policy_file(rule):
        check_choice("--rule", rule, names)
    elif not find_policy_class(rule, setting, Path(), field="--rule").verdicts:
        raise ValueError(f"--rule must be a policy that can stop, got {short_repr(rule)}")


def _parse_means(text: str | None) -> tuple[list[str], list[float]]:
    """Return the names and the means in a text such as ``A=.04,.05``; a missing name is ""."""
    pairs = [mean.rpartition("=") for mean in text.split(",")] if text else []
    names = [name.strip() for name, _, _ in pairs]
    if arm_names := list(filter(None, names)):
        check_distinct("the names in --means", arm_names)
    try:
        return names, [float(number) for _, _, number in pairs]
    except ValueError:
        raise ValueError(
            "--means must be numbers with commas between, such as .04,.05 or A=.04,B=.05, "
            f"got {short_repr(text)}"
        ) from None


def _find_means_so_far(study: Any) -> list[float]:
    """Return the mean rewards of the arms in use; refuse a study with an arm without rewards."""
    means = study.means()
    if unseen_arms := [arm for arm in study.arms if "reward" not in means[arm]]:
        raise ValueError(f"--means must be given: no reward of {unseen_arms[0]!r} was told yet")
    return [means[arm]["reward"].mean for arm in study.arms]
