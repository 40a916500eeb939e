"""Claims: the fields of all claims, and a class for each kind, made from the kind's judgement."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final, Literal, Self, get_args

from pydantic import create_model, model_validator

from keyhole.interrupts import replace_user_errors
from keyhole.papers.claims import statistics
from keyhole.papers.claims.statistics import Cell, Finding, Result
from keyhole.papers.entry_files import TomlTable
from keyhole.papers.field_types import MetricName, PolicyName, ProblemName, ShortText, TableModel
from keyhole.papers.verdicts import Number, Origin, Setup, Verdict
from keyhole.play.simulation_plan import Plan

Judgement = Callable[..., Finding]
"""A function that judges the claims of a kind; its parameters are fields of the claim."""

AnyClaim = Any
"""A claim of some kind, whose fields are known only at run time: its judgement defines them."""

_MOST_LISTED: Final = 4
_MOST_RUNS: Final = 1e9  # a larger estimate of the replications needed is not reported
# pairs of fields that are the ends of a range
_RANGES: Final = (("low", "high"), ("at_least", "at_most"), ("metric_low", "metric_high"))


class Claim(TableModel):
    """A statement that results can support or contradict.

    `make_claim_class` makes the class of each kind. A claim holds, does not hold, or is undecided.
    For example, a claim about the sign of a difference is undecided if too few replications were
    played: the 95 % interval of the difference (over common random numbers) contains zero. The
    property `problem_keys` of `TableModel` has the problems that the claim names.
    """

    text: str  # the claim; if it is quoted, in the words of its source
    # the claim in few plain words, for first screens; empty if the text itself has few words
    short: ShortText = ""
    source: str  # the place where it is claimed, such as a section of the paper
    origin: Origin  # who makes the claim
    # the set-up on which it is judged; a claim in a file has the entry's unless it gives its own
    setup: Setup = "ours"
    # the ids of claims in which other entries judge the same statement on the same set-up
    same_as: tuple[str, ...] = ()
    reading: str = ""  # how words that are not exact were translated into numbers
    metric: MetricName  # a claim in a file has the entry's first unless it gives its own
    id: str = ""  # the entry's name and the claim's position, from 1; set when a file is read

    judgement: ClassVar[Judgement]
    refuse: ClassVar[Callable[[AnyClaim, Plan], None]]  # raises for a claim that cannot be judged
    judged_by: ClassVar[str]  # the kind, as verdicts name it: "estimate: mean"

    @property
    def named_cells(self) -> list[Cell]:
        """The cells in its fields, both single cells and those in lists."""
        values = [value for _, field in self for value in statistics.as_list(field)]
        return [value for value in values if isinstance(value, Cell)]

    @property
    def subject(self) -> str:
        """The label of the policy that the claim is about; empty if it is about several."""
        policies = {cell.policy for cell in self.named_cells}
        if not policies:
            return getattr(self, "policy", None) or ""
        return policies.pop() if len(policies) == 1 else ""

    def judge(self, results: Mapping[str, Result], **replacements: str) -> Finding:
        """Return the status and the numbers behind it, given the results of every problem.

        The judgement is called with the fields of the claim; `replacements` take the place of the
        fields of the same names. The argument `claimed_policy` is always the claim's policy.
        """
        values = dict(self) | {"claimed_policy": getattr(self, "policy", None)} | replacements
        parameters = inspect.signature(self.judgement).parameters.keys() - {"results"}

        def make_error(error: BaseException) -> ValueError:
            text = " ".join(str(error).split())
            return ValueError(f"{self.id} ({self.judged_by}): {type(error).__name__}: {text}")

        with replace_user_errors(make_error):  # a user's function may raise anything
            finding = type(self).judgement(results, **{name: values[name] for name in parameters})
        if not isinstance(finding, Finding):
            raise ValueError(f"{self.id} ({self.judged_by}) must return a Finding, got {finding!r}")
        return finding

    def check(self, plan: Plan) -> None:
        """Refuse a claim that the experiment cannot decide, by a ValueError that names a field.

        `refuse_unknown_names` checks that problems, policies, metrics and rounds exist.
        """
        type(self).refuse(self, plan)

    def verdict(self, results: Mapping[str, Result]) -> Verdict:
        """Return the verdict on the claim, given the results of every problem."""
        status, detail, numbers = self.judge(results)
        about = _format_titles([results[key].title for key in self.problem_keys])
        # Labels may contain each other: "us-2" does not name "us", nor does "UCB1" name "UCB".
        label = rf"(?<![\w-]){re.escape(self.subject)}(?![\w-])"
        if self.subject and not re.search(label, self.text):
            about = f"{self.subject} on {about}"
        # Problems are paired by replication, so the problem with the fewest replications counts.
        replications = min(results[key].curves.replications for key in self.problem_keys)
        needed = None
        if status == "undecided":
            # Some kinds have a field `runs`, the number of replications that they need.
            needed = getattr(self, "runs", None)
            if needed is None or needed <= replications:
                needed = replications_needed(numbers, replications)
        return Verdict(
            **{name: getattr(self, name) for name in Claim.model_fields},
            status=status,
            detail=detail,
            numbers=numbers,
            about=about,
            kind=self.judged_by,
            replications=replications,
            needed=needed,
        )

    @model_validator(mode="before")
    @classmethod
    def _complete_all_cells(cls, table: TomlTable) -> TomlTable:
        """Give cells without a problem or a policy the claim's problem or policy."""
        # This comes before validation, which refuses a cell without a problem or a policy.
        common: TomlTable = {name: table[name] for name in ("problem", "policy") if name in table}
        cells = {name for name, field in cls.model_fields.items() if _has_cells(field.annotation)}
        return table | {
            name: _complete_cells(table[name], common) for name in table if name in cells
        }

    @model_validator(mode="after")
    def _check_ranges_and_rounds(self) -> Self:
        """Refuse empty ranges, too few or too many ends, and a `late` that is not after `early`."""
        values = dict(self)
        # How many values an end of a range may list: one for each round, or one without rounds.
        count = len(statistics.as_list(values.get("rounds") or None))
        for low, high in _RANGES:
            if {low, high} <= values.keys():
                statistics.check_range_ends(low, values[low], high, values[high], count)
        early = values.get("early")
        late = values.get("late")
        if isinstance(early, int) and isinstance(late, int) and late <= early:
            raise ValueError(f"late must come after early, got {late} after {early}")
        return self


class ControlledClaim(Claim):
    """A claim about one policy, which may have a negative control: a bad policy that breaks it.

    A bound that every policy keeps is no evidence for one of them. So a claim with a negative
    control holds only if the policy keeps the claim, and the control, judged by the same numbers,
    breaks it. If the policy keeps the claim, but the control may keep it too, the claim is
    undecided.
    """

    # the label of a bad policy that plays the same problems
    negative_control: PolicyName | None = None
    no_negative_control: str = ""  # the reason why there is none, if the claim needs one

    @model_validator(mode="after")
    def _check_negative_control(self) -> Self:
        if self.negative_control is not None and self.no_negative_control:
            raise ValueError(
                "negative_control must be left out where no_negative_control says why there is none"
            )
        if self.negative_control is not None and self.negative_control == self.subject:
            raise ValueError(f"negative_control must be another policy than {self.subject!r}")
        return self

    def check(self, plan: Plan) -> None:
        """Refuse a claim that the experiment cannot decide, or a paper's bound without control."""
        super().check(plan)
        if self.origin == "paper, as a bound":
            require_negative_control(self)

    def judge(self, results: Mapping[str, Result], **replacements: str) -> Finding:
        """Judge the policy, and then the negative control by the same numbers."""
        status, detail, numbers = super().judge(results, **replacements)
        if self.no_negative_control:
            detail += f". No policy is shown to break it: {self.no_negative_control}"
        if self.negative_control is None:
            return Finding(status, detail, numbers)
        # The control is judged by the claimed policy's bound or range, never by its own: the
        # question is whether a bad policy would pass for this one.
        control = super().judge(results, policy=self.negative_control)
        numbers += statistics.control_numbers(self.negative_control, control.numbers)
        if control.status == "does not hold":
            detail += f". {self.negative_control} breaks it: {control.detail}"
            return Finding(status, detail, numbers)
        # A claim that the policy breaks does not hold, whether or not the control keeps it.
        if status == "holds":
            status = "undecided"
        keeps = "keeps" if control.status == "holds" else "may keep"
        detail += f". But {self.negative_control}, which should break it, {keeps} it too: "
        return Finding(status, detail + control.detail, numbers)


def require_negative_control(claim: AnyClaim) -> None:
    """Refuse a claim that has neither a negative control nor the reason why there is none."""
    if claim.negative_control is None and not claim.no_negative_control:
        raise ValueError(
            "negative_control must be given, a bad policy that breaks the claim, or "
            "no_negative_control, the reason why there is none"
        )


@cache
def make_claim_class(judgement: Judgement, **names: str) -> type[Claim]:
    """Return the class of the claims that a function judges.

    Parameters
    ----------
    judgement : function
        It returns a `Finding`. Its parameter `results` gets the results by problem. A parameter
        `metric` gets the metric of the claim. A parameter `claimed_policy` gets the policy of the
        claim, also while the negative control is judged as `policy`. All other parameters become
        fields of the claim. The function may be called NAME; functions of Keyhole's kinds are
        called ``judge_NAME``. Its module may have a function ``check_NAME(claim, plan)``, which
        raises a ValueError for a claim that cannot be judged.
    **names : str
        The fields by which a file names the kind: `kind`, and for some kinds `of` (a quantity) or
        `by` (the place of a judging function).
    """
    fields: dict[str, Any] = {name: (Literal[text], ...) for name, text in names.items()}
    parameters = inspect.signature(judgement, eval_str=True).parameters
    if "results" not in parameters:
        raise ValueError("it must have the parameter 'results'")
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"its parameter {name!r} must be one that can be given by its name")
        if name in ("results", "metric", "claimed_policy"):
            continue
        if name in fields or name in Claim.model_fields or hasattr(Claim, name):
            raise ValueError(
                f"its parameter {name!r} must be renamed: every claim has such a field"
            )
        hint = Any if parameter.annotation is parameter.empty else parameter.annotation
        fields[name] = hint, ... if parameter.default is parameter.empty else parameter.default
    # A claim that compares a policy with `others` needs no negative control.
    is_controlled = "policy" in fields and "others" not in fields
    if any(_has_cells(hint) for hint, _ in fields.values()):
        fields["problem"] = ProblemName | None, None
        fields["policy"] = PolicyName | None, None
    base_class = ControlledClaim if is_controlled else Claim
    judged_name = judgement.__name__
    if "by" not in names:  # a function of a kind, such as `judge_mean`; `by` names any function
        judged_name = judged_name.removeprefix("judge_")
    cls: type[Claim] = create_model(judged_name, __base__=base_class, **fields)
    cls.judgement = staticmethod(judgement)
    refuse = judgement.__globals__.get(f"check_{judged_name}", lambda claim, plan: None)
    cls.refuse = staticmethod(refuse)
    label = names.get("of") or names.get("by", "")
    if label.startswith("keyhole."):
        label = judged_name  # Keyhole's own functions are named without their module
    cls.judged_by = ": ".join(filter(None, [names["kind"], label]))
    return cls


def _has_cells(annotation: object) -> bool:
    return annotation is Cell or any(map(_has_cells, get_args(annotation)))


def _complete_cells(value: object, common: Mapping[str, object]) -> object:
    """Return the table of a cell, or a list of such tables, with missing fields from `common`."""
    if isinstance(value, list):
        return [_complete_cells(item, common) for item in value]
    return {**common, **value} if isinstance(value, dict) else value


def _format_titles(titles: Sequence[str]) -> str:
    """Return the titles of problems as text; of more than 4 only the first and the last."""
    if len(titles) <= _MOST_LISTED:
        return ", ".join(titles)
    return f"{titles[0]}, ..., {titles[-1]} ({len(titles)} problems)"


def replications_needed(numbers: Sequence[Number], replications: int) -> int | None:
    r"""Estimate how many replications would decide an undecided claim, given its numbers.

    A number is unclear if its interval contains an end of the claimed range. Let h be the
    half-width of the interval after n replications, and d the distance of the number from that
    end. If the number does not change, it is clear after :math:`n (h / d)^2` replications. A claim
    holds only if all its numbers are clear. It does not hold as soon as one number is clearly
    beyond its range. Comparisons that are adjusted together need more replications than this.

    Returns
    -------
    int or None
        None if no number with a finite interval is unclear, if several are and the claim
        includes a count, or if the estimate is at most `replications` or above 10**9.
    """
    inside = list[float]()
    beyond = list[float]()
    has_claimed_count = False
    for number in numbers:
        # Exact numbers have no p-value. Where the range of a number of comparisons is claimed,
        # perhaps not all comparisons need to be clear.
        has_claimed_count |= number.is_ranged and number.p_value is None
        ends = (number.at_least, number.at_most)
        unclear_ends = [end for end in ends if number.low < end < number.high]
        if not unclear_ends or not math.isfinite(number.high - number.low):
            continue
        distance = min(abs(number.value - end) for end in unclear_ends)
        # Intervals of shares and ratios are not symmetric: the wider half counts.
        wider_half = max(number.high - number.value, number.value - number.low)
        needed = replications * (wider_half / distance) ** 2 if distance > 0 else math.inf
        is_inside = number.at_least <= number.value <= number.at_most
        (inside if is_inside else beyond).append(needed)
    if not (inside or beyond) or (has_claimed_count and len(inside + beyond) > 1):
        return None
    needed_runs = min(beyond) if beyond else max(inside)
    if not replications < needed_runs <= _MOST_RUNS:
        return None
    return math.ceil(needed_runs - 1e-6)  # 50.00000001 is 50
