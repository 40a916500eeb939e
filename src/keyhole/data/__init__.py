"""Real data sets as problems: those in the package, and files of the user."""

from keyhole.data.aslib import Scenario, aslib, load_aslib
from keyhole.data.aslib_files import RunToExport, write_aslib
from keyhole.data.crime_events import Events, load_crimes, patrols, read_events_csv
from keyhole.data.crowd_labels import Labels, crowd, load_labels, read_labels_csv
from keyhole.data.csv_rows import read_rewards_csv
from keyhole.data.delayed_conversions import (
    Conversions,
    cdnow,
    load_cdnow,
    read_conversions_csv,
    reporting_delay,
)
from keyhole.data.random_forest_training import (
    ForestTrainer,
    forests,
    load_forest_runs,
)
from keyhole.data.recorded_consumptions import MeasuredRuns, read_measured_csv
from keyhole.data.recorded_deadline_times import (
    Times,
    deliveries,
    flights,
    level_of_time,
    load_deliveries,
    load_flights,
)

__all__ = [
    "Conversions", "Events", "ForestTrainer", "Labels", "MeasuredRuns", "RunToExport", "Scenario",
    "Times", "aslib", "cdnow", "crowd", "deliveries", "flights", "forests", "level_of_time",
    "load_aslib", "load_cdnow", "load_crimes", "load_deliveries", "load_flights",
    "load_forest_runs", "load_labels", "patrols", "read_conversions_csv",
    "read_events_csv", "read_labels_csv", "read_measured_csv", "read_rewards_csv",
    "reporting_delay", "write_aslib",
]  # fmt: skip
