"""Studies over HTTP: the service that `keyhole serve` runs."""

from keyhole.serve.app import Settings, make_app

__all__ = ["Settings", "make_app"]
