"""Real data: crowd labels, flights and deliveries that ship with the package; your own labels."""

from keyhole.data.crowd_problem import crowd
from keyhole.data.deliveries import deliveries, load_deliveries
from keyhole.data.flights import flights, load_flights
from keyhole.data.labels import Labels, load_labels, read_labels_csv
from keyhole.data.times import Times, deadlines_kept

__all__ = [
    "Labels",
    "Times",
    "crowd",
    "deadlines_kept",
    "deliveries",
    "flights",
    "load_deliveries",
    "load_flights",
    "load_labels",
    "read_labels_csv",
]
