"""Whether all arms of a tune should have the same order of instances, or each one its own.

It prints the table of "The order of instances" in docs/tune.md, as Markdown, in some ten minutes:
``python -m benchmarks.instance_order``.
"""

import numpy as np

from keyhole.tune import Spec
from keyhole.tune.pair_estimates import GainEstimates
from keyhole.tune.spec import DEFAULT_POLICY
from tests.tune.trial_records import record

SEED = 2026
REPETITIONS = 200
ARMS = 32
INSTANCES = 60
RUNS = (5, 10, 20)  # of an arm, on average
DRAWS = 400
GRID = {"k": list(range(ARMS))}
LIMITS = {"from": 0.03, "to": 1, "count": 6}
SPEC = Spec.from_table({"arm": [{"name": "a", "command": "true", "grid": GRID}], "limits": LIMITS})


def draw_times(rng, spread):
    """Return the seconds of each arm on each instance: of arm, instance and rest, log-normal."""
    arms = rng.normal(0.0, spread, (ARMS, 1))
    instances = rng.normal(0.0, 1.5, INSTANCES)
    return np.exp(-2.0 + arms + instances + 0.6 * rng.normal(size=(ARMS, INSTANCES)))


def mean_gains(times):
    """Return the mean gain of each arm with each limit, in cut-offs."""
    seconds = times[:, :, np.newaxis]
    limits = np.array(SPEC.limits)
    return np.where(seconds <= limits, 1.0 - seconds, -limits).mean(axis=1)


def play_equally(times, orders):
    """Return the pair with the largest mean after equally many runs of all arms."""
    pairs = []
    for runs in RUNS:
        gains = mean_gains(np.take_along_axis(times, orders[:, :runs], axis=1))
        pairs.append(divmod(int(gains.argmax()), len(SPEC.limits)))
    return pairs


def play_tune(times, orders):
    """Return the pair that a tune recommends after each number of runs."""
    learner = DEFAULT_POLICY.learner(arms=ARMS, **SPEC.facts())
    counts = np.zeros(ARMS, np.int64)
    records, pairs = [], []
    for number in range(1, ARMS * max(RUNS) + 1):
        arm, limit = learner.ask()
        seconds = float(times[arm, orders[arm, counts[arm] % INSTANCES]])
        counts[arm] += 1
        outcome = "ok" if seconds <= limit else "out of time"
        run = record(outcome, min(seconds, limit), limit, SPEC.names[arm])
        learner.tell(**run.to_feedback())
        records.append(run)
        if number in [ARMS * runs for runs in RUNS]:
            pairs.append(GainEstimates(SPEC, records, most_draws=DRAWS).best_pair())
    return pairs


def measure(play, spread):
    """Return whether the best arm was recommended, and the loss, by repetition, order and runs."""
    results = np.empty((2, REPETITIONS, 2, len(RUNS)))
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([SEED, repetition])
        times = draw_times(rng, spread)
        gains = mean_gains(times)
        own_orders = rng.permuted(np.tile(np.arange(INSTANCES), (ARMS, 1)), axis=1)
        common_orders = np.tile(own_orders[0], (ARMS, 1))
        for way, orders in enumerate((own_orders, common_orders)):
            for column, pair in enumerate(play(times, orders)):
                is_best = pair[0] == gains.max(axis=1).argmax()
                results[:, repetition, way, column] = is_best, gains.max() - gains[pair]
    return results


def main():
    """Print the table."""
    print(f"| arms differ by | rule | {' | '.join(f'{runs} runs an arm' for runs in RUNS)} |")
    print(f"|---|---|{'---|' * len(RUNS)}")
    for spread in (0.5, 1.0):
        for rule, play in (("equal runs, means", play_equally), ("a tune", play_tune)):
            (own_best, common_best), (own_loss, common_loss) = measure(play, spread).swapaxes(1, 2)
            excess = common_loss - own_loss
            error = excess.std(axis=0, ddof=1) / REPETITIONS**0.5
            cells = [
                f"{own:.0%}, {common:.0%}; {more:+.3f} ± {wide:.3f}"
                for own, common, more, wide in zip(
                    own_best.mean(axis=0), common_best.mean(axis=0), excess.mean(axis=0), error,
                    strict=True,
                )
            ]  # fmt: skip
            print(f"| {spread} | {rule} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
