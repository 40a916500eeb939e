"""What Ray says, in our words; all else of the driver is in test_ray.py."""

from concurrent.futures import Future

import pytest

from keyhole.clusters.serialization import TaskFailure

ray = pytest.importorskip("ray.exceptions")
from keyhole.clusters.ray_driver import _format_error, _host_and_port, _task_result  # noqa: E402

LONG = """Failed to connect to GCS. Last connection error: Traceback (most recent call last):
  File "node.py", line 996, in _init_gcs_client
ray.exceptions.AuthenticationError: RPC error: InvalidAuthToken
"""


def test_an_error_is_one_line_without_its_way_through_ray():
    assert _format_error(RuntimeError(LONG)) == (
        "ray.exceptions.AuthenticationError: RPC error: InvalidAuthToken"
    )
    mismatch = "Version mismatch: The cluster was started with:\n    Ray: 2.9\n    Python: 3.10\n"
    error = ConnectionError("no")
    error.__cause__ = RuntimeError(mismatch)
    assert _format_error(error) == (
        "Version mismatch: The cluster was started with: Ray: 2.9 Python: 3.10"
    )
    assert _format_error(KeyError()) == "KeyError"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ray.WorkerCrashedError(), "RuntimeError", "4 workers died at the same task: "),
        (ray.OutOfMemoryError("x"), "MemoryError", "Ray ended 4 workers at the same task: "),
        (
            ray.RaySystemError("System error:\nNo module named 'keyhole.clusters'"),
            "ImportError",
            "the workers of Ray cannot import keyhole: it must be installed there",
        ),
        (
            ray.RaySystemError("odd"),
            "RuntimeError",
            "Ray could not have a task done: System error: odd",
        ),
    ],
)
def test_why_ray_could_not_have_a_task_done_is_said(error, kind, words):
    future = Future()
    future.set_exception(error)
    failure = _task_result(future)
    assert isinstance(failure, TaskFailure)
    assert failure.kind == kind
    assert failure.text.startswith(words)


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "ray://10.0.0.1:6379"])
def test_an_address_has_a_place(address):
    assert _host_and_port(address) == ("10.0.0.1", 6379)
    assert _host_and_port("[::1]:6379") == ("::1", 6379)
