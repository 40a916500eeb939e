"""The commands `keyhole study` that write: ask a policy for decisions, tell it the feedback."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer
from typer import Argument, Option

from keyhole.cli.options import AsJson, add_command, examples_epilog
from keyhole.cli.output import print_result
from keyhole.files import read_toml
from keyhole.text_formatting import count_text
from keyhole.validation import check_choice, short_repr

if TYPE_CHECKING:
    from keyhole.contract.policy import Policy
    from keyhole.study import Study

app = typer.Typer(
    invoke_without_command=True,
    epilog=examples_epilog(
        "keyhole study create items.db study.toml",
        "keyhole study ask items.db labels --json",
        "keyhole study tell items.db labels ID reward=1",
        "keyhole study show items.db labels",
    ),
)

Storage = Annotated[str, Argument(metavar="STORAGE", help="A file, or postgresql://...")]


def _find_study_name(context: typer.Context, name: str | None) -> str | None:
    """Return the given name, or else the name of the only study; refuse none or several."""
    if name is not None or context.resilient_parsing:
        return name
    from keyhole.study import list_studies

    names = list_studies(context.params["storage"])
    return names[0] if len(names) == 1 else check_choice("NAME", name, names)


Name = Annotated[
    str,
    Argument(
        help="The study; optional if it is the only one and no argument follows.",
        default_factory=lambda: None,
        show_default=False,
        callback=_find_study_name,
    ),
]


def _make_key_value_argument(example: str) -> object:
    return Argument(metavar="[FIELD=VALUE]...", help=f"Such as {example}.")


Context = Annotated[list[str] | None, _make_key_value_argument("threshold=3")]
Feedback = Annotated[list[str] | None, _make_key_value_argument("reward=1")]
Parameters = Annotated[list[str] | None, _make_key_value_argument("epsilon=0.05")]
UserPolicies = Annotated[
    list[str] | None,
    Option(
        "--policy",
        metavar="FILE.py:CLASS",
        envvar="KEYHOLE_POLICY",
        help="A policy of your own that the study uses or used.",
    ),
]

OtherPolicy = Annotated[str, Argument(metavar="POLICY", help="A policy of the same setting.")]
Id = Annotated[str, Argument(metavar="ID", help="The id of the decision.")]

# Arguments of the methods of `Study`, to which FIELD=VALUE must not give a value.
_RESERVED_NAMES: Final = ("exclude", "id", "key", "metadata", "policy", "self")


@app.callback()
def show_help(context: typer.Context) -> None:
    """Decide in production, with many pending decisions, kept in a database."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@add_command(app, "keyhole study create items.db study.toml")
def create(
    storage: Storage,
    spec: Annotated[Path, Argument(metavar="STUDY.toml", help="A file that describes a study.")],
    as_json: AsJson = False,
) -> None:
    """Create a study that a file describes."""
    from keyhole.study import Study
    from keyhole.study.study_spec import parse_study_table

    table = read_toml(spec)
    try:
        arguments = parse_study_table(table, spec.parent, own_policies=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{spec}: {error}") from error
    with Study.create(storage, **arguments, exist_ok=False) as study:
        description = {"name": study.name, "policy": repr(study.policy), "arms": study.arms}
        policy_name = type(study.policy).__name__
    text = f"{study.name}: {policy_name}, {count_text(len(study.definition.arms), 'arm')}"
    print_result(description, text, as_json=as_json)


@add_command(app, "keyhole study delete items.db labels --yes")
def delete(
    storage: Storage,
    name: Annotated[str, Argument(help="The study.")],
    is_sure: Annotated[bool, Option("--yes", help="Do not ask whether to delete it.")] = False,
) -> None:
    """Delete a study with all its decisions, for good."""
    from keyhole.study import Study

    if not is_sure:
        typer.confirm(f"Delete the study {name} with all its decisions?", abort=True)
    Study.delete(storage, name)


def open_study(storage: str, name: str, user_policies: list[str] | None) -> "Study":
    """Open a study, whose policy may be one of the user's own policies, `user_policies`."""
    from keyhole.experiment.objects_from_spec import import_user_policies
    from keyhole.study import Study

    return Study.open(storage, name, policies=import_user_policies(user_policies or []))


def study_command(*examples: str, name: str | None = None) -> Callable[..., Any]:
    """Return a decorator that makes a command of a function of a study and options.

    In place of the study, the command takes its storage and its name. It also takes `--policy`.
    """

    def decorate(function: Callable[..., None]) -> Any:
        @wraps(function)
        def run(storage: str, name: str, user_policies: list[str] | None, **options: Any) -> None:
            with open_study(storage, name, user_policies) as study:
                function(study, **options)

        _, *options = signature(function).parameters.values()
        keyword = partial(Parameter, kind=Parameter.KEYWORD_ONLY)
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                keyword("storage", annotation=Storage),
                keyword("name", annotation=Name),
                *(option.replace(kind=Parameter.KEYWORD_ONLY) for option in options),
                keyword("user_policies", annotation=UserPolicies, default=None),
            ]
        )
        return add_command(app, *examples, name=name)(run)

    return decorate


@study_command(
    "keyhole study ask items.db labels",
    "keyhole study ask items.db labels --json --key first-of-today",
    'keyhole study ask items.db labels --exclude cat --metadata \'{"who": "ann"}\'',
)
def ask(
    study: Any,
    values: Context = None,
    key: Annotated[str | None, Option(help="Idempotency key, for retries.")] = None,
    exclude: Annotated[
        list[str] | None, Option(metavar="ARM", help="An arm not to choose; repeatable.")
    ] = None,
    metadata: Annotated[str | None, Option(help='JSON to keep: \'{"who": "ann"}\'.')] = None,
    as_json: AsJson = False,
) -> None:
    """Take a decision, and print its id and its fields."""
    data = None if metadata is None else parse_json("--metadata", metadata)
    decision = study.ask(key=key, exclude=exclude, metadata=data, **parse_key_values(values))
    text = f"{decision.id} {format_key_values(decision.words)}"
    print_result(decision.as_json(), text, as_json=as_json)


@study_command(
    "keyhole study tell items.db labels ID reward=1",
    'keyhole study tell items.db patrols ID \'losses=["north", "south"]\'',
    "keyhole study tell shop.db buttons --by-key VISITOR reward=1",
)
def tell(
    study: Any,
    id: Id,
    values: Feedback = None,
    by_key: Annotated[bool, Option("--by-key", help="ID is a key given to ask or import.")] = False,
) -> None:
    """Record the feedback of a decision."""
    study.tell(study.find_decision(id) if by_key else id, **parse_key_values(values))


@study_command("keyhole study correct items.db labels ID reward=0")
def correct(study: Any, id: Id, values: Feedback = None) -> None:
    """Replace feedback that was told by mistake."""
    study.correct(id, **parse_key_values(values))


@study_command("keyhole study erase-metadata items.db labels", name="erase-metadata")
def erase_metadata(
    study: Any,
    ids: Annotated[list[str] | None, Argument(metavar="[ID]...", help="By default all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Erase the metadata of decisions; the log stays as it is."""
    count = study.erase_metadata(ids)
    text = f"{study.name}: metadata of {count_text(count, 'event')} erased"
    print_result({"erased": count}, text, as_json=as_json)


@study_command("keyhole study tell-sum items.db sales 17 --rounds 40", name="tell-sum")
def tell_sum(
    study: Any,
    total: Annotated[float, Argument(help="The sum of the rewards.")],
    rounds: Annotated[int, Option(help="The number of rounds in the sum.")] = 1,
) -> None:
    """Record the sum of the rewards that arrived, where feedback is anonymous."""
    study.tell_sum(total, rounds=rounds)


@study_command("keyhole study expire items.db labels ID", name="expire")
def expire(study: Any, id: Id) -> None:
    """Expire a pending decision."""
    study.expire(id)


@study_command("keyhole study add-arm items.db labels emu gnu")
def add_arm(study: Any, arms: Annotated[list[str], Argument(metavar="ARM...")]) -> None:
    """Add arms, all or none."""
    study.add_arms(arms)


@study_command("keyhole study retire items.db labels owl")
def retire(study: Any, arm: Annotated[str, Argument(help="Its name.")]) -> None:
    """Retire an arm, for good."""
    study.retire(arm)


@study_command("keyhole study export items.db labels labels.jsonl")
def export(study: Any, path: Annotated[Path, Argument(metavar="FILE")]) -> None:
    """Write the whole study to a file, a line of JSON for each event."""
    study.export(path)


@add_command(app, "keyhole study restore elsewhere.db labels.jsonl")
def restore(
    storage: Storage,
    path: Annotated[Path, Argument(metavar="FILE", help="A file that export wrote.")],
    name: Annotated[str | None, Option(help="By default the exported name.")] = None,
    user_policies: UserPolicies = None,
) -> None:
    """Create a study from an export."""
    from keyhole.experiment.objects_from_spec import import_user_policies
    from keyhole.study import Study

    policies = import_user_policies(user_policies or [])
    Study.restore(storage, path, name=name, policies=policies).close()


@add_command(app, "keyhole study backup items.db monday.db")
def backup(
    storage: Storage,
    path: Annotated[Path, Argument(metavar="TO", help="A new file.")],
    as_json: AsJson = False,
) -> None:
    """Copy all studies of a database into a new file, while others go on writing."""
    from keyhole.study import backup

    names = backup(storage, path)
    text = f"{path}: {count_text(len(names), 'study')}"
    print_result({"backup": path, "studies": names}, text, as_json=as_json)


@study_command(
    "keyhole study import items.db labels past.csv",
    "keyhole study import items.db labels past.csv --arm item --reward label",
    "keyhole study import shop.db buttons past.csv --shown-at shown --converted-at bought "
    "--key visitor --delimiter ';' --date-format '%d.%m.%Y %H:%M'",
    name="import",
)
def import_results(
    study: Any,
    path: Annotated[Path, Argument(metavar="FILE.csv", help="A row for each decision.")],
    arm: Annotated[str, Option(help="The column of the arm's name.")] = "arm",
    reward: Annotated[str, Option(help="The column of its reward.")] = "reward",
    converted_at: Annotated[str | None, Option(help="Column of times; empty: reward 0.")] = None,
    shown_at: Annotated[str | None, Option(help="The column of the decisions' times.")] = None,
    within: Annotated[str | None, Option(help="Conversion window: 7d (default: timeout).")] = None,
    key: Annotated[str | None, Option(help="Column of keys; recent rows become pending.")] = None,
    delimiter: Annotated[str, Option(help="Such as ';' or '\\t'.")] = ",",
    date_format: Annotated[str | None, Option(help="'%d.%m.%Y %H:%M', unix or unix_ms.")] = None,
    decimal: Annotated[str, Option(help="The decimal sign.")] = ".",
    as_json: AsJson = False,
) -> None:
    """Begin a study, just created, with past decisions and their rewards.

    All rows are imported or none; the same file again changes nothing. Import only for policies
    that learn equally well from decisions that others took. Rows must be in the order of time, and
    not selected by their rewards. Other commands that write to the study wait meanwhile.

    Rows that may yet convert would count as 0: leave them out, or give --shown-at and
    --converted-at. Then the import leaves them out or, with --key, makes them pending until they
    are told (keyhole study tell --by-key) or expire.
    """
    imported_count = study.import_csv(
        path, arm=arm, reward=reward, converted_at=converted_at, shown_at=shown_at, within=within,
        key=key, delimiter=delimiter, date_format=date_format, decimal=decimal,
    )  # fmt: skip
    pending_count = imported_count and len(study.pending)
    text = "imported before, nothing is changed"
    if imported_count:
        text = f"{count_text(imported_count, 'decision')} imported"
    if pending_count:
        text += f", {pending_count:,} of them pending"
    content = {"imported": imported_count, "pending": pending_count}
    print_result(content, f"{study.name}: {text}", as_json=as_json)


@study_command("keyhole study change items.db labels APT epsilon=0.05")
def change(study: Any, policy: OtherPolicy, values: Parameters = None) -> None:
    """Replace the policy; the new policy learns the whole log.

    Each FIELD=VALUE is a parameter of the policy, or a known quantity that it needs.
    """
    new_policy, facts = make_other_policy(study, policy, values)
    study.change_policy(new_policy, **facts)


def make_other_policy(
    study: "Study", name: str, arguments: list[str] | None
) -> tuple["Policy", dict[str, Any]]:
    """Return a policy of the study's setting, and the known quantities given with it."""
    from keyhole.experiment.objects_from_spec import find_policy_class

    policy_class = find_policy_class(name, study.policy.setting.name, Path(), field="policy")
    values = parse_key_values(arguments)
    # The number of arms is a fact, too, but must not be given: the study knows it.
    parameter_names = [field.name for field in fields(cast(Any, policy_class))]
    fact_names = [fact for fact in study.policy.setting.facts if fact != "arms"]
    for key in values:
        check_choice("a parameter or fact", key, [*parameter_names, *fact_names])
    parameters = {key: value for key, value in values.items() if key in parameter_names}
    facts = {key: value for key, value in values.items() if key not in parameters}
    return policy_class.from_parameters(parameters), facts


def parse_json(name: str, text: str) -> object:
    """Return the value of a JSON text; errors begin with `name`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON, got {short_repr(text)}: {error}") from error


def parse_key_values(arguments: list[str] | None) -> dict[str, Any]:
    """Return arguments such as ``reward=1`` by name: values that are not TOML are texts."""
    values: dict[str, Any] = {}
    for argument in arguments or []:
        name, sign, text = argument.partition("=")
        if not sign or not name.isidentifier():
            raise ValueError(
                f"an argument must be FIELD=VALUE, such as reward=1, got {short_repr(argument)}"
            )
        if name in _RESERVED_NAMES or name in values:
            raise ValueError(
                f"each field must be one of the study's, and given once, got {short_repr(argument)}"
            )
        try:
            content = tomllib.loads(f"value = {text}")
        except (tomllib.TOMLDecodeError, RecursionError):
            content = {}
        # A value with a line break may be TOML with several keys: it is a text.
        values[name] = content["value"] if content.keys() == {"value"} else text
    return values


def format_key_values(values: Mapping[str, object]) -> str:
    """Return values on one line, in the form that `parse_key_values` reads."""
    return " ".join(f"{name}={_format_value(value)}" for name, value in values.items())


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
