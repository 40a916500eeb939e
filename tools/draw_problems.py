"""Draw the problems for judging that nobody chose: write src/keyhole/benchmark/problems/drawn/.

The functions of this file are the drawing rule, of which docs/benchmark.md has a summary. They were
run once, and no problem was drawn again: a test compares the files with what this file draws.
"""

import math
import sys
from functools import partial
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "keyhole" / "benchmark" / "problems" / "drawn"
SEED = 20261129
EACH = 2
SHORT_HORIZON = 20_000
LONG_HORIZON = 100_000
SHAPES = ["independent", "ordered", "crossing"]
CROWDS = {"bluebirds": 108, "ducks": 240, "adult_content_hcomp2010": 496}


def draw_size(rng: Random, low: float, high: float) -> int:
    """Return a whole number whose logarithm is uniform."""
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw_means(rng: Random, arms: int, digits: int = 3) -> list[float]:
    """Return means that are uniform in an interval, which is drawn too, of at least a tenth."""
    low = rng.uniform(0.0, 0.8)
    high = rng.uniform(low + 0.1, 1.0)
    return [round(rng.uniform(low, high), digits) for _ in range(arms)]


def draw_bernoulli(rng: Random, fewest: int, most: int, horizon: int) -> dict:
    """Return a problem of `stochastic` with rewards of 0 or 1."""
    arms = draw_size(rng, fewest, most)
    title = f"{arms} arms, rewards of 0 or 1"
    return {"title": title, "horizon": horizon, "problem": {"means": draw_means(rng, arms)}}


def draw_beta(rng: Random) -> dict:
    """Return a problem of `stochastic` with beta rewards."""
    arms = rng.randint(2, 12)
    concentration = draw_size(rng, 1, 100)
    rewards = {"distribution": "beta", "concentration": concentration}
    return {
        "title": f"{arms} arms with beta rewards (concentration {concentration})",
        "horizon": SHORT_HORIZON,
        "problem": {"means": draw_means(rng, arms), **rewards},
    }


def draw_delay(rng: Random) -> tuple[str, dict, dict]:
    """Return a delay in words, its table in a spec, and what is true of it."""
    mean = draw_size(rng, 5, 1500)
    name = rng.choice(["Constant", "Poisson", "Geometric", "Uniform", "TwoPoint"])
    words = f"{name.lower()} delays of mean {mean:,}"
    table: dict = {"distribution": name, "expected": mean}
    match name:
        case "Constant":
            table = {"distribution": name, "rounds": mean}
            bound = mean
            variance = 0
        case "Poisson":
            bound = mean + round(5 * math.sqrt(mean))
            variance = mean
        case "Geometric":
            bound = 7 * mean
            variance = mean * (mean + 1)
        case "Uniform":
            bound = 2 * mean
            variance = round(bound * (bound + 2) / 12)
            table = {"distribution": name, "low": 0, "high": bound}
        case _:
            probability = round(rng.uniform(0.05, 0.3), 2)
            bound = round(mean / probability)
            variance = round(probability * (1 - probability) * bound**2)
            table = {"distribution": name, "late": bound, "probability": probability}
            words = f"{100 * probability:.0f} % of the rewards {bound:,} rounds late"
    return words, table, {"expected_delay": mean, "bound": bound, "variance": variance}


def draw_delayed(rng: Random, told: str, feedback: str = "sums") -> dict:
    """Return a problem of `delayed` that is told of its delay rightly, wrongly or not at all."""
    arms = rng.randint(2, 8)
    words, delay, facts = draw_delay(rng)
    problem = {"means": draw_means(rng, arms), "delay": delay}
    title = f"{arms} arms, {words}"
    if feedback == "named":
        problem["feedback"] = feedback
    if told == "wrongly":
        times = math.exp(rng.uniform(math.log(0.1), math.log(10)))
        variance = round(facts["variance"] * times**2)
        facts = {name: max(1, round(value * times)) for name, value in facts.items()}
        facts["variance"] = variance
        title += f", told {facts['expected_delay']:,}"
    return {
        "title": title,
        "horizon": SHORT_HORIZON if feedback == "named" else LONG_HORIZON,
        **({} if told == "nothing" else {"told": facts}),
        "problem": problem,
    }


def draw_delays_by_arm(rng: Random) -> dict:
    """Return a problem of `delayed` whose arms have geometric delays of their own."""
    arms = rng.randint(2, 6)
    delays = [draw_size(rng, 5, 800) for _ in range(arms)]
    mean = round(sum(delays) / arms)
    facts = {"expected_delay": mean, "bound": 7 * max(delays), "variance": mean * (mean + 1)}
    pairs = zip(draw_means(rng, arms, digits=2), delays, strict=True)
    return {
        "title": f"geometric delays of mean {', '.join(map(str, delays))}",
        "horizon": LONG_HORIZON,
        "told": facts,
        "problem": {
            "arms_with_delays": [[reward, {"geometric": delay}] for reward, delay in pairs]
        },
    }


def draw_survival(rng: Random, arms: int, shape: str, width: float) -> list[list[float]]:
    """Return survival functions of some arms at three to eight levels.

    They are sorted uniform numbers of each arm ("independent"), or of all arms, to which a number
    of half the width at most is added: of each arm ("ordered"), or of each arm and level
    ("crossing").
    """
    levels = rng.randint(3, 8)
    if shape == "independent":
        rows = [[rng.uniform(0.03, 0.97) for _ in range(levels)] for _ in range(arms)]
    else:
        base = sorted((rng.uniform(0.1, 0.9) for _ in range(levels)), reverse=True)
        rows = []
        for _ in range(arms):
            shift = rng.uniform(-0.5, 0.5)
            shifts = [shift if shape == "ordered" else rng.uniform(-0.5, 0.5) for _ in base]
            pairs = zip(base, shifts, strict=True)
            rows.append([min(max(value + width * own, 0.01), 0.99) for value, own in pairs])
    return [sorted((round(value, 3) for value in row), reverse=True) for row in rows]


def draw_thresholds(rng: Random, feedback: str, shapes: list[str], orders: list[str]) -> dict:
    """Return a problem of `threshold`; "crossing" arms differ by at most a fifth."""
    shape = rng.choice(shapes)
    order = rng.choice(orders)
    arms = draw_size(rng, 3, 30)
    width = rng.uniform(0.05, 0.2 if shape == "crossing" else 0.8)
    survival = draw_survival(rng, arms, shape, width)
    return {
        "title": f"{arms} {shape} arms, {len(survival[0])} levels, {order} thresholds",
        "horizon": 10_000,
        "problem": {"survival": survival, "feedback": feedback, "order": order},
    }


def draw_portfolio(rng: Random, fewest: int, most: int) -> dict:
    """Return a problem of `resource` with made-up solvers."""
    solvers = rng.choice(["scattered", "alike", "lone"])
    size = rng.randint(8, 40)
    horizon = rng.randint(fewest, most)
    problem = {"portfolio": solvers, "size": size, "seed": rng.randint(100, 999_999)}
    title = f"{size} solvers ({solvers}), {horizon:,} runs"
    return {"title": title, "horizon": horizon, "told": {"limit": 1.0}, "problem": problem}


def draw_rewarded_runs(rng: Random) -> dict:
    """Return a problem of `resource` with beta rewards and exponential times."""
    arms = rng.randint(3, 12)
    limits = rng.randint(3, 12)
    runs = [
        {
            "distribution": "BetaExponential",
            "a": round(rng.uniform(1, 8), 2),
            "b": round(rng.uniform(1, 8), 2),
            "rate": round(math.exp(rng.uniform(math.log(0.3), math.log(5))), 3),
        }
        for _ in range(arms)
    ]
    return {
        "title": f"{arms} arms with beta rewards and exponential times, {limits} limits",
        "horizon": 5000,
        "told": {"limit": 1.0},
        "problem": {
            "arms": runs,
            "limits": [round((i + 1) / limits, 3) for i in range(limits)],
            "cost": {"function": "Power", "slope": 0.1},
            "penalty": {"function": "Power", "slope": 0.1, "factor": 0.2, "power": 4},
        },
    }


def draw_allocation(rng: Random) -> dict:
    """Return a problem of `semibandit` whose thresholds differ."""
    arms = rng.randint(4, 30)
    thresholds = [round(rng.uniform(0.05, 0.95), 3) for _ in range(arms)]
    return {
        "title": f"{arms} arms, thresholds of .05 to .95",
        "horizon": 5000,
        "problem": {
            "mean_losses": draw_means(rng, arms),
            "thresholds": thresholds,
            "resource": round(rng.uniform(0.3, 0.9) * sum(thresholds), 3),
        },
    }


def draw_common_allocation(rng: Random, arms: int) -> dict:
    """Return a problem of `semibandit` with a common threshold, which funds 2 to all but 2 arms."""
    threshold = round(rng.uniform(0.2, 0.9), 3)
    funded = rng.randint(min(2, arms - 2), arms - 2)
    resource = round(threshold * (funded + rng.uniform(0.1, 0.9)), 3)
    return {
        "title": f"{arms} arms with a threshold of {threshold:g}, {funded} can be funded",
        "horizon": 5000,
        "told": {"m": arms - funded},
        "problem": {
            "mean_losses": draw_means(rng, arms),
            "thresholds": threshold,
            "resource": resource,
        },
    }


def draw_labels(rng: Random) -> dict:
    """Return a problem of `thresholding` whose arms differ, with a threshold among them."""
    arms = draw_size(rng, 8, 80)
    means = draw_means(rng, arms)
    threshold = round(rng.uniform(min(means), max(means)), 3)
    return {
        "title": f"{arms} arms of {min(means):g} to {max(means):g}, a threshold of {threshold:g}",
        "horizon": arms * draw_size(rng, 15, 100),
        "problem": {"means": means, "threshold": threshold},
    }


def draw_near(rng: Random, threshold: float, nearest: float, farthest: float) -> float:
    """Return a mean on either side of a threshold, at most so far from it."""
    return round(threshold + rng.choice([-1, 1]) * rng.uniform(nearest, farthest), 3)


def draw_clusters(rng: Random) -> dict:
    """Return a problem of `thresholding` with arms near the threshold and others far from it."""
    threshold = round(rng.uniform(0.3, 0.7), 2)
    near = [draw_near(rng, threshold, 0.02, 0.06), rng.randint(5, 20)]
    far = [draw_near(rng, threshold, 0.2, 0.3), rng.randint(20, 60)]
    return {
        "title": f"{near[1]} arms at {near[0]:g} and {far[1]} at {far[0]:g}, threshold {threshold}",
        "horizon": (near[1] + far[1]) * rng.randint(20, 50),
        "problem": {"means": {"repeat": [near, far]}, "threshold": threshold},
    }


def draw_alike(rng: Random) -> dict:
    """Return a problem of `thresholding` with arms that are alike, but for up to three."""
    arms = draw_size(rng, 50, 400)
    threshold = round(rng.uniform(0.2, 0.8), 2)
    mean = draw_near(rng, threshold, 0.03, 0.15)
    outliers = rng.randint(0, 3)
    outlier = round(2 * threshold - mean, 3)
    alike = f"{arms - outliers} arms at {mean:g}"
    return {
        "title": f"{alike}, {outliers} at {outlier:g}, threshold {threshold}",
        "horizon": arms * rng.randint(10, 50),
        "problem": {
            "means": {"repeat": [[mean, arms - outliers], [outlier, outliers]]},
            "threshold": threshold,
        },
    }


def draw_crowd(rng: Random, problem: dict) -> dict:
    """Return a problem of `thresholding` with recorded labels."""
    name = rng.choice(list(CROWDS))
    each = rng.randint(2, 9)
    title = f"recorded labels of {name}, {each} an item"
    horizon = each * CROWDS[name]
    return {"title": title, "horizon": horizon, "problem": {"crowd": name, **problem}}


def rules() -> dict:
    """Return by setting and situation the function that draws a problem."""
    return {
        "stochastic": {
            "few arms": partial(draw_bernoulli, fewest=2, most=10, horizon=SHORT_HORIZON),
            "many arms": partial(draw_bernoulli, fewest=20, most=200, horizon=10_000),
            "rewards in [0, 1]": draw_beta,
        },
        "delayed": {
            "sums": partial(draw_delayed, told="rightly"),
            "told wrongly": partial(draw_delayed, told="wrongly"),
            "nothing told": partial(draw_delayed, told="nothing"),
            "delays differ by arm": draw_delays_by_arm,
            "named": partial(draw_delayed, told="rightly", feedback="named"),
        },
        "threshold": {
            "censored": partial(
                draw_thresholds,
                feedback="censored",
                shapes=SHAPES,
                orders=["iid", "adversarial", "cyclic"],
            ),
            "falling thresholds": partial(
                draw_thresholds, feedback="censored", shapes=SHAPES, orders=["optimistic"]
            ),
            "uncensored": partial(
                draw_thresholds, feedback="uncensored", shapes=SHAPES[:2], orders=["iid"]
            ),
            "uncensored, crossing": partial(
                draw_thresholds, feedback="uncensored", shapes=SHAPES[2:], orders=["iid"]
            ),
        },
        "resource": {
            "hundreds of runs": partial(draw_portfolio, fewest=200, most=700),
            "thousands of runs": partial(draw_portfolio, fewest=1500, most=4000),
            "rewards that vary": draw_rewarded_runs,
        },
        "semibandit": {
            "thresholds differ": draw_allocation,
            "common threshold": lambda rng: draw_common_allocation(rng, rng.randint(4, 11)),
            "common threshold, many arms": lambda rng: draw_common_allocation(
                rng, rng.randint(12, 32)
            ),
        },
        "thresholding": {
            "arms differ": draw_labels,
            "clusters": draw_clusters,
            "many arms alike": draw_alike,
            "crowd labels": partial(draw_crowd, problem={}),
            "labels bought once": partial(draw_crowd, problem={"replacement": False}),
        },
    }


def drawn_file(setting: str) -> str:
    """Return the text of the file with the drawn problems of a setting."""
    from keyhole.experiment.sweep_points import value_to_toml

    rng = Random(f"{SEED} {setting}")
    lines = [f"# Drawn by tools/draw_problems.py from the seed {SEED}: not to be changed."]
    for situation, draw in rules()[setting].items():
        lines += ["", "[[group]]", 'part = "judging"', f'situation = "{situation}"']
        lines.append("[group.problems]")
        for number in range(1, EACH + 1):
            problem = draw(rng)
            problem["title"] = f"drawn: {problem['title']}"
            name = situation.replace(",", "").replace(" ", "-").replace("[0-1]", "0-1")
            lines.append(f'"drawn-{name}-{number}" = {value_to_toml(problem)}')
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    sys.path.insert(0, str(ROOT / "src"))
    FOLDER.mkdir(exist_ok=True)
    for setting in rules():
        (FOLDER / f"{setting}.toml").write_text(drawn_file(setting))


if __name__ == "__main__":
    main()
