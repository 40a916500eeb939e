"""Real data: labels, times, crime and delays that ship with the package; your own.

Source and licence of what ships stand in a README beside the data. A file of your own that is not
as it should be is refused with an error that names the line and the field; files are in UTF-8.
"""

from keyhole.data.aslib import Scenario, aslib, load_aslib
from keyhole.data.aslib_writing import Made, write_aslib
from keyhole.data.conversions import (
    Conversions,
    cdnow,
    load_cdnow,
    read_conversions_csv,
)
from keyhole.data.deliveries import deliveries, load_deliveries
from keyhole.data.flights import flights, load_flights
from keyhole.data.forests import Forests, forests, load_forests, measure_forests
from keyhole.data.labels import Labels, crowd, load_labels, read_labels_csv
from keyhole.data.measured import Measured, read_measured_csv
from keyhole.data.patrols import Events, load_patrols, patrols, read_patrols_csv
from keyhole.data.reporting import reporting_delay
from keyhole.data.rewards import read_rewards_csv
from keyhole.data.times import Times, deadlines_kept
from keyhole.data.worker import JobError, Worker

__all__ = [
    "Conversions",
    "Events",
    "Forests",
    "JobError",
    "Labels",
    "Made",
    "Measured",
    "Scenario",
    "Times",
    "Worker",
    "aslib",
    "cdnow",
    "crowd",
    "deadlines_kept",
    "deliveries",
    "flights",
    "forests",
    "load_aslib",
    "load_cdnow",
    "load_deliveries",
    "load_flights",
    "load_forests",
    "load_labels",
    "load_patrols",
    "measure_forests",
    "patrols",
    "read_conversions_csv",
    "read_labels_csv",
    "read_measured_csv",
    "read_patrols_csv",
    "read_rewards_csv",
    "reporting_delay",
    "write_aslib",
]
