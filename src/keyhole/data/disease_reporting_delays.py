"""How late cases of diseases were reported: recorded delays, from which simulations draw."""

from typing import Final

import numpy as np

from keyhole.data.deadline_times import read_bundled_table
from keyhole.delayed import Empirical
from keyhole.validate import check_choice

REPORTS: Final = ("dengue", "mpox-diagnosis", "mpox-onset")


def reporting_delay(cases: str) -> Empirical:
    """Return the empirical distribution of a disease's reporting delays.

    The last cases lack those that were reported after the source ends: long delays are a little
    rarer than in truth.

    Parameters
    ----------
    cases : {"dengue", "mpox-diagnosis", "mpox-onset"}
        Weeks from the onset of dengue to its report, in Puerto Rico from 1990 to 2010; days from
        the diagnosis of mpox, or from its onset, to its report, in New York City in 2022.

    Examples
    --------
    >>> distribution = reporting_delay("dengue")
    >>> distribution
    Empirical(52987 delays, mean 1.73765)
    >>> distribution.bound
    26.0
    """
    check_choice("cases", cases, REPORTS)
    _, rows = read_bundled_table("delays", "reporting.csv")
    table = [row.split(",") for row in rows]
    counts = [(int(delay), int(count)) for name, delay, count in table if name == cases]
    delays, times = zip(*counts, strict=True)
    return Empirical(np.repeat(delays, times).astype(np.float64))
