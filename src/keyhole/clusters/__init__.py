"""Clusters: executors of `concurrent.futures`, and worker processes under Dask or Ray."""

from keyhole.clusters.cluster import Cluster, ClusterLostError, connect

__all__ = ["Cluster", "ClusterLostError", "connect"]
