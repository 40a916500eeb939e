"""Clusters: executors of `concurrent.futures`, and worker processes under Dask or Ray."""

from keyhole.clusters.cluster import Cluster, ClusterLostError
from keyhole.clusters.cluster_connection import connect

__all__ = ["Cluster", "ClusterLostError", "connect"]
