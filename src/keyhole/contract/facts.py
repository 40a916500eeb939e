"""Facts: what a policy may know before the first round, said once, as parameters are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final, cast, get_args, overload

from keyhole.contract.scale import UNIT, Scale
from keyhole.contract.state_memory import Field, FloatArray
from keyhole.validate import (
    ANY,
    Range,
    check_choice,
    check_integer,
    check_number,
    check_vector,
    short_repr,
    suggestion,
)

if TYPE_CHECKING:
    from keyhole.contract.setting import Setting

OWN: Final = object()
"""The argument of `Policy.learner` is of the fact's own type."""


@dataclass(frozen=True)
class Fact:
    """Something that a policy may know before the first round; made with `fact`.

    Parameters
    ----------
    doc : str
        What it is, in a few words.
    field : Field
        Its type, and its shape in terms of other facts.
    allowed : Range
        What values it may take.
    always : bool
        Whether every policy is told; others must name it in their `needs`.
    argument : type or None
        What `Policy.learner` takes for it; None where it follows from something else.
    default : Any
        What it is where nothing is given.
    unit : str
        How it depends on the units of rewards (see `keyhole.contract.scale`); "" if it does not.
    """

    doc: str
    field: Field
    allowed: Range = ANY
    always: bool = True
    argument: Any = None
    default: Any = None
    unit: str = ""

    @property
    def own(self) -> Any:
        """Its own type, as an argument."""
        if self.field.shape:
            return Sequence[float]
        return int if self.field.dtype == "int64" else float

    def check(self, name: str, value: Any) -> Any:
        """Return the value, converted; raise an error that names the fact if it is not allowed."""
        if self.field.shape:
            return check_vector(name, value, self.allowed)
        convert = check_integer if self.field.dtype == "int64" else check_number
        return convert(name, value, self.allowed)

    def inward(self, name: str, value: Any, scale: Scale) -> Any:
        """Return the value as policies have it; what is not allowed is told in the user's units."""
        theirs = replace(self, allowed=scale.range(self.allowed, self.unit))
        return scale.to_unit(theirs.check(name, value), self.unit)


@overload
def fact(
    kind: type[float],
    length: str,
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = OWN,
    unit: str = "",
    **ends: float,
) -> FloatArray: ...
@overload
def fact(
    kind: type[int],
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = OWN,
    default: Any = None,
    unit: str = "",
    **ends: float,
) -> int: ...
@overload
def fact(
    kind: type[float],
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = OWN,
    unit: str = "",
    **ends: float,
) -> float: ...
def fact(
    kind: type,
    length: str = "",
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = OWN,
    default: Any = None,
    unit: str = "",
    **ends: float,
) -> Any:
    """Declare a fact of a setting, in its class `Facts`.

    Parameters
    ----------
    kind : {int, float}
        Its type.
    length : str, optional
        For a vector of numbers: the fact that says how many.
    doc : str
        What it is, in a few words.
    always : bool, default True
        Whether every policy is told; others must name it in their `needs`.
    argument : type or None, optional
        What `Policy.learner` takes for it, where that is something else (a room then turns it
        into facts: see `Policy.facts_of`); None where it takes nothing.
    default : Any, optional
        What it is where nothing is given.
    unit : str, optional
        ``"reward"`` for what is itself a reward, ``"difference"`` for differences of rewards,
        ``"difference**-2"`` for sums of their squares' inverses: see `Setting.rewards`.
    **ends : float
        ``ge``, ``gt``, ``le``, ``lt``: least and largest value, included or not.

    Examples
    --------
    >>> class Facts:
    ...     arms = fact(int, ge=1, doc="number of arms")
    ...     gaps = fact(float, "arms", ge=0, always=False, doc="true gaps of the arms")
    """
    declared = Field("int64" if kind is int else "float64", (length,) if length else ())
    made = Fact(doc, declared, Range(**ends), always, argument, default, unit)
    return replace(made, argument=made.own) if argument is OWN else made


def facts_in(declarations: type) -> dict[str, Fact]:
    """Return the facts that a class declares, bases first."""
    found: dict[str, Fact] = {}
    for base in reversed(declarations.__mro__):
        found |= {name: value for name, value in vars(base).items() if isinstance(value, Fact)}
    return found


@dataclass(frozen=True)
class Argument:
    """One argument of `Policy.learner`."""

    parameter: Parameter
    typed: str
    prose: str

    @property
    def required(self) -> bool:
        """Whether it must always be given."""
        return self.parameter.default is Parameter.empty


def arguments_of(setting: "Setting") -> list[Argument]:
    """Return the arguments by which a learner is told the facts, the required ones first."""
    found = [_argument(setting, n, f) for n, f in setting.facts.items() if f.argument is not None]
    return sorted(found, key=lambda argument: not argument.required)


def _argument(setting: "Setting", name: str, one: Fact) -> Argument:
    prose = f"{one.doc[0].upper()}{one.doc[1:]}"
    if name == setting.mode:
        words = ", ".join(f'"{mode}"' for mode in setting.modes)
        taken = Parameter("feedback", Parameter.KEYWORD_ONLY, annotation=str)
        return Argument(taken, f"{{{words}}}", f"{prose}.")
    kind, typed = one.argument, _in_words(one)
    if one.allowed != ANY and one.argument == one.own:
        prose += f"; each must {one.allowed}" if one.field.shape else f"; must {one.allowed}"
    default: Any = Parameter.empty
    if not one.always:
        kind, default, typed = kind | None, None, f"{typed}, optional"
        prose += "; for the policies that need it (see `needs`)"
    elif one.default is not None:
        default, typed = one.default, f"{typed}, default {one.default!r}"
    taken = Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
    return Argument(taken, typed, f"{prose}.")


def _in_words(one: Fact) -> str:
    if one.argument == one.own and one.field.shape:
        return f"sequence of float, shape ({one.field.shape[0]},)"
    kinds = get_args(one.argument) or (one.argument,)
    return " or ".join(kind.__name__ for kind in kinds)


def signature_of(setting: "Setting", kind: Any) -> Signature:
    """Return the signature of `Policy.learner` in a setting."""
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    taken = [argument.parameter for argument in arguments_of(setting)]
    if setting.rewards:
        ends = tuple[float, float]
        taken.append(Parameter("scale", Parameter.KEYWORD_ONLY, annotation=ends, default=(0, 1)))
    seed = Parameter("seed", Parameter.KEYWORD_ONLY, annotation=int, default=0)
    way = Parameter("interpreted", Parameter.KEYWORD_ONLY, annotation=bool | None, default=None)
    return Signature([own, *taken, seed, way], return_annotation=kind)


_PROSE: Final = """Return a learner: the policy at work, one decision at a time.

Parameters
----------
{arguments}{scale}
seed : int, default 0
    Of the policy's own randomness.
interpreted : bool, optional
    Whether Python runs the policy's kernels: with the same decisions, slowly, to look into them.
    By default as `keyhole.interpreted` says, inside which it stands. Where nothing says so, and
    Keyhole's own policy is not compiled yet, Python begins, and it is compiled after half a second
    of work.

Returns
-------
Learner
    With `ask`, `tell` and `save`; see there.

Raises
------
TypeError, ValueError
    If a fact that the policy needs is missing, or one is not allowed.
"""

_SCALE: Final = """
scale : (float, float), default (0, 1)
    The least and the largest reward there can be, in your units: stars from 1 to 5, say. Rewards,
    and facts that are in units of reward, are told and shown in these."""


def prose_of(setting: "Setting") -> str:
    """Return the docstring of `Policy.learner` in a setting."""
    lines = [f"{a.parameter.name} : {a.typed}\n    {a.prose}" for a in arguments_of(setting)]
    return _PROSE.format(arguments="\n".join(lines), scale=_SCALE if setting.rewards else "")


_OPTIONS: Final = ("scale", "seed", "interpreted")
"""Arguments of `Policy.learner` that are no facts."""


def make_learner(setting: "Setting", kind: Callable[..., Any], home: type) -> Callable[..., Any]:
    """Return the method `learner` of a room's policies, with a signature made from its facts."""
    signature = signature_of(setting, kind)
    names = [name for name in signature.parameters if name != "self"]

    def learner(
        self: Any, *unnamed: Any, seed: int = 0, interpreted: bool | None = None, **given: Any
    ) -> Any:
        if unnamed:
            told = ", ".join(f"{name}=..." for name in names if name not in _OPTIONS)
            raise TypeError(f"learner() takes facts by name ({told}); got {short_repr(unnamed[0])}")
        facts, scale = resolve_facts(setting, type(self), given)
        own = {"scale": scale} if setting.rewards else {}
        return kind(self, facts, seed=seed, interpreted=interpreted, **own)

    made = cast(Any, learner)
    made.__signature__, made.__doc__ = signature, prose_of(setting)
    made.__annotations__ = {
        **{name: signature.parameters[name].annotation for name in names},
        "return": kind,
    }
    made.__module__, made.__qualname__ = home.__module__, f"{home.__qualname__}.learner"
    return learner


def resolve_facts(
    setting: "Setting", policy: Any, given: Mapping[str, Any], *, told: str = "learner()"
) -> tuple[dict[str, Any], Scale]:
    """Return the facts that arguments of `Policy.learner` say, and the units that they are in.

    `policy` is the class of the policy, and `told` what errors say that takes them.
    """
    names = [name for name in signature_of(setting, None).parameters if name != "self"]
    for name in given:
        if name not in names:
            raise TypeError(
                f"{told} takes {', '.join(names)}; got {name!r}{suggestion(name, names)}"
            )
    if not setting.rewards:
        return policy.facts_of(_complete(setting, given)), UNIT
    scale = Scale.of(given.get("scale", UNIT))
    rest = {name: value for name, value in given.items() if name != "scale"}
    return policy.facts_of(_complete(setting, rest) | {"scale": scale}), scale


def _complete(setting: "Setting", given: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts by name from a learner's arguments, with defaults where none is given."""
    found: dict[str, Any] = {}
    for name, one in setting.facts.items():
        argument = "feedback" if name == setting.mode else name
        value = given.get(argument, one.default)
        if value is None and one.always and one.argument is not None:
            raise TypeError(f"{argument} ({one.doc}) must be given")
        if name == setting.mode:
            value = setting.modes.index(check_choice("feedback", value, setting.modes))
        found[name] = value
    return found
