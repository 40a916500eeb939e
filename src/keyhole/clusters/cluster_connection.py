"""Connection to a cluster by its address, such as ``dask=tcp://10.0.0.1:8786``."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module
from typing import Final, cast

from keyhole.clusters.cluster import Cluster
from keyhole.extras import require_extra
from keyhole.validate import Range, check_integer, check_line, short_repr

THREADS: Final = "threads"
_MODULES: Final = {"dask": "keyhole.clusters.dask", "ray": "keyhole.clusters.ray"}
_ELSEWHERE: Final = " or ".join(f"{kind}[=ADDRESS]" for kind in _MODULES)
_WORKERS: Final = Range(ge=1, le=1024)


def check_address(on: str | Executor, threads: int | None, *, name: str = "threads") -> None:
    """Refuse an invalid address, and a number of `threads` for a cluster that is running."""
    if threads is not None:
        check_integer(name, threads, _WORKERS)
    has_workers = isinstance(on, Cluster) if isinstance(on, Executor) else bool(_parts(on)[1])
    if has_workers and threads is not None:
        address = on.name if isinstance(on, Cluster) else on
        raise ValueError(f"{name} must be left out: {address} has workers of its own")


def _parts(on: str) -> tuple[str, str | None]:
    """Return the kind of a cluster and its address, if one is given."""
    if not isinstance(on, str):
        raise TypeError(
            f"on must be a text, or an executor of concurrent.futures, got {short_repr(on)}"
        )
    kind, sign, address = check_line("on", on).partition("=")
    if kind not in (THREADS, *_MODULES) or (sign and (kind == THREADS or not address)):
        raise ValueError(f"on must be {THREADS}, {_ELSEWHERE}, got {short_repr(on)}")
    return kind, address or None


def connect(on: str, *, workers: int | None = None) -> Cluster:
    """Connect to a running cluster, or start one on this machine.

    Parameters
    ----------
    on : str
        ``dask=ADDRESS`` or ``ray=ADDRESS`` for a running one; ``dask`` or ``ray`` to start one on
        this machine, which ends when it is closed.
    workers : int, optional
        How many processes to start, at most 1,024; by default one for each processor.

    Raises
    ------
    ImportError
        If the package is not installed: ``keyhole[dask]``, ``keyhole[ray]``.
    ClusterLostError
        If the address does not answer.

    Examples
    --------
    >>> from keyhole.clusters import connect
    >>> connect("slurm")
    Traceback (most recent call last):
    ...
    ValueError: on must be threads, dask[=ADDRESS] or ray[=ADDRESS], got 'slurm'
    """
    kind, address = _parts(on)
    check_address(on, workers, name="workers")
    if kind == THREADS:
        raise ValueError(f"on must be {_ELSEWHERE} here, got {on!r}")
    require_extra(kind, f"on = {on!r}")
    return cast(Cluster, import_module(_MODULES[kind]).start(on, address, workers))


@contextmanager
def cluster_connection(on: str | Executor, threads: int | None) -> Iterator[Cluster | None]:
    """Yield the cluster of the arguments `on` and `threads`; None for threads of this process.

    A cluster that was connected here is closed in the end.
    """
    check_address(on, threads)
    if isinstance(on, Executor):
        yield on if isinstance(on, Cluster) else Cluster(on, threads)
    elif on == THREADS:
        yield None
    else:
        with connect(on, workers=threads) as cluster:
            yield cluster
