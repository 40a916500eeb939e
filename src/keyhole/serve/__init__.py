"""Studies over HTTP: the service that `keyhole serve` runs.

A *service* answers requests about the studies of one database. A *route* is a method and a path,
such as ``POST /v1/studies/{study}/decisions``; an *API key* says who asks and what they may.
"""

from keyhole.serve.app import make_app
from keyhole.serve.settings import Settings

__all__ = ["Settings", "make_app"]
