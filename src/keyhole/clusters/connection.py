"""From what is typed, such as ``dask=tcp://10.0.0.1:8786``, to a cluster."""

from collections.abc import Iterator
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


def check_address(on: str | Cluster, threads: int | None, *, name: str = "threads") -> None:
    """Refuse what does not say where to play, or a number of `threads` that does not go with it."""
    address = on.name if isinstance(on, Cluster) else _parts(on)[1]
    if threads is not None:
        check_integer(name, threads, _WORKERS)
        if address:
            raise ValueError(f"{name} must be left out here: {on} has workers of its own")


def _parts(on: str) -> tuple[str, str | None]:
    """Return the kind and, if one is given, the address of what is typed."""
    if not isinstance(on, str):
        raise TypeError(f"on must be a text, or what connect returns, got {short_repr(on)}")
    kind, sign, address = check_line("on", on).partition("=")
    if kind not in (THREADS, *_MODULES) or (sign and (kind == THREADS or not address)):
        raise ValueError(f"on must be {THREADS}, {_ELSEWHERE}, got {short_repr(on)}")
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
    ValueError: on must be threads, dask[=ADDRESS] or ray[=ADDRESS], got 'slurm'
    """
    kind, address = _parts(on)
    check_address(on, workers, name="workers")
    if kind == THREADS:
        raise ValueError(f"on must be {_ELSEWHERE} here, got {on!r}")
    require_extra(kind, f"on = {on!r}")
    return cast(Cluster, import_module(_MODULES[kind]).start(on, address, workers))


@contextmanager
def cluster_connection(on: str | Cluster, threads: int | None) -> Iterator[Cluster | None]:
    """Give the cluster of an argument `on` beside one `threads`; None for threads of this process.

    One that was started for it is closed in the end.
    """
    check_address(on, threads)
    if isinstance(on, Cluster):
        yield on
    elif on == THREADS:
        yield None
    else:
        with connect(on, workers=threads) as cluster:
            yield cluster
