"""The problems from recorded data that a spec can describe, and readers of their entries."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from keyhole import delayed, stochastic, thresholding
from keyhole.data.aslib_scenario import Scenario, load_aslib
from keyhole.data.crime_events import patrols_problem, read_daily_counts_csv
from keyhole.data.crowd_labels import BUNDLED, crowd_problem, read_labels_csv
from keyhole.data.csv_rows import read_rewards
from keyhole.data.delayed_conversions import (
    Conversions,
    cdnow_problem,
    disease_reporting_delay,
    read_conversions_csv,
)
from keyhole.data.random_forest_training import forests_problem
from keyhole.data.recorded_consumptions import MeasuredRuns, read_measured_runs_csv
from keyhole.data.recorded_deadline_times import deliveries_problem, flights_problem
from keyhole.distributions.reward_distributions import UNIT
from keyhole.resource.cost_functions import COST_READERS
from keyhole.spec_values import ProblemFactory, file_path
from keyhole.validation import check_choice, short_repr


def _read_samples(field: str, value: Any, folder: Path) -> Any:
    """Return the rewards of each arm: lists as they are, or read from a CSV file."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str | Mapping):
        raise TypeError(
            f"{field} must be a list for each arm, or the name of a file, got {short_repr(value)}"
        )
    path, options = _parse_file_entry(field, value, folder, "delimiter", "decimal")
    return read_rewards(path, UNIT, **options)


def _parse_delay(field: str, value: Any, folder: Path) -> Any:
    """Return a distribution of delays; a text names a recorded one."""
    return disease_reporting_delay(value) if isinstance(value, str) else value


def _read_scenario(field: str, value: Any, folder: Path) -> Scenario:
    return load_aslib(file_path(field, value, folder))


def _parse_file_entry(
    field: str, value: Any, folder: Path, *option_names: str
) -> tuple[Path, dict[str, Any]]:
    """Return the file that an entry names, and its options.

    The entry is the name of a file, or a mapping with this name as ``file``, and options.
    """
    options = dict(value) if isinstance(value, Mapping) else {"file": value}
    for name in options:
        check_choice(f"{field}: each entry", name, ("file", *option_names))
    return file_path(field, options.pop("file", None), folder), options


def _file_reader(read: Callable[..., Any], *option_names: str) -> Callable[[str, Any, Path], Any]:
    """Return a function that reads the file of an entry by `read`, with the entry's options."""

    def read_entry(field: str, value: Any, folder: Path) -> Any:
        path, options = _parse_file_entry(field, value, folder, *option_names)
        return read(path, **options)

    return read_entry


_REWARDS: Final = "recorded rewards: a list for each arm, or a CSV file arm,reward"

# By setting. They are added to the setting's own factories; "samples" and "means" replace its own.
PROBLEM_FACTORIES: Final[dict[str, dict[str, ProblemFactory]]] = {
    "stochastic": {
        "samples": replace(
            stochastic.PROBLEM_FACTORIES["samples"], doc=_REWARDS, read=_read_samples
        )
    },
    "threshold": {
        "flights": ProblemFactory(
            "flights out of New York in 2013: a destination, such as DCA", flights_problem
        ),
        "deliveries": ProblemFactory(
            "deliveries of a restaurant: what makes the arms: day, hour or distance",
            deliveries_problem,
        ),
    },
    "delayed": {
        "means": replace(
            delayed.PROBLEM_FACTORIES["means"], further_readers={"delay": _parse_delay}
        ),
        "cdnow": ProblemFactory(
            "customers of a shop: days within which a second order counts", cdnow_problem
        ),
        "conversions": ProblemFactory(
            "a CSV file of your own: shown_at,converted_at,arm; or { file = ..., unit = ... }",
            Conversions.problem,
            read=_file_reader(read_conversions_csv, "unit", "until", "delimiter", "date_format"),
        ),
    },
    "resource": {
        "forests": ProblemFactory(
            "random forests on house prices: how many limits",
            forests_problem,
            further_readers=COST_READERS,
        ),
        "measured": ProblemFactory(
            "a CSV file of your own: arm,reward,consumption[,limit], or { file = ..., limit = .. }",
            MeasuredRuns.problem,
            read=_file_reader(read_measured_runs_csv, "limit", "delimiter", "decimal"),
            further_readers=COST_READERS,
        ),
        "aslib": ProblemFactory(
            "a scenario of the algorithm selection library: its folder",
            Scenario.problem,
            read=_read_scenario,
            further_readers=COST_READERS,
        ),
    },
    "semibandit": {
        "patrols": ProblemFactory(
            "recorded crime by place and day: tracts, boroughs or cities", patrols_problem
        ),
        "events": ProblemFactory(
            "a CSV file of your own: day,place,events",
            patrols_problem,
            read=_file_reader(read_daily_counts_csv, "since", "until", "delimiter"),
        ),
    },
    "thresholding": {
        "samples": replace(
            thresholding.PROBLEM_FACTORIES["samples"], doc=_REWARDS, read=_read_samples
        ),
        "crowd": ProblemFactory(
            f"labels that ship with Keyhole: {', '.join(BUNDLED)}", crowd_problem
        ),
        "labels": ProblemFactory(
            "a CSV file of your own: item,label[,worker,gold]; or { file = ..., item = ..., .. }",
            crowd_problem,
            read=_file_reader(read_labels_csv, "item", "label", "gold", "delimiter"),
        ),
    },
}
