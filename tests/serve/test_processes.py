"""The service as a process of its own: started, killed, stopped."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from keyhole.stochastic import UCB1
from keyhole.study import Study, check_database
from tests.study.server import server as start_server

START = 120.0  # seconds, on a busy machine
# Seconds for which workers are killed: five minutes find more than one.
CAMPAIGN = float(os.environ.get("KEYHOLE_TEST_SERVE_SECONDS", "60"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serve(storage, port, *options):
    """Run `keyhole serve` until the end of the block; it leads a process group."""
    words = ["serve", "--storage", storage, "--port", port, *options]
    command = [sys.executable, "-m", "keyhole", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        log = []
        reader = threading.Thread(target=lambda: log.extend(process.stderr), daemon=True)
        reader.start()
        process.log = log
        try:
            wait_until_ready(port)
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            reader.join()


def wait_until_ready(port):
    until = time.monotonic() + START
    while True:
        with suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                return
        assert time.monotonic() < until
        time.sleep(0.1)


class Load:
    """Threads that ask and tell until they are stopped, and what was answered."""

    def __init__(self, port, count=4):
        self.url = f"http://127.0.0.1:{port}/v1/studies/buttons/decisions"
        self.asked, self.told, self.statuses = [], [], set()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _run(self):
        client = httpx.Client(timeout=30)
        while not self._is_over.is_set():
            try:
                answer = client.post(self.url)
                self.statuses.add(answer.status_code)
                if answer.status_code == 201:
                    id = answer.json()["id"]
                    self.asked.append(id)
                    answer = client.post(f"{self.url}/{id}/feedback", json={"reward": 1})
                    self.statuses.add(answer.status_code)
                    if answer.status_code == 204:
                        self.told.append(id)
            except httpx.TransportError:
                client.close()
                client = httpx.Client(timeout=30)
                time.sleep(0.01)
        client.close()

    def wait_for(self, count):
        until = time.monotonic() + START
        while len(self.told) < count:
            assert time.monotonic() < until
            time.sleep(0.02)

    def check(self, storage):
        """Check that nothing that was answered is lost or was handed out twice."""
        assert len(set(self.asked)) == len(self.asked)
        assert self.statuses <= {201, 204, 503}
        with Study.open(storage, "buttons") as study:
            pending = {decision.id for decision in study.pending}
            ids = {row.decision for row in study.log()}
        assert set(self.asked) <= ids
        assert pending.isdisjoint(self.told)
        assert not any(check.damage for check in check_database(storage).studies)


def test_a_service_that_is_killed_has_lost_nothing_that_it_answered(storage):
    port = free_port()
    with Load(port) as load:
        for count in (50, 100):
            with serve(storage, port):
                load.wait_for(count)
    load.check(storage)


def test_what_was_accepted_is_answered_before_it_stops(storage):
    port = free_port()
    with serve(storage, port) as process:
        with Load(port) as load:
            load.wait_for(50)
            process.terminate()
            process.wait(START)
        load.check(storage)
    with Study.open(storage, "buttons") as study:
        assert len(study.log()) == len(load.asked) + len(load.told)  # each was answered
    assert not storage.with_name("shop.db-wal").exists()  # all studies were closed
    entries = [json.loads(line) for line in process.log]
    assert {"answer", "Finished server process"} <= {e["message"].split(" [")[0] for e in entries}


def test_half_a_request_and_a_long_one_hold_up_nobody(storage):
    port = free_port()
    with serve(storage, port) as process:
        head = b"POST /v1/studies/buttons/decisions HTTP/1.1\r\nHost: localhost\r\n"
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for half in sockets:
            half.sendall(head + b"Content-Length: 100\r\n\r\n{")
        with Load(port) as load:
            load.wait_for(20)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", load.url.partition(str(port))[2], b" " * (12 << 20))
        assert connection.getresponse().status == 413  # after all of it was sent
        connection.close()
        for half in sockets:
            half.close()
        # Who goes away within a request has made the mistake, and not the service.
        until = time.monotonic() + START
        while sum(b'"status":400' in line for line in process.log) < len(sockets):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert not any(b"traceback" in line for line in process.log)


def worker_pids(process):
    """Return the processes of a service that answer, without the one that starts them."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    is_worker = {
        pid: b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children
    }
    return [int(pid) for pid in children if is_worker[pid]]


def kill_workers(storage, seconds):
    """Kill a worker of two every five seconds under load."""
    port = free_port()
    until = time.monotonic() + seconds
    with (
        serve(storage, port, "--workers", 2, "--log-level", "error") as process,
        Load(port) as load,
    ):
        while time.monotonic() < until:
            time.sleep(5)
            if pids := worker_pids(process):
                os.kill(pids[0], signal.SIGKILL)
        load.wait_for(len(load.told) + 20)
    load.check(storage)
    return len(load.told)


@pytest.mark.slow
@pytest.mark.timeout(CAMPAIGN + 2 * START)
def test_workers_that_are_killed_lose_nothing(address):
    Study.create(address, "buttons", UCB1(), ["red", "blue"]).close()
    assert kill_workers(address, CAMPAIGN) > 100


@pytest.mark.slow
def test_a_backup_taken_while_serving_has_all_that_was_answered_before(storage, tmp_path):
    port = free_port()
    with serve(storage, port, "--workers", 2), Load(port) as load:
        for number in range(3):
            load.wait_for(len(load.told) + 20)
            told = load.told.copy()
            copy = tmp_path / f"{number}.db"
            command = [sys.executable, "-m", "keyhole", "study", "backup", storage, copy]
            subprocess.run(command, check=True, capture_output=True)
            with Study.open(copy, "buttons") as study:
                assert {study.decision(id).status for id in told} == {"told"}
            assert check_database(copy).is_whole
    load.check(storage)
    with serve(copy, port), Load(port) as load:
        load.wait_for(20)
    load.check(copy)


@pytest.mark.slow
def test_a_server_that_is_away_is_waited_for():
    server = start_server()
    port = free_port()
    try:
        Study.create(server.address, "buttons", UCB1(), ["red", "blue"]).close()
        with serve(server.address, port, "--log-level", "error"), Load(port) as load:
            load.wait_for(20)
            server.kill()
            time.sleep(30)
            assert 503 in load.statuses
            server.start()
            load.wait_for(len(load.told) + 20)
        load.check(server.address)
        Study.delete(server.address, "buttons")
    finally:
        server.stop()
