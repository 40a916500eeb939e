"""Clusters: worker processes on this and other machines, under a scheduler of Dask or Ray."""

from keyhole.clusters.cluster import Cluster, ClusterLostError, TaskResult
from keyhole.clusters.cluster_connection import connect

__all__ = ["Cluster", "ClusterLostError", "TaskResult", "connect"]
