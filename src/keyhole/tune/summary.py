"""What a tune has found, in words and tables."""

import re
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from keyhole.results.estimate import format_estimate
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.tune import Tune
from keyhole.tune.value_estimates import Interval

_FIELD: Final = re.compile(
    r"(?:\{\w+(?::[\w.,+-]*)?\}|[\w@%+=:,./-])+"
)  # words of fields and what is safe
_ENDS: Final = ("ok", "out of time", "failed", "out of memory")
_NO_SUCCESS: Final = "no run has succeeded: nothing speaks for any command"


def format_seconds(known: Interval) -> str:
    """Return seconds with their interval."""
    return f"{known} s"


def format_share(known: Interval) -> str:
    """Return a share in per cent, with its interval."""
    return f"{known.value:.0%} [{known.low:.0%}, {known.high:.0%}]"


def count_outcomes(runs: list[TrialRecord]) -> dict[str, int]:
    """Return how many runs ended in which way."""
    return {end: sum(run.outcome == end for run in runs) for end in _ENDS}


def format_progress(tune: Tune) -> str:
    """Return how far a tune has come."""
    ended = ", ".join(f"{n:,} {end}" for end, n in count_outcomes(tune.runs).items() if n)
    took = timedelta(seconds=round(tune.elapsed))
    said = f"{tune.spec.name}: {len(tune.runs):,} runs in {took}" + (f"; {ended}" if ended else "")
    if tune.expired:
        said += f"; {len(tune.expired):,} counted for nothing and were done again"
    return said


def format_recommendation(tune: Tune) -> list[str]:
    """Return what to run, what it is worth, how sure that is, against what, and runs of arms.

    Where no run has succeeded, a line that says so comes first.
    """
    best = tune.best()
    full = best.full
    against = (
        f"against the full cut-off, {full.limit:g} s, with the best command: {best.more} more a "
        f"run; that is perhaps {full.arm}, worth {full.gain} (from {_told(full.runs)})"
    )
    if best.more.value < 0.0:
        against += "; below 0 since another command, not known which, may well be better there"
    if best.limit == full.limit:
        against = (
            "against the full cut-off: it looks best at that, and no earlier limit looks better"
        )
        if best.more.low < 0.0:
            most = format_estimate(-best.more.low, -best.more.low)
            against += f"; another command at it is better by at most {most} a run (95 %)"
    count = len(best.runs_of_arms)
    first = f"best: {best.arm} with {best.limit:g} s"
    if best.untried:
        first = f"{len(best.untried)} of {count} arms not tried yet; {first}"
    return [
        *([] if best.successes else [_NO_SUCCESS]),
        first,
        f"worth: {best.gain} a run; {format_share(best.done)} succeed, "
        f"{format_seconds(best.seconds)} a run (from {_told(best.runs)})",
        f"probability that no other pair is better by more than 1 % of a success: {best.sure:.0%}; "
        f"the best is better by at most {format_estimate(best.loss, best.loss)} (95 %)",
        against,
        f"runs of an arm: {_spread(list(best.runs_of_arms.values()))}",
    ]


def _spread(runs: list[int]) -> str:
    """Return how often arms were run: the least and the most."""
    return f"{min(runs):,} to {max(runs):,}, {len(runs):,} arms"


def _told(runs: int) -> str:
    return f"{runs:,} run{'' if runs == 1 else 's'}" if runs else "no run"


def command_line(tune: Tune, arm: str) -> str:
    """Return the template of an arm's command, its own parameters filled in."""
    found = next(one for one in tune.spec.arms if one.name == arm)
    if found.function:
        given = ", ".join(f"{name}={value!r}" for name, value in found.parameters.items())
        return f"{found.function}({given})"
    return " ".join(word if _FIELD.fullmatch(word) else shlex.quote(word)
                    for word in found.template())  # fmt: skip


POOLED: Final = "Gains of arms with few runs say mostly what is known of all arms together."


def arms_table(tune: Tune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows: what became of each arm's runs, and the time that they took."""
    head = ["arm", "runs", *_ENDS, "seconds", "of all", "best limit", "gain with it"]
    total = sum(run.seconds for run in tune.runs) or 1.0
    gains = tune.gains
    mean = gains.draws.mean(axis=0)
    rows = []
    for number, arm in enumerate(tune.spec.arms):
        runs = tune.of(arm.name)
        spent = sum(run.seconds for run in runs)
        tried = gains.told[number] > 0
        row = [arm.name, f"{len(runs):,}", *map(str, count_outcomes(runs).values())]
        row += [f"{spent:,.1f}", f"{spent / total:.0%}"]
        if tried.any():
            place = max((k for k in range(len(tried)) if tried[k]), key=lambda k: mean[number, k])
            row += [f"{tune.spec.limits[place]:g} s", str(tune.pair(number, place).gain)]
        else:
            row += ["", ""]
        rows.append(row)
    return head, rows


def best_as_json(tune: Tune) -> dict[str, Any]:
    """Return the recommendation for a program."""
    best = tune.best()
    found = next(one for one in tune.spec.arms if one.name == best.arm)
    said = asdict(best) | {
        "command": list(found.command),
        "parameters": dict(found.parameters),
        "template": found.template(),  # the command with its parameters
    }
    if found.function:
        said["function"] = found.function
    return said
