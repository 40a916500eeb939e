"""Write docs/which_policy.md from docs/benchmark.json, the results of `keyhole bench` in full.

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
GUIDE = ROOT / "docs" / "which_policy.md"
ROUND_TIMES = ROOT / "src" / "keyhole" / "experiment" / "round_times.toml"
MOST_NAMED = 3
MOST_OF_ALL = 0.9
TIMES = "\N{MULTIPLICATION SIGN}"

INTRO = """\
# Which policy?

For each situation of a [setting](which_setting.md), the policy that did best in
[the benchmark](benchmark.md): 200 replications of each of {problems} problems for judging, which no
new policy had been run on before it was fixed, with one exception that the benchmark's rules name.
`python tools/write_which_policy.py` writes this page from the results file,
[benchmark.json](benchmark.json), which also has the problems for tuning.

There are no contextual policies here (which read features of a visitor or an item): use Vowpal
Wabbit, MABWiser, contextualbandits or River. Nor are there policies for means that drift.

- **Next**: how much larger the mean regret of the next best is, a geometric mean over the problems;
  "no difference shown" where its 95 % interval, as if they had shared no random numbers, holds 1.
- **Worst run**: the largest regret of any run, over the smallest mean on the same problem.
- **Linear runs**: those that lose more than half of a wrong choice in every round, and the policy
  with the fewest where it is another. Where none is named no policy has fewer: in hundreds of runs
  a budget may let none find the best arm. A problem that has nine in ten of them is named.
- **Behind on**: problems on which another policy is clearly better, with the ratio of the means.
  It is in the thousands where the other happened to begin with the best choice and never left it.
"""


def guide() -> str:
    """Return the text of the page."""
    judged = judged_summaries()
    parts = [INTRO.format(problems=sum(len(one.problems) for one in judged))]
    for setting in dict.fromkeys(one.setting for one in judged):
        own = [one for one in judged if one.setting == setting]
        parts.append(f"## [{setting.capitalize()}]({setting}.md)\n\n{table(own)}\n")
    return "\n".join(parts)


@cache
def judged_summaries() -> list:
    """Return the summaries of all situations, from the problems for judging."""
    from keyhole.benchmark import read_results
    from keyhole.benchmark.summary import summarize

    return [one for one in summarize(read_results(RESULTS)) if one.part == "judging"]


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
        f"`{best.policy}`",
        next_best(summary),
        f"{TIMES} {format_ratio(best.worst_run)}",
        linear_runs(summary, best),
        behind(summary, best),
    ]
    return f"| {' | '.join(cells)} |"


def next_best(summary) -> str:
    """Return the policy with the next larger ratio, and by how much it is larger."""
    from keyhole.benchmark.summary import format_ratio

    best = summary.best
    others = [one for one in summary.ranked if one != best and one.ratio >= best.ratio]
    if not others:
        return ""
    if is_difference_shown(summary, best, others[0]):
        return f"`{others[0].policy}` {TIMES} {format_ratio(others[0].ratio / best.ratio)}"
    return f"`{others[0].policy}`, no difference shown"


def is_difference_shown(summary, best, other) -> bool:
    """Return whether the unpaired 95 % interval of the ratio of two policies is above 1."""
    from keyhole.benchmark.rules import FLOOR_SHARE

    variance = 0.0
    for problem in summary.problems:
        floor = FLOOR_SHARE * problem.wrong_choice
        for result in problem.results:
            if result.policy in (best.policy, other.policy):
                variance += (result.std_error / (result.mean + floor)) ** 2
    difference = len(summary.problems) * math.log(other.ratio / best.ratio)
    return difference > 1.96 * math.sqrt(variance)


def linear_runs(summary, best) -> str:
    """Return the share of linear runs, and the policy that has the fewest if it is another."""
    from keyhole.benchmark.summary import format_share

    fewest = min(summary.ranked, key=lambda one: one.linear)
    own = format_share(best.linear_share)
    for problem in summary.problems:
        linear = next(one.linear for one in problem.results if one.policy == best.policy)
        if len(summary.problems) > 1 and linear >= max(1, MOST_OF_ALL * best.linear):
            own += f", on {problem.name}"
    if fewest.linear == best.linear:
        return own
    return f"{own} (`{fewest.policy}` {format_share(fewest.linear_share)})"


def behind(summary, best) -> str:
    """Return the problems on which another policy is clearly better, the worst first."""
    from keyhole.benchmark.summary import format_ratio

    found = [
        (ratio, problem.name)
        for problem, ratio, rank in zip(summary.problems, best.ratios, best.ranks, strict=True)
        if rank > 1
    ]
    named = [f"{name} {TIMES} {format_ratio(ratio)}" for ratio, name in sorted(found, reverse=True)]
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def round_times() -> str:
    """Return the file of the nanoseconds that a round of each policy takes: a median."""
    from keyhole.benchmark import read_results

    found: dict[str, dict[str, list[float]]] = {}
    for problem in read_results(RESULTS).problems:
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
