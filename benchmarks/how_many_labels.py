"""How many pulls stopping policies take, against a fixed number with the same guarantee.

It prints the table of docs/stopping.md, as Markdown: ``python -m benchmarks.how_many_labels``.
"""

import numpy as np
from scipy.stats import binom

from benchmarks.stopping_errors import KINDS
from keyhole import simulate
from keyhole.data import crowd_problem
from keyhole.thresholding import LSA, FamilywiseStopping, PerArmStopping, Problem

DELTA = 0.05
SETUP_1 = [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8]
rng = np.random.default_rng(99)
RARE, UNIFORM = rng.beta(1, 15, 30), rng.uniform(0.02, 0.98, 40)


def graded(kind, means, threshold):
    """Return a problem whose rewards have these means and are of a kind of `KINDS`."""
    return Problem([KINDS[kind](mean) for mean in means], threshold)


PROBLEMS = {  # the problem, the tolerance, and the most rounds
    "Tao et al. 2019, set-up 1": (Problem(SETUP_1, 0.5), 0.05, 100_000),
    "the same means, five stars": (graded("five stars", SETUP_1, 0.5), 0.05, 100_000),
    "the same means, beta": (graded("beta, concentration 2", SETUP_1, 0.5), 0.05, 100_000),
    "40 means, uniform, threshold 0.4": (Problem(UNIFORM, 0.4), 0.05, 400_000),
    "the same 40 means, five stars": (graded("five stars", UNIFORM, 0.4), 0.05, 400_000),
    "the same 40 means, beta": (graded("beta, concentration 2", UNIFORM, 0.4), 0.05, 400_000),
    "crowd labels, bluebirds": (crowd_problem("bluebirds"), 0.05, 1_000_000),
    "30 rare means, threshold 0.05": (Problem(RARE, 0.05), 0.02, 400_000),
    "10 arms, all on the threshold": (Problem([0.5] * 10, 0.5), 0.05, 100_000),
    "the same 10 arms, five stars": (graded("five stars", [0.5] * 10, 0.5), 0.05, 100_000),
    "the same 10 arms, beta": (graded("beta, concentration 2", [0.5] * 10, 0.5), 0.05, 100_000),
}


def fixed_number(threshold, tolerance):
    """Return how many pulls make the label by the mean wrong with a chance of at most DELTA.

    That is for 0/1 rewards whose mean is the tolerance away from the threshold, on the worse side:
    who knows nothing of the rewards has to expect them. From this number on, larger ones do as
    well.
    """
    n = np.arange(1, 20_000)
    least = np.ceil(threshold * n - 1e-9)
    wrong = np.maximum(
        binom.sf(least - 1, n, threshold - tolerance),
        binom.cdf(least - 1, n, threshold + tolerance),
    )
    return int(n[np.flatnonzero(wrong > DELTA)[-1]]) + 1


def row(name, problem, tolerance, horizon):
    """Return a row of the table."""
    policies = {
        "arm": PerArmStopping(delta=DELTA, tolerance=tolerance),
        "family": FamilywiseStopping(delta=DELTA, tolerance=tolerance),
    }
    fixed = fixed_number(problem.threshold, tolerance)
    curves = simulate(problem, policies, horizon=horizon, replications=400, seed=1)
    cells = [name, str(fixed)]
    for label, metric in (("arm", "wrong_settled"), ("family", "any_wrong_settled")):
        assert curves.mean(label, "unfinished")[-1] == 0.0
        used = curves.values(label, "rounds_used")[-1] / problem.arms
        wide = 1.96 * used.std(ddof=1) / np.sqrt(len(used))
        most = np.quantile(used, 0.9)
        error = curves.estimates(label, metric)[-1].plus_minus()
        digits = int(wide < 1.0)
        cells += [f"{used.mean():.{digits}f} ± {wide:.{digits}f} ({most:.0f})", error]
    # LSA with the number of pulls that the stopping policy took on average, known in hindsight.
    budget = round(curves.mean("arm", "rounds_used")[-1])
    played = simulate(problem, [LSA()], horizon=budget, replications=400, seed=1, details=True)
    errors = [played.mean(played.labels[0], f"errors[{i}]")[-1] for i in range(problem.arms)]
    far = problem.gaps >= tolerance - 1e-12
    cells.append(f"{np.sum(np.array(errors)[far]) / problem.arms:.4f}")
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print("| problem | fixed | per arm | share wrong | familywise | any wrong | LSA in hindsight |")
    print("|---|---|---|---|---|---|---|")
    for name, (problem, tolerance, horizon) in PROBLEMS.items():
        print(row(name, problem, tolerance, horizon), flush=True)
