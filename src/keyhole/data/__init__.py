"""Problems made from real data: data sets in the package, and files of the user."""

from keyhole.data.aslib_files import RunToExport, write_aslib
from keyhole.data.aslib_scenario import Scenario, aslib_problem, load_aslib
from keyhole.data.crime_events import (
    DailyCounts,
    load_crimes,
    patrols_problem,
    read_daily_counts_csv,
)
from keyhole.data.crowd_labels import Labels, crowd_problem, load_labels, read_labels_csv
from keyhole.data.csv_rows import read_rewards_csv
from keyhole.data.delayed_conversions import (
    Conversions,
    cdnow_problem,
    disease_reporting_delay,
    load_cdnow,
    read_conversions_csv,
)
from keyhole.data.random_forest_training import (
    ForestTrainer,
    forests_problem,
    load_forest_runs,
)
from keyhole.data.recorded_consumptions import MeasuredRuns, read_measured_runs_csv
from keyhole.data.recorded_deadline_times import (
    ArrivalTimes,
    count_deadlines_met,
    deliveries_problem,
    flights_problem,
    load_deliveries,
    load_flights,
)
from keyhole.former_names import add_former_names

__all__ = [
    "ArrivalTimes", "Conversions", "DailyCounts", "ForestTrainer", "Labels", "MeasuredRuns",
    "RunToExport", "Scenario", "aslib_problem", "cdnow_problem", "count_deadlines_met",
    "crowd_problem", "deliveries_problem", "disease_reporting_delay", "flights_problem",
    "forests_problem", "load_aslib", "load_cdnow", "load_crimes", "load_deliveries", "load_flights",
    "load_forest_runs", "load_labels", "patrols_problem", "read_conversions_csv",
    "read_daily_counts_csv", "read_labels_csv", "read_measured_runs_csv", "read_rewards_csv",
    "write_aslib",
]  # fmt: skip

add_former_names(__name__)
