"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source
from keyhole.semibandit.problem import Problem

SOURCES: Final = {
    "mean_losses": Source("the mean loss of each arm, in [0, 1]", Problem),
    "losses": Source(
        "recorded days: for each a list of 0 or 1, whether each arm would have had a loss",
        Problem.replay,
    ),
}
