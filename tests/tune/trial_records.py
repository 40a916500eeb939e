"""Trial records for tests."""

import itertools

from keyhole.tune import TrialRecord

_NUMBERS = itertools.count(1)


def record(outcome, seconds, limit, arm="quick", **changed):
    number = next(_NUMBERS)
    facts = {
        "id": f"{number:026}",
        "round": number,
        "arm": arm,
        "limit": limit,
        "instance": "a",
        "seed": 1,
        "outcome": outcome,
        "reward": 1.0 if outcome == "ok" else None,
        "seconds": seconds,
        "cpu": seconds,
        "memory": 2**20,
        "code": 0 if outcome == "ok" else None,
        "signal": None,
        "reason": "" if outcome == "ok" else "because",
        "output": "",
        "at": 1.75e9 + number,
        "elapsed": float(number),
        "others": 0.0,
    }
    return TrialRecord(**(facts | changed))
