"""Real data: crowd labels that ship with the package, and a reader for your own."""

from keyhole.data.crowd_problem import crowd
from keyhole.data.labels import Labels, load_labels, read_labels_csv

__all__ = ["Labels", "crowd", "load_labels", "read_labels_csv"]
