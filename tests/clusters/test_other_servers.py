"""Addresses at which something listens that is no scheduler; all on the loopback."""

import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from keyhole.cli import main
from keyhole.clusters import ClusterLostError, connect, dask

SPEC = """
name = "small"
replications = 10
horizon = 60
[problem]
setting = "thresholding"
means = [0.2, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
"""
TUNE = """
limits = [0.05, 0.5]
instances = ["0"]
[[arm]]
name = "always"
command = "true {instance}"
"""
SPECS = {"run": SPEC, "tune": TUNE}
ANSWERS = {
    "an HTTP server": b"HTTP/1.0 400 Bad request\r\n\r\nno",
    "an SSH server": b"SSH-2.0-OpenSSH_9.2\r\n",
    "bytes that are no message": bytes(64),
    "the end": b"",
}


@contextmanager
def listener(answer=None):
    """Yield the port of a server that answers each client with these bytes; None: with nothing."""
    kept = []

    def serve():
        with suppress(OSError):  # it is closed
            while True:
                client, _ = server.accept()
                kept.append(client)
                if answer is not None:
                    with suppress(OSError):
                        client.sendall(answer)
                        client.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for client in kept:
                client.close()


def test_dask_waits_no_longer_for_who_says_nothing(monkeypatch):
    monkeypatch.setattr(dask, "_TIMEOUT", 0.5)
    words = "^there is no scheduler of Dask at .*: the program there does not answer as a sched"
    with listener() as port, pytest.raises(ClusterLostError, match=words):
        connect(f"dask=tcp://127.0.0.1:{port}")


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_dask_is_told_from_other_protocols(answer, monkeypatch):
    monkeypatch.setattr(dask, "_TIMEOUT", 0.5)
    words = "^there is no scheduler of Dask at .*: the program there does not answer as a sched"
    with listener(answer) as port, pytest.raises(ClusterLostError, match=words):
        connect(f"dask=tcp://127.0.0.1:{port}")


@pytest.mark.parametrize("command", SPECS)
def test_the_command_line_says_so_on_one_line(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dask, "_TIMEOUT", 0.5)
    (tmp_path / "spec.toml").write_text(SPECS[command])
    with listener() as port:
        words = [str(tmp_path / "spec.toml"), "--out", str(tmp_path / "out")]
        words += ["--runs", "2"] if command == "tune" else []
        words += ["--on", f"dask=tcp://127.0.0.1:{port}"]
        monkeypatch.setattr("sys.argv", ["keyhole", command, *words])
        with pytest.raises(SystemExit) as end:
            main()
    error = capsys.readouterr().err
    assert (end.value.code, error.count("\n")) == (3, 1)
    assert error.startswith("keyhole: there is no scheduler of Dask at tcp://127.0.0.1:")
