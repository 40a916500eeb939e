"""Studies over HTTP: the service that `keyhole serve` runs."""

from keyhole.serve.app import make_app
from keyhole.serve.settings import Settings

__all__ = ["Settings", "make_app"]
