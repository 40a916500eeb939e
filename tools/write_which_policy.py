"""Write docs/which_policy.md from the results of `keyhole bench` in full, with two seeds.

Also write the time of a round of each policy, from which the time left of a run is estimated.

`make lists` runs it. What it recommends is the policy with the smallest ratio on the problems for
judging: by hand nothing is added that could differ from the table.
"""

import math
import sys
from functools import cache
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "benchmark.json"
SECOND_RESULTS = ROOT / "docs" / "benchmark_second_seed.json"
GUIDE = ROOT / "docs" / "which_policy.md"
ROUND_TIMES = ROOT / "src" / "keyhole" / "experiment" / "round_times.toml"
MOST_NAMED = 3
MOST_OF_ALL = 0.9
LEAST_BEHIND = 1.01
TIMES = "\N{MULTIPLICATION SIGN}"

INTRO = """\
# Which policy?

For each situation of a [setting](which_setting.md), the policy that did best in
[the benchmark](benchmark.md): {replications} replications, half of them with each of two seeds, of
each of {problems} problems for judging, which no new policy had been run on before it was fixed,
with one exception that the benchmark's rules name. {drawn} of them were drawn by a rule, so that
nobody chose them; on {unbeaten} of these no policy is clearly better than the one recommended.
`python tools/write_which_policy.py` writes this page from the results files,
[benchmark.json](benchmark.json) and [benchmark_second_seed.json](benchmark_second_seed.json), which
also have the problems for tuning.

There are no contextual policies here (which read features of a visitor or an item): use Vowpal
Wabbit, MABWiser, contextualbandits or River. Nor are there policies for means that drift.

- **Policy**: the one with the smallest ratio over all runs. Where one of the two seeds alone gives
  another, that is named.
- **Next**: how many times the mean regret the next best has, a geometric mean over the problems,
  with a 95 % interval by bootstrap over problems and runs; "no difference shown" where it holds 1,
  rounded to two decimals.
- **Worst run**: the largest regret of any run, over the smallest mean on the same problem.
- **Linear runs**: those that lose more than half of a wrong choice in every round, and the policy
  with the fewest where it is another. They are counted on problems where some policy is linear in
  at most half of its runs: on the others, which are "left out", the budget lets none find the best
  arm. A problem that has nine in ten of them is named: there the policy fails, not everywhere.
- **Behind on**: problems on which another policy is clearly better with both seeds, and by one per
  cent at least, with the ratio of the means and its interval, by bootstrap over runs. It is in the
  thousands where the other happened to begin with the best choice and never left it.
"""


def guide() -> str:
    """Return the text of the page."""
    judged = judged_summaries()
    problems = [problem for one in judged for problem in one.problems]
    beaten_on = [problem for one in judged for _, problem in problems_behind(one)]
    parts = [
        INTRO.format(
            replications=problems[0].replications,
            problems=len(problems),
            drawn=sum(problem.drawn for problem in problems),
            unbeaten=sum(problem.drawn and problem not in beaten_on for problem in problems),
        )
    ]
    for setting in dict.fromkeys(one.setting for one in judged):
        own = [one for one in judged if one.setting == setting]
        parts.append(f"## [{setting.capitalize()}]({setting}.md)\n\n{table(own)}\n")
    return "\n".join(parts)


@cache
def judged_summaries() -> list:
    """Return the summaries of all situations with both seeds, from the problems for judging."""
    return summaries_of(pooled_results())


@cache
def pooled_results():
    """Return the results of both seeds as one file."""
    return pool_seeds(*seed_results())


def pool_seeds(first, second):
    """Return the results of two seeds as one file: of each policy on each problem, all its runs.

    A policy is better than another if it is with both seeds.
    """
    identities, others = (
        [(p.setting, p.name, p.digest, [result.policy for result in p.results]) for p in f.problems]
        for f in (first, second)
    )
    if first.scale != second.scale or identities != others:
        raise ValueError("results of two seeds must be of the same scale, problems and policies")
    pairs = zip(first.problems, second.problems, strict=True)
    return first.model_copy(update={"problems": [pool_problem(*pair) for pair in pairs]})


def pool_problem(first, second):
    """Return the results of all runs on a problem."""
    weight = first.replications / (first.replications + second.replications)
    pairs = zip(first.results, second.results, strict=True)
    return first.model_copy(
        update={
            "replications": first.replications + second.replications,
            "results": [pool_result(*pair, weight) for pair in pairs],
        }
    )


def pool_result(first, second, weight: float):
    """Return the result of all runs, of which the first has a share of `weight`."""
    averages = {
        field: weight * getattr(first, field) + (1 - weight) * getattr(second, field)
        for field in ("mean", "quantile_90", "nanoseconds")
    }
    return first.model_copy(
        update=averages
        | {
            "std_error": math.hypot(weight * first.std_error, (1 - weight) * second.std_error),
            "worst": max(first.worst, second.worst),
            "linear": first.linear + second.linear,
            "better": [policy for policy in first.better if policy in second.better],
        }
    )


@cache
def seed_results() -> tuple:
    """Return the results of each seed."""
    from keyhole.benchmark import read_results

    return read_results(RESULTS), read_results(SECOND_RESULTS)


def summaries_of(content) -> list:
    """Return the summaries of all situations, from the problems for judging."""
    from keyhole.benchmark.summary import summarize

    return [summary for summary in summarize(content) if summary.part == "judging"]


@cache
def policies_by_seed() -> dict:
    """Return by setting and situation the best policy with each seed, by seed."""
    policies: dict = {}
    for content in seed_results():
        for summary in summaries_of(content):
            by_seed = policies.setdefault((summary.setting, summary.situation), {})
            by_seed[content.problems[0].seed] = summary.best.policy
    return policies


def table(summaries) -> str:
    """Return the table of a setting: a row for each situation."""
    lines = [
        "| situation | policy | next | worst run | linear runs | behind on |",
        "|---|---|---|---|---|---|",
        *(row(one) for one in summaries),
    ]
    return "\n".join(lines)


def row(summary) -> str:
    """Return the row of a situation."""
    from keyhole.benchmark.summary import format_ratio

    best = summary.best
    cells = [
        f"{summary.title} ({len(summary.problems)} problems)",
        recommendation(summary),
        next_best(summary),
        f"{TIMES} {format_ratio(best.worst_ratio)}",
        linear_runs(summary, best),
        behind(summary, best),
    ]
    return f"| {' | '.join(cells)} |"


def recommendation(summary) -> str:
    """Return the best policy, and those that are the best with one of the seeds."""
    by_seed = policies_by_seed()[summary.setting, summary.situation]
    others = [
        f"seed {seed}: `{policy}`"
        for seed, policy in by_seed.items()
        if policy != summary.best.policy
    ]
    return f"`{summary.best.policy}`" + (f" ({', '.join(others)})" if others else "")


def next_best(summary) -> str:
    """Return the next best policy, and how many times the regret it has, if that is shown."""
    from keyhole.benchmark.summary import UNCLEAR

    if summary.next_best is None:
        return ""
    policy, interval = summary.next_best
    if interval.is_above_one:
        return f"`{policy}` {TIMES} {interval}"
    return f"`{policy}`, {UNCLEAR}"


def linear_runs(summary, best) -> str:
    """Return the share of linear runs, and the policy that has the fewest if it is another."""
    from keyhole.benchmark.summary import can_be_learnt, format_share

    fewest = min(summary.ranked, key=lambda standing: standing.linear)
    share = format_share(best.linear_share)
    if summary.uncounted_problems:
        share += f", {summary.uncounted_problems} left out"
    for problem in filter(can_be_learnt, summary.problems):
        linear = next(result.linear for result in problem.results if result.policy == best.policy)
        if len(summary.problems) > 1 and linear >= max(1, MOST_OF_ALL * best.linear):
            share += f", on {problem.name}"
    if fewest.linear == best.linear:
        return share
    return f"{share} (`{fewest.policy}` {format_share(fewest.linear_share)})"


def problems_behind(summary) -> list[tuple]:
    """Return the ratios and problems where another policy is clearly better, the worst first."""
    best = summary.best
    pairs = [
        (ratio, problem)
        for problem, ratio, rank in zip(summary.problems, best.ratios, best.ranks, strict=True)
        if rank > 1 and ratio >= LEAST_BEHIND
    ]
    return sorted(pairs, key=lambda pair: pair[0], reverse=True)


def behind(summary, best) -> str:
    """Return the problems on which another policy is clearly better, the worst first."""
    from keyhole.benchmark.summary import ratio_interval

    beaten = problems_behind(summary)
    named = [
        f"{problem.name} {TIMES} {ratio_interval([problem], best.policy, rival.policy)}"
        for _, problem in beaten[:MOST_NAMED]
        for rival in [min(problem.rivals, key=lambda result: result.mean)]
    ]
    more = len(beaten) - MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def round_times() -> str:
    """Return the file of the nanoseconds that a round of each policy takes: a median."""
    found: dict[str, dict[str, list[float]]] = {}
    for problem in pooled_results().problems:
        for result in problem.results:
            policy = result.policy.partition("(")[0]
            found.setdefault(problem.setting, {}).setdefault(policy, []).append(result.nanoseconds)
    parts = [
        "# Nanoseconds of a round, the medians of docs/benchmark.json: tools/write_which_policy.py."
    ]
    for setting, policies in found.items():
        lines = [f"{name} = {round(median(times))}" for name, times in sorted(policies.items())]
        parts.append("\n".join([f"\n[{setting}]", *lines]))
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the page and the file."""
    sys.path.insert(0, str(ROOT / "src"))
    GUIDE.write_text(guide())
    ROUND_TIMES.write_text(round_times())


if __name__ == "__main__":
    main()
