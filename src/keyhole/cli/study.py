"""The commands `keyhole study`: ask a policy in production for decisions, tell it their outcome."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.key_values import format_key_values, parse_key_values
from keyhole.cli.options import AsJson, show_examples
from keyhole.cli.user_policies import load_user_policies
from keyhole.files import read_toml
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice, short_repr

app = typer.Typer(
    invoke_without_command=True,
    epilog=show_examples(
        "keyhole study create items.db study.toml",
        "keyhole study ask items.db labels --json",
        "keyhole study tell items.db labels ID reward=1",
        "keyhole study show items.db labels",
    ),
)

Storage = Annotated[str, typer.Argument(metavar="STORAGE", help="A file, or postgresql://...")]


def _only_study(context: typer.Context, name: str | None) -> str | None:
    """Return the name of a study; of the only one in its storage if none is given."""
    if name is not None or context.resilient_parsing:
        return name
    from keyhole.study import list_studies

    names = list_studies(context.params["storage"])
    return names[0] if len(names) == 1 else check_choice("NAME", name, names)


Name = Annotated[
    str,
    typer.Argument(
        help="The study; where there is only one, and nothing follows, it may be left out.",
        default_factory=lambda: None,
        show_default=False,
        callback=_only_study,
    ),
]


def _fields(example: str) -> Any:
    """Return an argument that takes values by name."""
    return typer.Argument(metavar="[FIELD=VALUE]...", help=f"Such as {example}.")


Context = Annotated[list[str] | None, _fields("threshold=3")]
Feedback = Annotated[list[str] | None, _fields("reward=1")]
Parameters = Annotated[list[str] | None, _fields("epsilon=0.05")]
Own = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="FILE.py:CLASS",
        envvar="KEYHOLE_POLICY",
        help="A policy of your own that the study uses or used.",
    ),
]

_ENTRIES: Final = ("setting", "name", "arms", "policy", "facts", "pending", "timeout",
                   "timeout_decisions", "on_timeout", "seed", "time_unit", "scale",
                   "durability")  # fmt: skip


@app.callback()
def show_help(context: typer.Context) -> None:
    """Decide in production, with many pending decisions, kept in a database."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=show_examples("keyhole study create items.db study.toml"))
def create(
    storage: Storage,
    spec: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="A description of it.")],
    as_json: AsJson = False,
) -> None:
    """Create a study that a file describes."""
    from keyhole.experiment import setting_registry, spec_factories
    from keyhole.study import Study

    content = read_toml(spec)
    for entry in content:
        check_choice(f"an entry of {spec}", entry, _ENTRIES)
    for entry in ("setting", "name", "arms", "policy"):
        if entry not in content:
            raise ValueError(f"{spec} must have the entry {entry!r}")
    setting = content.pop("setting")
    setting_registry.find_setting(setting)
    table = content.pop("policy")
    table = {"name": table} if isinstance(table, str) else _check_table("policy", table)
    try:
        policy = spec_factories.make_policy(table, setting, spec.parent)
    except (TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(f"policy.{error}") from error
    if policy.setting.name != setting:
        raise ValueError(f"policy must be of the setting {setting!r}, got {policy!r}")
    # Some facts are objects that TOML cannot hold, such as a cost function: the setting reads them.
    reads = policy.vocabulary_class.fact_readers if policy.vocabulary_class else {}
    facts = {
        name: reads[name](f"facts.{name}", value, spec.parent) if name in reads else value
        for name, value in _check_table("facts", content.pop("facts", {})).items()
    }
    # All other entries are arguments of `Study.create`, under the same names; it checks them.
    name, arms = content.pop("name"), content.pop("arms")
    with Study.create(storage, name, policy, arms, **content, **facts) as study:
        created = {"name": name, "policy": repr(study.policy), "arms": study.arms}
    if as_json:
        print_json(created)
    else:
        typer.echo(f"{name}: {type(policy).__name__}, {count_text(len(arms), 'arm')}")


def _check_table(name: str, value: object) -> dict[str, Any]:
    """Return a table of the file; refuse another value."""
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a table, got {short_repr(value)}")
    return dict(value)


@app.command(
    epilog=show_examples(
        "keyhole study ask items.db labels",
        "keyhole study ask items.db labels --json --key first-of-today",
    )
)
def ask(
    storage: Storage,
    name: Name,
    words: Context = None,
    key: Annotated[str | None, typer.Option("--key", help="An idempotency key.")] = None,
    as_json: AsJson = False,
    own: Own = None,
) -> None:
    """Print a decision: its id and its fields."""
    with open_study(storage, name, own) as study:
        decision = study.ask(key=key, **parse_key_values(words))
    if as_json:
        print_json(decision.as_json())
    else:
        typer.echo(f"{decision.id} {format_key_values(decision.words)}")


@app.command(
    epilog=show_examples(
        "keyhole study tell items.db labels ID reward=1",
        'keyhole study tell items.db patrols ID \'losses=["north", "south"]\'',
        "keyhole study tell shop.db buttons --by-key VISITOR reward=1",
    )
)
def tell(
    storage: Storage,
    name: Name,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the decision.")],
    words: Feedback = None,
    by_key: Annotated[
        bool, typer.Option("--by-key", help="ID is an idempotency key, of ask or of import.")
    ] = False,
    own: Own = None,
) -> None:
    """Record the feedback of a decision."""
    with open_study(storage, name, own) as study:
        study.tell(study.find_decision(id) if by_key else id, **parse_key_values(words))


@app.command(
    "tell-sum", epilog=show_examples("keyhole study tell-sum items.db sales 17 --rounds 40")
)
def tell_sum(
    storage: Storage,
    name: Name,
    total: Annotated[float, typer.Argument(help="The sum of the rewards.")],
    rounds: Annotated[int, typer.Option("--rounds", help="The number of rounds in the sum.")] = 1,
    own: Own = None,
) -> None:
    """Record the sum of the rewards that arrived, where feedback is anonymous."""
    with open_study(storage, name, own) as study:
        study.tell_sum(total, rounds=rounds)


@app.command("expire", epilog=show_examples("keyhole study expire items.db labels ID"))
def expire(
    storage: Storage,
    name: Name,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the decision.")],
    own: Own = None,
) -> None:
    """Expire a pending decision."""
    with open_study(storage, name, own) as study:
        study.expire(id)


@app.command(epilog=show_examples("keyhole study add-arm items.db labels emu gnu"))
def add_arm(
    storage: Storage,
    name: Name,
    arms: Annotated[list[str], typer.Argument(metavar="ARM...", help="Their names.")],
    own: Own = None,
) -> None:
    """Add arms, all or none."""
    with open_study(storage, name, own) as study:
        study.add_arms(arms)


@app.command(epilog=show_examples("keyhole study retire items.db labels owl"))
def retire(
    storage: Storage,
    name: Name,
    arm: Annotated[str, typer.Argument(help="Its name.")],
    own: Own = None,
) -> None:
    """Retire an arm, for good."""
    with open_study(storage, name, own) as study:
        study.retire(arm)


@app.command(epilog=show_examples("keyhole study history items.db labels"))
def history(storage: Storage, name: Name, as_json: AsJson = False, own: Own = None) -> None:
    """Print all events, one a line."""
    from keyhole.study.log_export import EventFormatter

    with open_study(storage, name, own) as study:
        formatter = EventFormatter(study.definition)
        for row in study.log():
            event = formatter.words(row)
            if as_json:
                print_json(event)
            else:
                when = datetime.fromtimestamp(event.pop("at"), UTC)
                first = f"{event.pop('seq')} {when:%F %T} {event.pop('event')}"
                # Left out: the position of the random stream and the whole definition. They are
                # long, and of use to programs only, which have --json.
                rest = {n: v for n, v in event.items() if n not in ("decision", "stream", "head")}
                if "head" in event:
                    rest["policy"] = event["head"]["policy"]
                words = (first, event.get("decision", ""), format_key_values(rest))
                typer.echo(" ".join(filter(None, words)))


@app.command(epilog=show_examples("keyhole study export items.db labels labels.jsonl"))
def export(
    storage: Storage,
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="FILE")],
    own: Own = None,
) -> None:
    """Write the whole study to a file, a line of JSON for each event."""
    with open_study(storage, name, own) as study:
        study.export(path)


@app.command(epilog=show_examples("keyhole study restore elsewhere.db labels.jsonl"))
def restore(
    storage: Storage,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file that export wrote.")],
    name: Annotated[str | None, typer.Option("--name", help="By default the old one.")] = None,
    own: Own = None,
) -> None:
    """Create a study from an export."""
    from keyhole.study import Study

    Study.restore(storage, path, name=name, policies=load_user_policies(own)).close()


@app.command(epilog=show_examples("keyhole study backup items.db monday.db"))
def backup(
    storage: Storage,
    path: Annotated[Path, typer.Argument(metavar="TO", help="A new file.")],
    as_json: AsJson = False,
) -> None:
    """Copy all studies of a database into a new file, while others go on writing."""
    from keyhole.study import backup

    names = backup(storage, path)
    if as_json:
        print_json({"backup": path, "studies": names})
    else:
        typer.echo(f"{path}: {count_text(len(names), 'study')}")


@app.command(name="list", epilog=show_examples("keyhole study list items.db"))
def list_(storage: Storage, as_json: AsJson = False) -> None:
    """Print the studies in a database."""
    from keyhole.study import list_studies

    names = list_studies(storage)
    if as_json:
        print_json(names)
    else:
        typer.echo("\n".join(names))


def open_study(storage: str, name: str, own: list[str] | None) -> Any:
    """Open a study, with the policies of `--policy` among which its own may be."""
    from keyhole.study import Study

    return Study.open(storage, name, policies=load_user_policies(own))
