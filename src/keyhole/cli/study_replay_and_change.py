"""The commands `keyhole study replay` and `change`: another policy on the log of a study."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from keyhole.cli.json_output import print_json
from keyhole.cli.key_values import parse_key_values
from keyhole.cli.options import AsJson, Quiet
from keyhole.cli.study import Name, Own, Parameters, Storage, open_study
from keyhole.validate import check_choice

Other = Annotated[str, typer.Argument(metavar="POLICY", help="A policy of the same setting.")]


def replay(
    storage: Storage,
    name: Name,
    policy: Other,
    words: Parameters = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    own: Own = None,
) -> None:
    """Print how often another policy would have taken the same decisions.

    Each FIELD=VALUE is a parameter of the policy, or a fact that it needs.
    """
    with open_study(storage, name, own) as study:
        other, facts = _make_policy(study, policy, words)
        found = study.replay(other, **facts)
    if as_json:
        counts = {"asked": found.asked, "agreed": found.agreed}
        print_json(
            {"policy": repr(found.policy), **counts, "decisions": found.decisions.to_pylist()}
        )
    else:
        typer.echo(repr(found))


def change(
    storage: Storage, name: Name, policy: Other, words: Parameters = None, own: Own = None
) -> None:
    """Replace the policy; the new one learns the whole log.

    Each FIELD=VALUE is a parameter of the policy, or a fact that it needs.
    """
    with open_study(storage, name, own) as study:
        other, facts = _make_policy(study, policy, words)
        study.change_policy(other, **facts)


def _make_policy(study: Any, name: str, words: list[str] | None) -> tuple[Any, dict[str, Any]]:
    """Return a policy of the study's setting, and the facts given with it."""
    from keyhole.experiment.spec_factories import find_policy_class

    kind = find_policy_class(name, study.policy.setting.name, Path(), field="policy")
    given = parse_key_values(words)
    # Parameters and facts come in one list of words. The number of arms is no fact to be given: the
    # study has it, and it may grow.
    own = [field.name for field in fields(cast(Any, kind))]
    facts_known = [n for n in study.policy.setting.facts if n != "arms"]
    for word in given:
        check_choice("a parameter or fact", word, [*own, *facts_known])
    parameters = {n: v for n, v in given.items() if n in own}
    facts = {n: v for n, v in given.items() if n not in parameters}
    return kind.from_parameters(parameters), facts
