"""Clusters: other processes and machines that do work, under the scheduler of Dask or of Ray."""

from keyhole.clusters.cluster import Cluster, Ended, GoneError
from keyhole.clusters.connecting import connect

__all__ = ["Cluster", "Ended", "GoneError", "connect"]
