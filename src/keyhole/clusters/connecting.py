"""From what is typed, such as ``dask=tcp://10.0.0.1:8786``, to a cluster."""

from importlib import import_module
from typing import Final, cast

from keyhole.clusters.cluster import Cluster
from keyhole.validate import Range, choice, integer, line

THREADS: Final = "threads"
_MODULES: Final = {"dask": "keyhole.clusters.dask", "ray": "keyhole.clusters.ray"}
_WORKERS: Final = Range(ge=1, le=1024)


def check_on(on: str, workers: int | None) -> tuple[str, str | None]:
    """Return the kind and the address, if one is given, of what is typed; refuse anything else."""
    kind, sign, address = line("on", on).partition("=")
    choice("on", kind, (THREADS, *_MODULES))
    if sign and (kind == THREADS or not address):
        raise ValueError(f"on must be threads, dask[=ADDRESS] or ray[=ADDRESS], got {on!r}")
    if workers is not None:
        integer("threads", workers, _WORKERS if kind in _MODULES else Range(ge=1))
        if address:
            raise ValueError(f"threads must be left out with {on}: the cluster has its own workers")
    return kind, address or None


def connect(on: str, *, workers: int | None = None) -> Cluster:
    """Return a cluster: one that is there, or one of this machine's processors.

    Parameters
    ----------
    on : str
        ``dask=ADDRESS`` or ``ray=ADDRESS`` for one that is there; ``dask`` or ``ray`` to start one
        on this machine, which ends when it is closed.
    workers : int, optional
        How many processes to start, at most 1,024; by default one for each processor.

    Raises
    ------
    ImportError
        If the package is not installed: ``keyhole[dask]``, ``keyhole[ray]``.
    GoneError
        If there is no answer from the address.

    Examples
    --------
    >>> from keyhole.clusters import connect
    >>> connect("slurm")
    Traceback (most recent call last):
    ...
    ValueError: on must be one of threads, dask, ray; got 'slurm'
    """
    kind, address = check_on(on, workers)
    if kind == THREADS:
        raise ValueError(f"on must be dask[=ADDRESS] or ray[=ADDRESS] here, got {on!r}")
    package = {"dask": "distributed"}.get(kind, kind)
    try:
        import_module(package)
    except ImportError as error:
        raise ImportError(f"on = {on!r} needs {package}: pip install 'keyhole[{kind}]'") from error
    return cast(Cluster, import_module(_MODULES[kind]).start(on, address, workers))
