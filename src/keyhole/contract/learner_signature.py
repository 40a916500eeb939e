"""The method `Policy.learner`, which puts a policy (a rule that chooses among options) to work.

Its arguments are what the policy may know in advance, such as the number of options; that depends
on the setting, the kind of decision problem.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Final, NamedTuple, cast, get_args

from keyhole.contract.arm_names import ArmNames
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.setting import Fact, Setting
from keyhole.validate import ANY, check_choice, short_repr, suggestion

ARMS: Final = "arms"
"""The fact that is the number of arms, for which a learner may take their names."""

_OR_NAMES: Final = (
    ". Or the names of the arms, distinct hashable\n    values, which the learner then takes and "
    "returns in place of numbers from 0"
)


class Argument(NamedTuple):
    """One argument of `Policy.learner`, with its type and its description in the docstring."""

    parameter: Parameter
    typed: str
    prose: str


def _argument(name: str, annotation: Any, default: Any, typed: str, prose: str) -> Argument:
    parameter = Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
    return Argument(parameter, typed, prose)


_SCALE: Final = _argument(
    "scale",
    tuple[float, float],
    (0, 1),
    "(float, float), default (0, 1)",
    """\
The least and the largest possible reward in your units, for example (1, 5) for stars. Rewards,
    and known quantities in units of reward, are given and shown in these units.""",
)
_SEED: Final = _argument("seed", int, 0, "int, default 0", "Of the policy's own randomness.")
_INTERPRETED: Final = _argument(
    "interpreted",
    bool | None,
    None,
    "bool, optional",
    """\
Whether Python runs the policy's kernels: slowly, with the same decisions, for debugging.
    By default as `keyhole.interpreted` says. Otherwise kernels are compiled; those of Keyhole's own
    policies that are not compiled yet are interpreted for the first half second of processor time.\
""",
)


def learner_arguments(setting: Setting, kind: Any) -> list[Argument]:
    """Return the arguments of `Policy.learner` in a setting: required facts, others, options.

    `kind` is the class of learners, which may take names of arms.
    """
    facts = [
        _learner_argument(setting, name, one, names_arms=name == ARMS and can_name_arms(kind))
        for name, one in setting.facts.items()
        if one.argument is not None
    ]
    facts.sort(key=lambda argument: argument.parameter.default is not Parameter.empty)
    return [*facts, *([_SCALE] if setting.rewards else []), _SEED, _INTERPRETED]


def can_name_arms(kind: Any) -> bool:
    """Return whether learners of a class take names of arms."""
    return getattr(kind, "names_arms", False)


def _learner_argument(setting: Setting, name: str, one: Fact, *, names_arms: bool) -> Argument:
    prose = f"{one.doc[0].upper()}{one.doc[1:]}"
    if name == setting.mode:
        # A learner is given the kind of feedback by its name; kernels read its position in `modes`.
        words = ", ".join(f'"{mode}"' for mode in setting.modes)
        return _argument("feedback", str, Parameter.empty, f"{{{words}}}", f"{prose}.")
    kind, typed = one.argument, _describe_type(one)
    if names_arms:
        kind, typed = kind | Sequence[Hashable], f"{typed} or sequence of names"
    if one.allowed != ANY and one.argument == one.own:
        prose += f"; each must {one.allowed}" if one.field.shape else f"; must {one.allowed}"
    if names_arms:
        prose += _OR_NAMES
    default: Any = Parameter.empty
    if not one.always:
        kind, default, typed = kind | None, None, f"{typed}, optional"
        prose += "; for the policies that need it (see `needs`)"
    elif one.default is not None:
        default, typed = one.default, f"{typed}, default {one.default!r}"
    return _argument(name, kind, default, typed, f"{prose}.")


def _describe_type(one: Fact) -> str:
    if one.argument == one.own and one.field.shape:
        return f"sequence of float, shape ({one.field.shape[0]},)"
    kinds = get_args(one.argument) or (one.argument,)
    return " or ".join(kind.__name__ for kind in kinds)


_PROSE: Final = """Return a learner: the policy at work, one decision at a time.

Parameters
----------
{arguments}

Returns
-------
Learner
    With `ask`, `tell` and `save`; see there.

Raises
------
TypeError, ValueError
    If a fact that the policy needs is missing, or one is not allowed.
"""


def make_learner_method(
    setting: Setting, kind: Callable[..., Any], home: type
) -> Callable[..., Any]:
    """Return the method `learner` of a setting's policies, with a signature made from its facts."""
    arguments = learner_arguments(setting, kind)
    parameters = {argument.parameter.name: argument.parameter for argument in arguments}
    options = {option.parameter.name for option in (_SCALE, _SEED, _INTERPRETED)}

    def learner(
        self: Any, *unnamed: Any, seed: int = 0, interpreted: bool | None = None, **given: Any
    ) -> Any:
        if unnamed:
            named = ", ".join(f"{name}=..." for name in parameters if name not in options)
            raise TypeError(
                f"learner() takes facts by name ({named}); got {short_repr(unnamed[0])}"
            )
        own: dict[str, Any] = {}
        if (arms := _check_names(setting, kind, given.get(ARMS))) is not None:
            given, own = given | {ARMS: len(arms)}, {"arm_names": arms}
        facts, scale = resolve_facts(setting, type(self), given)
        own |= {"scale": scale} if setting.rewards else {}
        return kind(self, facts, seed=seed, interpreted=interpreted, **own)

    # One function for all settings; `inspect.signature`, help and editors see that of the setting.
    made = cast(Any, learner)
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    made.__signature__ = Signature([own, *parameters.values()], return_annotation=kind)
    lines = [f"{a.parameter.name} : {a.typed}\n    {a.prose}" for a in arguments]
    made.__doc__ = _PROSE.format(arguments="\n".join(lines))
    annotations = {name: parameter.annotation for name, parameter in parameters.items()}
    made.__annotations__ = annotations | {"return": kind}
    made.__module__, made.__qualname__ = home.__module__, f"{home.__qualname__}.learner"
    return learner


def _check_names(setting: Setting, kind: Any, arms: Any) -> ArmNames | None:
    """Return the names of the arms, checked; None if `arms` is their number."""
    if ARMS not in setting.facts or not isinstance(arms, Iterable):
        return None
    names = ArmNames(ARMS, arms)
    if not can_name_arms(kind):
        raise TypeError(
            f"arms must be a number for learners of the setting {setting.name!r}, which have no "
            f"names of arms; got {names!r}"
        )
    return names


def resolve_facts(
    setting: Setting, policy: Any, given: Mapping[str, Any], *, caller: str = "learner()"
) -> tuple[dict[str, Any], Scale]:
    """Return the facts given by arguments of `Policy.learner`, and the scale of their rewards.

    `policy` is the class of the policy, and `caller` the function that errors name.
    """
    names = [argument.parameter.name for argument in learner_arguments(setting, None)]
    for name in given:
        if name not in names:
            raise TypeError(
                f"{caller} takes {', '.join(names)}; got {name!r}{suggestion(name, names)}"
            )
    if not setting.rewards:
        return policy.facts_of(_complete_facts(setting, given)), UNIT
    scale = Scale.of(given.get("scale", UNIT))
    rest = {name: value for name, value in given.items() if name != "scale"}
    return policy.facts_of(_complete_facts(setting, rest) | {"scale": scale}), scale


def _complete_facts(setting: Setting, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts by name from a learner's arguments, with defaults where none is given."""
    found: dict[str, Any] = {}
    for name, one in setting.facts.items():
        argument = "feedback" if name == setting.mode else name
        value = given.get(argument, one.default)
        if value is None and one.always and one.argument is not None:
            raise TypeError(f"{argument} ({one.doc}) must be given, as {argument}=...")
        if name == setting.mode:
            value = setting.modes.index(check_choice("feedback", value, setting.modes))
        found[name] = value
    return found
