"""The settings there are, and the sources of their problems: a room is wired here and only here."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from keyhole import delayed, resource, semibandit, stochastic, threshold, thresholding
from keyhole.contract.world import Problem
from keyhole.data import (
    Conversions,
    Events,
    Measured,
    Scenario,
    cdnow,
    crowd,
    deliveries,
    flights,
    forests,
    load_aslib,
    load_labels,
    patrols,
    read_conversions_csv,
    read_labels_csv,
    read_measured_csv,
    read_patrols_csv,
    reporting_delay,
)
from keyhole.data.labels import NAMES, Labels
from keyhole.experiment.samples import samples
from keyhole.experiment.sources import Source, a_file
from keyhole.experiment.values import list_of, one_of
from keyhole.validate import choice


def _shipped(value: Any, folder: Path) -> Labels:
    return load_labels(choice("entry", value, NAMES))


def _own(value: Any, folder: Path) -> Labels:
    return read_labels_csv(a_file("entry", value, folder))


def _events(value: Any, folder: Path) -> Events:
    return read_patrols_csv(a_file("entry", value, folder))


def _delay(value: Any, folder: Path) -> Any:
    """Return a law of delays; a name stands for recorded ones."""
    return reporting_delay(value) if isinstance(value, str) else value


def _scenario(value: Any, folder: Path) -> Scenario:
    return load_aslib(a_file("entry", value, folder))


def _runs(value: Any, folder: Path) -> Measured:
    """Return the runs of a file, or of a file with the limit of all of them."""
    table = _file_and("limit", value)
    return read_measured_csv(a_file("entry", table.get("file"), folder), limit=table.get("limit"))


def _log(value: Any, folder: Path) -> Conversions:
    """Return the log of a file, or of a file with the length of a round."""
    table = _file_and("unit", value)
    return read_conversions_csv(
        a_file("entry", table.get("file"), folder), unit=table.get("unit", "day")
    )


def _file_and(further: str, value: Any) -> Mapping[str, Any]:
    """Return the table that an entry holds, which may be the name of a file alone."""
    table = value if isinstance(value, Mapping) else {"file": value}
    for name in table:
        choice("entry: each entry", name, ("file", further))
    return table


_FUNCTION: Final = one_of(resource.Power, resource.Steps, resource.Table)

SOURCES: Final[dict[str, dict[str, Source]]] = {
    "stochastic": {
        "means": Source("the mean reward of each arm, in [0, 1]", stochastic.Problem),
        "samples": Source(
            "recorded rewards: a list for each arm, or a CSV file arm,reward",
            stochastic.Problem.replay,
            read=samples,
        ),
    },
    "threshold": {
        "survival": Source(
            "for each arm the chances to reach level 1, 2, ..., m", threshold.Problem
        ),
        "mass": Source(
            "for each arm the chances of the levels 0, 1, ..., m", threshold.Problem.from_mass
        ),
        "samples": Source(
            "recorded samples, from 0 to the number of levels: a list for each arm",
            threshold.Problem.replay,
        ),
        "flights": Source("flights out of New York in 2013: a destination, such as DCA", flights),
        "deliveries": Source(
            "deliveries of a restaurant: day, hour or distance, whichever makes the arms",
            deliveries,
        ),
    },
    "delayed": {
        "means": Source(
            "the mean reward of each arm, in [0, 1]", delayed.Problem, reads={"delay": _delay}
        ),
        "rewards": Source(
            "recorded rewards, a list for each arm; delays are those recorded with them",
            delayed.Problem.replay,
        ),
        "cdnow": Source("customers of a shop: days within which a second order counts", cdnow),
        "conversions": Source(
            "a CSV file of your own: shown_at,converted_at,arm; or { file = ..., unit = ... }",
            Conversions.problem,
            read=_log,
        ),
    },
    "resource": {
        "arms": Source(
            "for each arm a table: the name of a law of reward and consumption, its parameters",
            resource.Problem,
            read=list_of(
                one_of(resource.BetaExponential, resource.TruncatedNormal, resource.Replay)
            ),
            reads={"cost": _FUNCTION, "penalty": _FUNCTION},
        ),
        "replica": Source(
            "a replica of the paper's: PosCorr, NegCorr, Indep or LowCensoring", resource.replica
        ),
        "three_models": Source(
            "the paper's working example: a promise that is strict, or soft", resource.three_models
        ),
        "forests": Source(
            "random forests on house prices: how many limits",
            forests,
            reads={"cost": _FUNCTION, "penalty": _FUNCTION},
        ),
        "measured": Source(
            "a CSV file of your own: arm,reward,consumption[,limit], or { file = ..., limit = .. }",
            Measured.problem,
            read=_runs,
            reads={"cost": _FUNCTION, "penalty": _FUNCTION},
        ),
        "aslib": Source(
            "a scenario of the algorithm selection library: its folder, or a Parquet file",
            Scenario.problem,
            read=_scenario,
            reads={"cost": _FUNCTION, "penalty": _FUNCTION},
        ),
    },
    "semibandit": {
        "mean_losses": Source("the mean loss of each arm, in [0, 1]", semibandit.Problem),
        "losses": Source(
            "recorded days: for each a list of 0 or 1, whether each arm would have had a loss",
            semibandit.Problem.replay,
        ),
        "patrols": Source("recorded crime by place and day: tracts, boroughs or cities", patrols),
        "events": Source("a CSV file of your own: day,place,events", patrols, read=_events),
    },
    "thresholding": {
        "means": Source("the mean reward of each arm, in [0, 1]", thresholding.Problem),
        "watched": Source(
            "the mean reward of each arm; means are held against Lemma 19 of Tao et al. (2019)",
            thresholding.Watched,
        ),
        "samples": Source(
            "recorded rewards: a list for each arm, or a CSV file arm,reward",
            thresholding.Problem.replay,
            read=samples,
            without=("gold",),
        ),
        "crowd": Source(f"labels that ship with Keyhole: {', '.join(NAMES)}", crowd, read=_shipped),
        "labels": Source(
            "a CSV file of your own labels: item,label[,worker,gold]", crowd, read=_own
        ),
    },
}
"""By setting: the entries that can describe a problem, of which a spec gives one."""


def make_problem(table: Mapping[str, Any], folder: Path) -> Problem:
    """Make the problem that a spec's table describes.

    Parameters
    ----------
    table : mapping
        The table ``[problem]``.
    folder : Path
        What paths in it are relative to.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ValueError
        If an entry is missing, unknown or not allowed; the message names it.

    Examples
    --------
    >>> table = {"setting": "thresholding", "means": [0.2, 0.7], "threshold": 0.5}
    >>> make_problem(table, Path())
    Problem(2 bernoulli arms, means=[0.2, 0.7], threshold=0.5)
    """
    given = dict(table)
    if "setting" not in given:
        raise ValueError(f"problem.setting must be given: one of {', '.join(SOURCES)}")
    sources = SOURCES[choice("problem.setting", given.pop("setting"), SOURCES)]
    named = [name for name in sources if name in given]
    if len(named) != 1:
        got = " and ".join(named) or f"none{_slip(given, sources)}"
        raise ValueError(f"problem must have exactly one of {', '.join(sources)}; got {got}")
    return sources[named[0]].problem(named[0], given, folder)


def _slip(given: Mapping[str, Any], sources: Mapping[str, Source]) -> str:
    """Return a hint where an entry looks like the name of a source."""
    for name in given:
        for close in get_close_matches(name, sources, 1):
            return f" (did you mean {close!r} by {name!r}?)"
    return ""
