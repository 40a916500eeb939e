"""The address of a PostgreSQL server in error messages: without a password."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any


def format_address(given: Mapping[str, Any]) -> str:
    """Return an address with user, hosts, ports and database, and nothing secret."""
    hosts = (given.get("host") or given.get("hostaddr") or "").split(",")
    ports = str(given.get("port", "")).split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(
        f"{host}:{port}" if port else host for host, port in zip_longest(hosts, ports, fillvalue="")
    )
    user = f"{given['user']}@" if given.get("user") else ""
    return f"postgresql://{user}{places}/{given.get('dbname', '')}"
