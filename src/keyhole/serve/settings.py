"""Settings of a service, and the environment variable that passes them to its processes."""

import ipaddress
from typing import Final

import msgspec

SETTINGS_VARIABLE: Final = "KEYHOLE_SERVE"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a service, the same in all of its processes.

    Attributes
    ----------
    storage : str
        The database: a file, or ``postgresql://...``.
    needs_key : bool
        Whether requests need a key even while the database has none.
    policies : list of str
        Policies of the operator's own that studies may use, as ``FILE.py:CLASS``.
    max_open : int
        How many studies are open at once, in each process.
    max_body : int
        The largest length of a request's body, in bytes.
    """

    storage: str
    needs_key: bool = False
    policies: list[str] = []
    max_open: int = 100
    max_body: int = 1 << 20


def is_loopback(host: str) -> bool:
    """Return whether a host is reached from this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
