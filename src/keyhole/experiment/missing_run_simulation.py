"""Simulation, on a cluster, of the experiments whose run folders have no results yet."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from keyhole.clusters import Cluster
from keyhole.clusters.cluster import THREADS, cluster_connection
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.run_folder import is_finished
from keyhole.experiment.spec import Spec
from keyhole.play.progress import progress_report


@contextmanager
def connect_if_missing(
    specs: Mapping[Path, Spec], on: str | Executor, threads: int | None
) -> Iterator[Cluster | None]:
    """Return a context manager with the cluster, if one is named and some run is missing.

    Enter it before a folder is created: a cluster that does not answer then leaves nothing behind.
    """
    done = all(map(is_finished, specs))
    with cluster_connection(THREADS if done else on, threads) as cluster:
        yield cluster


def simulate_missing(
    cache: ResultCache,
    specs: Mapping[Path, Spec],
    cluster: Cluster | None,
    threads: int | None,
    progress: bool,
) -> None:
    """Simulate on a cluster, if there is one, the results that missing runs need."""
    # Without a cluster, each run simulates what it lacks when its turn comes.
    if cluster is not None:
        left = [spec for folder, spec in specs.items() if not is_finished(folder)]
        with progress_report(progress) as report:
            cache.fill(left, cluster, threads, report)
