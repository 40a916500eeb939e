"""Patrols are divided among nine cities every morning; in the evening it is seen what happened.

The events are real: homicides by day. A city that was given enough shows none. The study is asked
in the morning and told in the evening by a program that runs twice a day and keeps nothing but the
name of the decision: here it opens the study anew each time.

    python examples/studies/patrols.py [DAYS]
"""

import sys
import tempfile
from pathlib import Path

from keyhole.data import load_crimes
from keyhole.semibandit import CSBST
from keyhole.study import Study

RESOURCE = 1.5
ENOUGH = 0.5


def morning(file: Path) -> str:
    """Ask, send out the patrols, and keep the name of the decision."""
    with Study.open(file, "patrols") as study:
        return study.ask().id


def evening(file: Path, id: str, events: dict[str, bool]) -> int:
    """Tell where something happened that no patrol prevented; return in how many cities."""
    with Study.open(file, "patrols") as study:
        given = next(d for d in study.pending if d.id == id).allocation
        losses = [city for city, event in events.items() if event and given[city] < ENOUGH]
        study.tell(id, losses)
        return len(losses)


def main(days: int = 365) -> None:
    """Play the days one after the other."""
    recorded = load_crimes("cities")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "patrols.db"
        Study.create(
            file, "patrols", CSBST(epsilon=0.04), recorded.places, resource=RESOURCE
        ).close()
        losses = 0
        for day in recorded.losses[:days].tolist():
            id = morning(file)
            losses += evening(file, id, dict(zip(recorded.places, map(bool, day), strict=True)))
        with Study.open(file, "patrols") as study:
            enough = study.recommend()[recorded.places[0]]
    events = int(recorded.losses[:days].sum())
    print(f"{days} days, {len(recorded.places)} cities: {losses} of {events} events not prevented")
    print(f"found to be enough for a city: {enough:g}; it is {ENOUGH:g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
