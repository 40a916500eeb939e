"""The method `Policy.learner` and its arguments, which depend on the setting's known quantities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args

from keyhole.contract.arm_names import ArmNames
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.setting import Fact, Setting
from keyhole.text_formatting import capitalize
from keyhole.validation import ANY, DEFAULT_SEED, check_choice, short_repr, suggestion

if TYPE_CHECKING:
    from keyhole.contract.policy import Policy

ARMS: Final = "arms"
"""The name of the fact that holds the number of arms; learners also take names of arms for it."""

_OR_NAMES: Final = (
    ". Or the names of the arms, distinct hashable\n    values: the learner then takes and returns "
    "these in place of numbers from 0"
)


class Argument(NamedTuple):
    """One argument of `Policy.learner`, with its type and its description in the docstring."""

    name: str
    annotation: Any
    default: object
    type_text: str
    description: str


_SCALE: Final = Argument(
    "scale",
    tuple[float, float],
    (0, 1),
    "(float, float), default (0, 1)",
    """The smallest and the largest possible reward in your units, for example (1, 5) for stars.
    Rewards, and known quantities in units of reward, are given and shown in these units.""",
)
_SEED: Final = Argument(
    "seed", int, DEFAULT_SEED, f"int, default {DEFAULT_SEED}", "The seed of the policy's draws."
)
_INTERPRETED: Final = Argument(
    "interpreted",
    bool | None,
    None,
    "bool, optional",
    """Whether Python runs the policy's kernels, for debugging: slowly, with the same decisions.
    By default `keyhole.interpreted` decides, else the environment variable KEYHOLE_INTERPRET.
    Without either, kernels are compiled. But if the kernels of one of Keyhole's own policies are
    not compiled yet, Python runs them for the first half second of processor time.""",
)


def learner_arguments(setting: Setting, learner_class: object) -> list[Argument]:
    """Return the arguments of `Policy.learner` in a setting: required facts, other facts, options.

    `learner_class` is the class of learners, and says whether they take names of arms.
    """
    names_arms = getattr(learner_class, "names_arms", False)
    arguments = [
        _fact_argument(setting, name, fact, names_arms=name == ARMS and names_arms)
        for name, fact in setting.facts.items()
        if fact.argument is not None
    ]
    arguments.sort(key=lambda argument: argument.default is not Parameter.empty)
    if setting.rewards:
        arguments.append(_SCALE)
    return [*arguments, _SEED, _INTERPRETED]


def _fact_argument(setting: Setting, name: str, fact: Fact, *, names_arms: bool) -> Argument:
    description = capitalize(fact.doc)
    if name == setting.mode:
        # A learner takes the name of the kind of feedback; kernels read its position in `modes`.
        mode_texts = ", ".join(f'"{mode}"' for mode in setting.modes)
        return Argument("feedback", str, Parameter.empty, f"{{{mode_texts}}}", f"{description}.")
    annotation = fact.argument
    type_text = _describe_fact_type(fact)
    if fact.allowed != ANY and fact.argument == fact.own_type:
        description += f"; {'each ' * bool(fact.field.shape)}must {fact.allowed}"
    if names_arms:
        annotation |= Sequence[Hashable]
        type_text += " or sequence of names"
        description += _OR_NAMES
    default: object = Parameter.empty
    if not fact.always:
        annotation |= None
        default = None
        type_text += ", optional"
        description += "; for the policies that need it (see `needs`)"
    elif fact.default is not None:
        default = fact.default
        type_text += f", default {default!r}"
    return Argument(name, annotation, default, type_text, f"{description}.")


def _describe_fact_type(fact: Fact) -> str:
    if fact.argument == fact.own_type and fact.field.shape:
        return f"sequence of float, shape ({fact.field.shape[0]},)"
    python_types = get_args(fact.argument) or (fact.argument,)
    return " or ".join(python_type.__name__ for python_type in python_types)


_DOCSTRING: Final = """Return a learner: the policy at work, one decision at a time.

Parameters
----------
{arguments}

Returns
-------
Learner
    An object with the methods `ask`, `tell` and `save`.

Raises
------
TypeError, ValueError
    If a fact that the policy needs is missing, or the value of a fact is not allowed.
"""


def make_learner_method(
    setting: Setting, learner_class: type, policy_class: type
) -> Callable[..., object]:
    """Return the method `learner` of a setting's policies, with a signature made from its facts."""
    arguments = learner_arguments(setting, learner_class)

    def learner(
        self: Policy,
        *unnamed: object,
        seed: int = DEFAULT_SEED,
        interpreted: bool | None = None,
        **values: Any,
    ) -> object:
        if unnamed:
            options = (_SCALE, _SEED, _INTERPRETED)
            fact_names = [argument.name for argument in arguments if argument not in options]
            example = ", ".join(f"{name}=..." for name in fact_names)
            raise TypeError(
                f"learner() takes facts by name ({example}); got {short_repr(unnamed[0])}"
            )
        keywords: dict[str, object] = {}
        if ARMS in setting.facts and isinstance(values.get(ARMS), Iterable):
            keywords["arm_names"] = names = ArmNames(ARMS, values[ARMS])
            values[ARMS] = len(names)
        facts, scale = resolve_facts(setting, type(self), values)
        if setting.rewards:
            keywords["scale"] = scale
        return learner_class(self, facts, seed=seed, interpreted=interpreted, **keywords)

    # `inspect.signature`, help and editors show the signature and the docstring that are made here.
    method = cast(Any, learner)
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    descriptions = []
    method.__annotations__ = {}
    for name, annotation, default, type_text, description in arguments:
        keyword = Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        parameters.append(keyword)
        descriptions.append(f"{name} : {type_text}\n    {description}")
        method.__annotations__[name] = annotation
    method.__annotations__["return"] = learner_class
    method.__signature__ = Signature(parameters, return_annotation=learner_class)
    method.__doc__ = _DOCSTRING.format(arguments="\n".join(descriptions))
    method.__module__ = policy_class.__module__
    method.__qualname__ = f"{policy_class.__qualname__}.learner"
    return learner


def resolve_facts(
    setting: Setting, policy: type[Policy], values: Mapping[str, Any], *, caller: str = "learner()"
) -> tuple[dict[str, Any], Scale]:
    """Return the facts that follow from arguments of `Policy.learner`, and the scale of rewards.

    `policy` is the class of the policy, and `caller` the function that errors name.
    """
    names = [argument.name for argument in learner_arguments(setting, None)]
    for name in values:
        if name not in names:
            raise TypeError(
                f"{caller} takes {', '.join(names)}; got {name!r}{suggestion(name, names)}"
            )
    if not setting.rewards:
        return policy.facts_of(_complete_facts(setting, values)), UNIT
    scale = Scale.of(values.get("scale", UNIT))
    fact_values = {name: value for name, value in values.items() if name != "scale"}
    return policy.facts_of(_complete_facts(setting, fact_values) | {"scale": scale}), scale


def _complete_facts(setting: Setting, values: Mapping[str, object]) -> dict[str, object]:
    """Return the facts by name, from a learner's arguments or from the defaults of facts."""
    facts: dict[str, object] = {}
    for name, fact in setting.facts.items():
        argument = "feedback" if name == setting.mode else name
        value = values.get(argument, fact.default)
        if value is None and fact.always and fact.argument is not None:
            raise TypeError(f"{argument} ({fact.doc}) must be given, as {argument}=...")
        if name == setting.mode:
            value = setting.modes.index(check_choice("feedback", value, setting.modes))
        facts[name] = value
    return facts
