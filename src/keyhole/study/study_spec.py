"""The spec of a study: a table that describes the study, such as the table of a TOML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from keyhole.contract.learner_arguments import learner_arguments
from keyhole.contract.policy import Policy
from keyhole.experiment import objects_from_spec, setting_registry
from keyhole.validation import check_choice, short_repr

_REQUIRED: Final = ("setting", "name", "arms", "policy")
# `Study.create` takes "scale" among the facts.
_ENTRIES: Final = (*_REQUIRED, "facts", "pending", "timeout", "timeout_decisions", "on_timeout",
                   "seed", "time_unit", "scale", "durability")  # fmt: skip


def parse_study_table(
    table: Mapping[str, object], folder: Path, own_policies: bool
) -> dict[str, Any]:
    """Return the arguments of `Study.create` that a table describes.

    Parameters
    ----------
    table : mapping
        As in `Study.create_from`.
    folder : Path
        The folder to which paths of files in the table are relative.
    own_policies : bool
        Whether the policy may be a class in a file, ``"file.py:Class"``, which is then run.
    """
    arguments = _check_table("table", table)
    for entry in arguments:
        if entry not in _ENTRIES:
            _refuse_entry(entry, arguments.get("setting"))
    for entry in _REQUIRED:
        if entry not in arguments:
            raise ValueError(f"a study must have the entry {entry!r}")
    setting = setting_registry.find_setting(arguments.pop("setting")).name
    policy = _read_policy(arguments.pop("policy"), setting, folder, own_policies)
    facts = _check_table("facts", arguments.pop("facts", {}))
    # Some facts are objects that TOML cannot hold, such as a cost function. The setting makes them.
    readers = policy.vocabulary_class.fact_readers if policy.vocabulary_class else {}
    for fact, value in facts.items():
        if fact in _ENTRIES:
            raise ValueError(f"facts must have no entry {fact!r}, which is an entry of the study")
        if fact in readers:
            facts[fact] = readers[fact](f"facts.{fact}", value, folder)
    return {"policy": policy, **arguments, **facts}


def _refuse_entry(entry: object, setting_name: object) -> None:
    """Refuse an unknown entry of a study; the error says if it belongs in the table of facts."""
    if setting_name in setting_registry.setting_names():
        setting = setting_registry.find_setting(setting_name).module.SETTING
        names = [argument.name for argument in learner_arguments(setting, None)]
        if entry in names and entry != "interpreted":
            raise ValueError(
                f"{entry} must be an entry of facts (in a file, below the heading [facts]), since "
                f"it is a fact of the setting {setting.name!r}"
            )
    check_choice("an entry", entry, _ENTRIES)


def _read_policy(value: object, setting: str, folder: Path, own_policies: bool) -> Policy:
    """Return a policy of a setting, from its name or from a table of its name and parameters."""
    table = {"name": value} if isinstance(value, str) else _check_table("policy", value)
    name = table.get("name")
    if not own_policies and isinstance(name, str) and objects_from_spec.is_policy_file(name):
        raise ValueError(f"policy.name must be a policy of Keyhole here, got {short_repr(name)}")
    try:
        policy = objects_from_spec.make_policy(table, setting, folder)
    except (TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(f"policy.{error}") from error
    if policy.setting.name != setting:
        raise ValueError(f"policy must be of the setting {setting!r}, got {policy!r}")
    return policy


def _check_table(name: str, value: object) -> dict[str, Any]:
    """Return a copy of a table; refuse any other value."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{name} must be a table, got {short_repr(value)}")
