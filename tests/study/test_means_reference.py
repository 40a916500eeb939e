"""Means that are kept up to date, against a reference that walks all feedback at each look."""

import random
from collections import defaultdict

import pytest

from keyhole.confidence_sequences import beta_mixture_interval
from keyhole.resource import RCUCB, Power
from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.study.arm_means import ArmMean

pytestmark = pytest.mark.interpreted
ARMS = ["a", "b", "c"]
SCALE = (0, 4)


class Reference:
    """The decisions of a study in their order, each with the feedback that it has got."""

    def __init__(self, study, rule, has_intervals, assumed_feedback=None):
        self.study = study
        self.rule = rule
        self.has_intervals = has_intervals
        self.assumed_feedback = assumed_feedback
        self.decisions = []
        self.told = []  # ids, in the order of their feedback that counts
        self.told_too_late = []

    def means(self):
        """Return what `Study.means` must return."""
        records = {id: self.study.decision(id) for id in self.decisions}
        ids = self.told
        if self.rule == "no_reward":
            ids = []
            for id in self.decisions:
                if records[id].status == "pending":
                    break
                ids.append(id)
        by_arm = defaultdict(list)
        for id in ids:
            words = self.feedback(records[id])
            is_assumed = self.rule == "no_reward" and id not in self.told
            by_arm[records[id].decision.arm].append((words, is_assumed))
        is_fair = self.has_intervals and all(
            record.status in ("pending", "to ask again") or self.feedback(record)
            for record in records.values()
        )
        fields = [
            field
            for feedback in by_arm.values()
            for words, _ in feedback
            for field in words.items()
        ]
        names = {
            name: any(value is True for field, value in fields if field == name)
            for name, _ in fields
        }
        return {
            arm: self.arm_means(by_arm[arm], names, is_fair) for arm in self.study.definition.arms
        }

    def feedback(self, record):
        """Return the numbers that count, by name."""
        if record.status == "told too late":  # what was assumed counts
            return self.assumed_feedback
        words = record.feedback
        return words and {"reward": 0.0} | dict(words)

    def arm_means(self, feedback, names, is_fair):
        """Return the means of an arm; a flag is left out where it is not True."""
        means = {}
        for name, is_flag in names.items():
            values = [float(words[name]) for words, _ in feedback if name in words]
            told = len(feedback) if is_flag else len(values)
            if not told:
                continue
            assumed = sum(is_assumed for _, is_assumed in feedback) * (told == len(feedback))
            interval = None
            if is_fair and name == "reward":
                low, high = beta_mixture_interval(told, sum(values) / SCALE[1])
                interval = (SCALE[1] * low, SCALE[1] * high)
            means[name] = ArmMean(told, sum(values) / told, interval, assumed)
        return means


def check_means(study, reference):
    expected = reference.means()
    means = study.means()
    assert list(means) == list(expected)
    for arm, by_name in means.items():
        assert by_name.keys() == expected[arm].keys()
        for name, mean in by_name.items():
            assert str(mean) == str(expected[arm][name])
            assert mean.interval == pytest.approx(expected[arm][name].interval)
            assert (mean.told, mean.assumed) == (
                expected[arm][name].told,
                expected[arm][name].assumed,
            )
    for told in (arm for arm, by_name in expected.items() if by_name):
        assert told not in study.arms_without_feedback()


@pytest.mark.parametrize("rule", ["forget", "ask_again", "no_reward"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_means_are_those_of_all_feedback(tmp_path, rule, seed):
    rng = random.Random(seed)
    with Study.create(
        tmp_path / "s.db", "s", UCB1(), ARMS, on_timeout=rule, timeout_decisions=12,
        durability="process_crash", scale=SCALE,
    ) as study:  # fmt: skip
        reference = Reference(study, rule, has_intervals=True, assumed_feedback={"reward": 0.0})
        play(study, reference, rng, lambda: {"reward": rng.randrange(5)})


@pytest.mark.parametrize("rule", ["forget", "no_reward"])
def test_means_of_several_numbers_and_flags_are_those_of_all_feedback(tmp_path, rule):
    rng = random.Random(4)
    powers = {"cost": Power(slope=0.01), "penalty": Power(slope=0.01)}

    def draw_feedback():
        if rng.random() < 0.3:
            return {"exceeded": True}
        return {"reward": rng.randrange(2), "consumption": 0.25 * rng.randrange(4)}

    with Study.create(
        tmp_path / "s.db", "s", RCUCB(), ARMS, on_timeout=rule, timeout_decisions=12,
        durability="process_crash", limits=[1, 10], **powers,
    ) as study:  # fmt: skip
        play(
            study,
            Reference(study, rule, False, {"reward": 0.0, "exceeded": True}),
            rng,
            draw_feedback,
        )


def play(study, reference, rng, draw_feedback):
    for step in range(120):
        settled = {*reference.told, *reference.told_too_late}
        waiting = [id for id in reference.decisions if id not in settled]
        chance = rng.random()
        if chance < 0.45 or not waiting:
            id = study.ask().id
            if id not in reference.decisions:
                reference.decisions.append(id)
        else:
            id = rng.choice(waiting)
            if chance < 0.9:
                study.tell(id, **draw_feedback())
                is_late = study.decision(id).status == "told too late"
                (reference.told_too_late if is_late else reference.told).append(id)
            elif study.decision(id).status == "pending":
                study.expire(id)
        if step % 10 == 9:
            check_means(study, reference)
