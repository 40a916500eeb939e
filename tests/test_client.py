import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from keyhole.client import Client
from keyhole.study import StoreError


class Answering(BaseHTTPRequestHandler):
    """A service that answers each request with its method and path, and the connection's port."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.server
        server.requests.append((self.command, self.path))
        if server.dropped:
            server.dropped -= 1
            self.close_connection = True
            return
        status = server.statuses.pop(0) if server.statuses else 200
        content = {"path": self.path, "port": self.client_address[1]}
        if status >= 400:
            content = {"type": "/problems/storage", "detail": "the database does not answer"}
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """Yield a service in threads, which counts requests and drops or refuses some."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        server.requests = []
        server.dropped = 0  # requests whose connections are closed without an answer
        server.statuses = []  # of the next answers
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server):
    with Client(server.url, retry_seconds=0.5) as client:
        yield client


@pytest.fixture
def waits(monkeypatch):
    """Return a list that gets the seconds of each wait; nothing waits."""
    waits = []
    monkeypatch.setattr("keyhole.client.time.sleep", waits.append)
    return waits


def test_threads_share_a_client(client):
    start = threading.Barrier(8)

    def send(number):
        start.wait()
        paths = [f"/{number}/{count}" for count in range(20)]
        answers = [client.request("POST", path, {}) for path in paths]
        assert [answer["path"] for answer in answers] == paths
        return {answer["port"] for answer in answers}

    with ThreadPoolExecutor(8) as executor:
        ports = set().union(*executor.map(send, range(8)))
    assert len(ports) <= 8  # connections are used again


def test_no_request_is_sent_on_a_connection_that_is_being_closed(client, monkeypatch):
    closed_port = client.request("GET", "/")["port"]
    close = http.client.HTTPConnection.close
    ports = []

    def send_and_close(connection):
        monkeypatch.setattr(http.client.HTTPConnection, "close", close)
        ports.append(client.request("POST", "/")["port"])  # as another thread might
        close(connection)

    monkeypatch.setattr(http.client.HTTPConnection, "close", send_and_close)
    client.close()
    assert len(ports) == 1
    assert closed_port not in ports
    assert client.request("GET", "/")["path"] == "/"


def test_a_request_whose_answer_is_lost_is_repeated_if_that_is_safe(client, server, waits):
    client.request("GET", "/")
    server.dropped = 2
    assert client.request("GET", "/")["path"] == "/"
    assert len(waits) == 2
    server.dropped = 1
    with pytest.raises(ConnectionError):
        client.request("POST", "/unsafe")
    assert server.requests.count(("POST", "/unsafe")) == 1
    assert client.request("POST", "/next")["path"] == "/next"  # on another connection


def test_a_request_that_the_database_keeps_from_an_answer_is_repeated_if_it_is_safe(
    client, server, waits
):
    server.statuses = [503, 503]
    assert client.request("POST", "/", is_safe=True)["path"] == "/"
    assert len(waits) == 2
    server.statuses = [503]
    with pytest.raises(StoreError, match="does not answer"):
        client.request("POST", "/")
    assert len(waits) == 2


def test_any_request_is_repeated_if_its_connection_is_refused(waits):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # and does not listen
        port = listener.getsockname()[1]
        client = Client(f"http://127.0.0.1:{port}", retry_seconds=0.5)
        with pytest.raises(ConnectionRefusedError):
            client.request("POST", "/")
    assert 0.05 <= waits[0] <= 0.1
    assert len(waits) == 3
