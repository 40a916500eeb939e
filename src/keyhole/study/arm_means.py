"""Each arm's number of decisions, means of feedback and chance to be best, from the log alone."""

import struct
from array import array
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.reward_units import format_interval, mean_interval
from keyhole.contract.state_arrays import FloatArray
from keyhole.play.saved_learner import DAMAGE_ERRORS
from keyhole.study.definition import Definition, JsonObject, Policies
from keyhole.study.events import EXPIRED, ROW_HEADER, TOLD, EventError
from keyhole.study.log_state import NO_CORRECTIONS, Corrections, LogState
from keyhole.study.storage import Row
from keyhole.text_formatting import count_text

NO_ARM: Final = -1
"""The arm number of a decision that is not about one arm."""
_GRID: Final = np.sinh(np.linspace(-4.2, 4.2, 301))
"""Points around the middle of a posterior, in units of its width, densest in the middle."""
_MAX_POINTS: Final = 3000  # of a quadrature
_TINY: Final = 1e-300  # replaces 0, which has no logarithm
MAX_LAST_EVENTS: Final = 20


class ToldValues:
    """All values of one feedback field of an arm, such as its rewards, in the study's units.

    Attributes
    ----------
    steps : array of int
        For each value the number of decisions when it was told. With ``on_timeout="no_reward"`` it
        is the number of the value's own decision, counted from 1.
    values : array of float
        The values, in the order of `steps`.
    total : float
        The sum of the values.
    """

    def __init__(self) -> None:
        self.steps = array("q")
        self.values = array("d")
        self.total = 0.0

    def add(self, step: int, value: float) -> None:
        """Add a value."""
        self.steps.append(step)
        self.values.append(value)
        self.total += value


class DecisionCounts(LogState):
    """Counts of a study's decisions and feedback, updated event by event without learning.

    With ``on_timeout="no_reward"`` a success is told before a failure is assumed, so the feedback
    told so far is a biased sample. In such a study feedback counts in means only once all earlier
    decisions have their feedback. In this order, that of the decisions, a confidence sequence holds
    at all times.

    Attributes
    ----------
    policy : Policy
        The policy after the last event.
    times : array of float
        The time of each event, in seconds since 1970.
    rounds_by_event, pending_by_event : array of int
        How many decisions there were after each event, and how many of them were pending.
    delays : array of float
        Seconds from decision to feedback, for decisions that were told while they were pending.
    last_events : deque of pairs
        The last events, at most `MAX_LAST_EVENTS`, each with the row of its decision. The row is
        empty if the decision was not pending before the event, or the event is about no decision.
    expiry_count : int
        How many times a decision expired.
    asked_arms : array of int
        The arm number of each decision, in order; -1 if a decision is not about one arm.
    asked_counts : Counter of int
        How many decisions each arm has had, by the arm's number.
    told_values : dict of str to dict of int to ToldValues
        The values that count in means, by field, such as "reward", and then by the arm's number.
    told_counts, assumed_counts : Counter of int
        By the arm's number: how many decisions have feedback that counts in means, told or assumed,
        and for how many of these it was assumed at a timeout.
    early_feedback : dict of str to tuple
        Feedback that does not count in means yet, by the decision's id: the arm's number, the
        values by field, and whether the feedback was assumed.
    flag_names : set of str
        The feedback fields that are flags, such as "exceeded". Vocabularies may leave out a flag
        that is not True.
    told_sums : dict of str to float
        How many anonymous sums were told, as "sums", and the total of each of their fields, such as
        "rounds"; empty if no sum was told.

    Parameters
    ----------
    definition : Definition
        The definition with which the study was created.
    policies : iterable of Policy classes, optional
        Classes in which a policy is looked up first.
    corrections : dict of str to Row, optional
        As in `LogState`.
    """

    def __init__(
        self,
        definition: Definition,
        policies: Policies = (),
        corrections: Corrections = NO_CORRECTIONS,
    ) -> None:
        super().__init__(definition, corrections=corrections)
        self.policy = definition.policy
        self._policies = tuple(policies)
        # Ids of decisions whose feedback is yet to count in means, in the order in which it counts.
        self._ids_to_count: deque[str] = deque()
        self.times = array("d")
        self.rounds_by_event = array("q")
        self.pending_by_event = array("q")
        self.delays = array("d")
        self.last_events: deque[tuple[Row, bytes]] = deque(maxlen=MAX_LAST_EVENTS)
        self.expiry_count = 0
        self.asked_arms = array("q")
        self.asked_counts: Counter[int] = Counter()
        self.told_values: defaultdict[str, dict[int, ToldValues]] = defaultdict(dict)
        self.told_counts: Counter[int] = Counter()
        self.early_feedback: dict[str, tuple[int, dict[str, float], bool]] = {}
        self.flag_names: set[str] = set()
        self.told_sums: defaultdict[str, float] = defaultdict(float)
        self.assumed_counts: Counter[int] = Counter()

    @property
    def has_single_arm_decisions(self) -> bool:
        """Whether there are decisions, and each of them is about one arm."""
        return len(self.asked_arms) > 0 and NO_ARM not in self.asked_counts

    def apply(self, event: Row) -> None:
        """Count an event; refuse a malformed one."""
        decision_row = self.pending.get(str(event.decision), b"")
        try:
            # The log may be damaged or edited, so any field of the event may have any value.
            super().apply(event)
            if event.kind == TOLD:
                self.delays.append(max(0.0, event.at - ROW_HEADER.unpack_from(decision_row)[1]))
        except (*DAMAGE_ERRORS, struct.error) as error:
            raise EventError(event.seq, f"it is malformed ({error!r})") from error
        self.expiry_count += event.kind == EXPIRED
        self.seq = event.seq
        self.times.append(event.at)
        self.rounds_by_event.append(self.rounds)
        self.pending_by_event.append(len(self.pending))
        self.last_events.append((event, decision_row))

    def add_decision(self, id: str, row: bytes) -> None:
        """Count a decision that was handed out."""
        super().add_decision(id, row)
        arm = self._arm_number_of_row(row)
        self.asked_arms.append(arm)
        self.asked_counts[arm] += 1
        if self.assumes_no_reward and self.vocabulary.has_feedback:
            self._ids_to_count.append(id)

    def add_sum(self, body: bytes) -> None:
        """Count a sum of rewards."""
        sum_words = self.vocabulary.format_sum(self.sums.unpack(body))
        for name, number in ({"sums": 1} | sum_words).items():
            self.told_sums[name] += number

    def apply_policy_change(self, event: Row) -> None:
        """Replace the policy."""
        self.policy = self.definition.read_change(event.body, self._policies, event.seq).policy

    def _arm_number_of_row(self, row: bytes) -> int:
        """Return the number of a decision's arm, or -1 if the decision is not about one arm."""
        name = self.vocabulary.format_decision(*self.decisions.unpack_row(row)).get("arm")
        if not isinstance(name, str):
            return NO_ARM
        return self.vocabulary.arm_number("arm", name)

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Count feedback; with "no_reward", only once all earlier decisions have their feedback."""
        super().learn(event, row, feedback)
        values = self.feedback.unpack(feedback)
        fields = self.vocabulary.format_feedback(*self.decisions.unpack_row(row), values)
        numbers = {
            name: float(value) for name, value in fields.items() if isinstance(value, int | float)
        }
        self.flag_names.update(name for name, value in fields.items() if isinstance(value, bool))
        if "reward" in values:  # the words of feedback may leave out a reward of 0
            numbers = {"reward": self.vocabulary.scale.from_unit(values["reward"])} | numbers
        arm = self._arm_number_of_row(row)
        id = str(event.decision)
        self.early_feedback[id] = arm, numbers, event.kind == EXPIRED
        if not self.assumes_no_reward:
            self._ids_to_count.append(id)
        while self._ids_to_count and self._ids_to_count[0] in self.early_feedback:
            arm, numbers, is_assumed = self.early_feedback.pop(self._ids_to_count.popleft())
            step = len(self.asked_arms)
            if self.assumes_no_reward:
                # Feedback counts in the order of the decisions. So the number of decisions whose
                # feedback counts by now is the decision's own number.
                step = self.feedback_count - len(self.early_feedback)
            for name, number in numbers.items():
                self.told_values[name].setdefault(arm, ToldValues()).add(step, number)
            self.told_counts[arm] += 1
            self.assumed_counts[arm] += is_assumed

    @property
    def field_with_intervals(self) -> str:
        """The field whose means have intervals: "reward", or "" if no interval is known to hold.

        If decisions expired for good without feedback, the feedback that was told may be a biased
        sample, for instance of successes only.
        """
        is_unbiased = self.policy.setting.fixed_means and self.unlearnt_count == 0
        return "reward" if is_unbiased else ""


@dataclass(frozen=True)
class ArmMean:
    """The mean of a number in the feedback of one arm.

    Attributes
    ----------
    told : int
        The number of values, told or assumed.
    mean : float
        The mean of the values, in the units of the study.
    interval : tuple of float or None
        The ends of an interval that contains the arm's mean at all times at once, with 95 %
        confidence; None if no such interval is known.
    assumed : int
        How many of the values nobody told: they were assumed when their decisions expired
        (``on_timeout="no_reward"``). If some feedback lacks the number, the count is not known, and
        0 stands for it. A flag that is missing counts as not True.
    """

    told: int
    mean: float
    interval: tuple[float, float] | None = None
    assumed: int = 0

    def __str__(self) -> str:
        """Return the mean, and its interval if there is one."""
        if self.interval is None:
            return f"{self.mean:.3g}"
        return format_interval(self.mean, *self.interval)


def arm_means(counts: DecisionCounts) -> dict[str, dict[str, ArmMean]]:
    """Return the mean of each number in the feedback of each arm, by arm and then by field."""
    means: dict[str, dict[str, ArmMean]] = {arm_name: {} for arm_name in counts.arms.names}
    for arm, arm_name in enumerate(counts.arms.names):
        for field, values_by_arm in counts.told_values.items():
            told_values = values_by_arm.get(arm) or ToldValues()
            # The mean of a flag is the share of all feedback in which it is True: vocabularies may
            # leave out a flag that is not True.
            is_flag = field in counts.flag_names
            if count := counts.told_counts[arm] if is_flag else len(told_values.values):
                is_in_all_feedback = count == counts.told_counts[arm]
                assumed_count = counts.assumed_counts[arm] if is_in_all_feedback else 0
                mean = make_mean(counts, field, count, told_values.total, assumed_count)
                means[arm_name][field] = mean
    return means


def make_mean(
    counts: DecisionCounts, field: str, told: int, total: float, assumed: int = 0
) -> ArmMean:
    """Return the mean of `told` values of a field that sum to `total`, in the study's units."""
    mean = total / told
    scale = counts.vocabulary.scale
    if field != counts.field_with_intervals:
        return ArmMean(told, mean, None, assumed)
    # Rounding in the conversion may put a mean at an end of the scale just outside of [0, 1].
    unit_total = min(max(told * scale.to_unit(mean), 0.0), float(told))
    return ArmMean(told, mean, mean_interval(float(told), unit_total, scale), assumed)


def arms_without_feedback(counts: DecisionCounts) -> list[str]:
    """Return the arms in use for which the policy has no feedback yet.

    Feedback that is not about one arm, such as on an allocation, counts as feedback on all arms.
    """
    arms = counts.told_counts.keys() | {arm for arm, _, _ in counts.early_feedback.values()}
    if counts.told_sums or NO_ARM in arms:
        return []
    return [counts.arms.names[arm] for arm in counts.arms.numbers_in_use if arm not in arms]


def explain_intervals(counts: DecisionCounts) -> str:
    """Explain the intervals of means, or why there are none, and the effect of pending decisions.

    With ``on_timeout="no_reward"`` means leave out some feedback: see `DecisionCounts`. In other
    studies it is not known whether bad outcomes are told later than good outcomes, so the text says
    what follows if they are.
    """
    return f"{_explain_intervals(counts)} {_explain_pending(counts)}".strip()


def _explain_intervals(counts: DecisionCounts) -> str:
    if sums := counts.told_sums:
        amount = f"{count_text(sums['sums'], 'sum')}, {sums['total']:.6g} in all"
        rounds = count_text(sums["rounds"], "round")
        return f"Arms have no means, since only sums were told: {amount}, for {rounds}."
    if counts.early_feedback and not counts.told_values:
        return ""
    if not counts.told_values:
        return "There are no means: no feedback has a number that belongs to one arm."
    if counts.field_with_intervals:
        target = "mean reward within the timeout" if counts.assumed_counts.total() else "mean"
        return f"[low, high] holds the arm's {target} at all times at once, with 95 % confidence."
    if counts.policy.setting.fixed_means:
        expired = count_text(counts.unlearnt_count, "decision")
        return f"Means have no intervals: {expired} expired without feedback, which may bias means."
    setting = counts.policy.setting.name
    return f"Means have no intervals: in the setting {setting!r} they depend on the decisions."


def _explain_pending(counts: DecisionCounts) -> str:
    """Return how pending decisions may bias means, or what means leave out; "" if neither."""
    if counts.early_feedback:
        count = count_text(len(counts.early_feedback), "decision")
        text = f"Means leave out the feedback of {count} until all earlier decisions are settled"
        return f"{text}, since successes are told before failures."
    rule = counts.definition.rule
    may_bias = rule.timeout or rule.timeout_decisions or len(counts.pending) > counts.feedback_count
    if not (counts.pending and counts.told_counts and may_bias) or counts.assumes_no_reward:
        return ""
    pending = count_text(len(counts.pending), "decision")
    return f"With {pending} pending, means are wrong if bad outcomes are told later than good ones."


def means_as_json(means: dict[str, dict[str, ArmMean]]) -> dict[str, dict[str, JsonObject]]:
    """Return means as JSON values: told, assumed, mean, low and high, by arm and then by field."""
    return {
        arm: {name: _mean_as_json(mean) for name, mean in by_name.items()}
        for arm, by_name in means.items()
    }


def _mean_as_json(mean: ArmMean) -> JsonObject:
    low, high = mean.interval or (None, None)
    return {"told": mean.told, "assumed": mean.assumed, "mean": mean.mean, "low": low, "high": high}


def best_chances(counts: DecisionCounts) -> dict[str, float]:
    """Return the chance of each arm in use to have the highest mean; empty if it is not known.

    The chances are known if the policy has a posterior (`Policy.beta_prior`) and means have
    intervals.
    """
    prior = counts.policy.beta_prior
    if prior is None or not counts.field_with_intervals:
        return {}
    means = arm_means(counts)
    scale = counts.vocabulary.scale
    arms = list(counts.arms.names_in_use)
    rewards = [means[arm].get("reward", ArmMean(0, scale.low)) for arm in arms]
    pulls = np.array([mean.told for mean in rewards])
    totals = np.clip(pulls * scale.to_unit(np.array([mean.mean for mean in rewards])), 0, pulls)
    chances = chances_to_be_highest(prior[0] + totals, prior[1] + pulls - totals)
    return dict(zip(arms, chances.tolist(), strict=True))


def chances_to_be_highest(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the chance of each of several independent beta variates to be the highest of them.

    `a` and `b` are the parameters of the variates. The chances are integrated numerically over the
    logit of the variate, in which each density has one peak.

    Examples
    --------
    >>> chances_to_be_highest(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(3).tolist()
    [0.667, 0.333]
    """
    # At its peak a density has the width (1 / a + 1 / b)**0.5. Far from the peak, it falls by a
    # factor e over 1 / a on the left and 1 / b on the right. `widths` is no shorter than these.
    widths = np.maximum(a**-0.5, 1.0 / a) + np.maximum(b**-0.5, 1.0 / b)
    points = np.sort((np.log(a / b)[:, None] + widths[:, None] * _GRID).ravel())
    logits = points[:: max(1, len(points) // _MAX_POINTS), None]
    logs = -a * np.logaddexp(0.0, -logits) - b * np.logaddexp(0.0, logits)
    density = np.exp(logs - logs.max(axis=0))
    masses = (density[1:] + density[:-1]) * np.diff(logits, axis=0)
    masses /= masses.sum(axis=0)
    log_cdfs = np.log(np.maximum(np.cumsum(masses, axis=0) - masses / 2.0, _TINY))
    # A variate is the highest if all others are below it: the product of the others' chances.
    chances = (masses * np.exp(log_cdfs.sum(axis=1, keepdims=True) - log_cdfs)).sum(axis=0)
    return np.asarray(chances / chances.sum())
