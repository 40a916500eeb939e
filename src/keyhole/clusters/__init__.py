"""Clusters: other processes and machines that do work, under the scheduler of Dask or of Ray."""

from keyhole.clusters.cluster import Cluster, ClusterLostError, TaskResult
from keyhole.clusters.connection import connect

__all__ = ["Cluster", "ClusterLostError", "TaskResult", "connect"]
