"""Command `catalog`: list settings, their problems, metrics and policies."""

import inspect
from dataclasses import MISSING, asdict, fields
from typing import Any, cast

from keyhole.cli.output import print_heading, print_json, print_paragraph
from keyhole.contract.policy import Policy
from keyhole.experiment import setting_registry
from keyhole.metric import Metric
from keyhole.spec_values.problem_factory import find_docstring_section


def print_catalog(name: str | None, as_json: bool) -> None:
    """Print the catalog of the setting or the policies called `name`; of all settings if None."""
    if name is None:
        descriptions = list(map(_setting_as_json, setting_registry.all_settings()))
    else:
        descriptions = []
        if name not in setting_registry.setting_names():
            descriptions = [
                {"setting": setting.name, "policies": {policy.__name__: _policy_as_json(policy)}}
                for setting in setting_registry.all_settings()
                for policy in setting.policies.values()
                if policy.__name__.casefold() == name.casefold()
            ]
        descriptions = descriptions or [_setting_as_json(setting_registry.find_setting(name))]
    if as_json:
        print_json(descriptions)
        return
    for description in descriptions:
        _print_setting(description)


def _setting_as_json(setting: setting_registry.RegisteredSetting) -> dict[str, Any]:
    return {
        "setting": setting.name,
        "doc": _first_paragraph(setting.module),
        "problems": {
            factory_name: {
                "doc": factory.doc,
                "entries": {entry: asdict(info) for entry, info in factory.entries.items()},
            }
            for factory_name, factory in setting.problem_factories.items()
        },
        "metrics": {
            metric.name: {
                "title": metric.title,
                "unit": metric.unit,
                "better": metric.better,
                "remarks": _list_remarks(metric),
            }
            for metric in setting.metrics.values()
        },
        "policies": {name: _policy_as_json(policy) for name, policy in setting.policies.items()},
    }


def _policy_as_json(policy: type[Policy]) -> dict[str, Any]:
    return {
        "doc": _first_paragraph(policy),
        "parameters": {
            item.name: {
                "default": _default_as_json(item.default),
                "doc": item.metadata["doc"],
                "allowed": str(item.metadata["allowed"]),
            }
            for item in fields(cast(Any, policy))
        },
        "traits": policy.traits(),
        "source": " ".join(find_docstring_section(policy, "References").split()) or "none",
    }


def _print_setting(setting: dict[str, Any]) -> None:
    print_heading(setting["setting"], 0)
    if "doc" in setting:
        _print_problems_and_metrics(setting)
    for name, policy in setting["policies"].items():
        _print_policy(name, policy)


def _print_problems_and_metrics(setting: dict[str, Any]) -> None:
    print_paragraph(setting["doc"], 2)
    print_heading("[problem]", 2)
    for factory_name, factory in setting["problems"].items():
        print_paragraph(f"{factory_name}: {factory['doc']}", 4)
        for entry, info in factory["entries"].items():
            print_paragraph(f"{entry} ({info['kind']}): {info['doc']}", 8)
    print_heading("metrics", 2)
    for name, metric in setting["metrics"].items():
        remarks = "".join(f"; {remark}" for remark in metric["remarks"])
        print_paragraph(f"{name}: {metric['title']}{remarks}", 4)


def _print_policy(name: str, policy: dict[str, Any]) -> None:
    print_heading(name, 2)
    print_paragraph(policy["doc"], 4)
    for parameter, item in policy["parameters"].items():
        if item["default"] is not None:
            parameter = f"{parameter} = {_format_value(item['default'])}"
        print_paragraph(f"{parameter}: {item['doc']}; must {item['allowed']}", 4)
    for trait, text in policy["traits"].items():
        print_paragraph(f"{trait}: {text}", 4)
    print_paragraph(f"source: {policy['source']}", 4)


def _list_remarks(metric: Metric) -> list[str]:
    truths = {
        "higher is better": metric.better == "higher",
        "of each arm": metric.per_arm,
        "kept with details": metric.detail,
    }
    return [remark for remark, is_true in truths.items() if is_true]


def _default_as_json(default: object) -> int | float | str | None:
    """Return a default as a JSON value: a policy as text, None if there is no default."""
    if default is MISSING:
        return None
    if isinstance(default, int | float | str):
        return default
    return str(default)


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _first_paragraph(thing: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
