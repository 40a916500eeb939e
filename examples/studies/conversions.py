"""A study of offers whose purchases arrive days or weeks later, and mostly never.

The data are real: when, if ever, each of 23,570 customers of a record shop came back, grouped by
how many records they had first bought. Each group stands for an offer. The study shows an offer to
forty people a day, is told of a purchase on its day, and takes none within thirty days for no sale.

    python examples/studies/conversions.py [DAYS]
"""

import heapq
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from keyhole.data import load_cdnow
from keyhole.stochastic import ThompsonSampling
from keyhole.study import Study

PEOPLE_A_DAY = 40
TIMEOUT = timedelta(days=30)


def main(days: int = 60) -> None:
    """Play the days one after the other."""
    shop, rng = load_cdnow(), np.random.default_rng(1)
    today = datetime(2026, 1, 1, tzinfo=UTC)
    purchases: list[tuple[datetime, str]] = []
    shown = dict.fromkeys(shop.arms, 0)
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(
            Path(folder) / "shop.db",
            "offers",
            ThompsonSampling(),
            shop.arms,
            timeout=TIMEOUT,
            on_timeout="no_reward",
            durability="process_crash",
            clock=lambda: today.timestamp(),
        )
        for _ in range(days):
            while purchases and purchases[0][0] <= today:
                study.tell(heapq.heappop(purchases)[1], True)
            for _ in range(PEOPLE_A_DAY):
                decision = study.ask()
                shown[decision.arm] += 1
                delay = rng.choice(shop.delays[shop.arms.index(decision.arm)])
                if delay < TIMEOUT.days:
                    heapq.heappush(purchases, (today + timedelta(days=float(delay)), decision.id))
            today += timedelta(days=1)
        best, waiting = study.recommend(), len(study.pending)
        study.close()
    for arm, people in shown.items():
        bought = float((shop.delays[shop.arms.index(arm)] < TIMEOUT.days).mean())
        print(f"offer {arm}: shown to {people} people; {bought:.1%} of its customers buy in time")
    print(f"best so far: offer {best}; {waiting} people may yet buy")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
