"""Connections on which no request comes."""

import asyncio

import pytest
import uvicorn

from keyhole.serve import Settings, make_app
from keyhole.serve.request_deadline import RequestDeadlineProtocol

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_BODY = b"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{}"


class HastyProtocol(RequestDeadlineProtocol):
    request_seconds = 1.0  # long enough for a busy machine to take a request that is complete


async def send_to_service(storage, pieces):
    """Return what a service answers to pieces of requests until it closes the connection."""
    app = make_app(Settings(storage=str(storage)))
    config = uvicorn.Config(app, port=0, http=HastyProtocol, log_config=None, timeout_keep_alive=60)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    for piece in pieces:
        writer.write(piece)
        if piece.endswith(b"\r\n\r\n"):  # the request is complete
            answer += await reader.readuntil(b"ok\n")
    answer += await asyncio.wait_for(reader.read(), 60)
    writer.close()
    server.should_exit = True
    await serving
    return answer


@pytest.mark.parametrize("complete_count", [0, 2])
@pytest.mark.parametrize("late_piece", [REQUEST[:20], HALF_BODY[:-1], HALF_BODY])
def test_a_request_that_is_not_complete_in_time_ends_its_connection(
    storage, late_piece, complete_count
):
    pieces = [REQUEST] * complete_count + [late_piece]
    answer = asyncio.run(send_to_service(storage, pieces))
    assert answer.count(b"200 OK") == complete_count
    assert answer.count(b"408 Request Timeout") == answer.count(b"HTTP/1.1 4") == 1


@pytest.mark.parametrize("complete_count", [0, 2])
@pytest.mark.parametrize("start", [b"GET /", REQUEST[:-2] + b"X: "])
def test_endless_headers_end_their_connection(storage, start, complete_count):
    pieces = [REQUEST] * complete_count + [start] + [b"a" * 1000] * 66
    answer = asyncio.run(send_to_service(storage, pieces))
    assert answer.count(b"200 OK") == complete_count
    assert answer.count(b"431 Request Header") == answer.count(b"HTTP/1.1 4") == 1


def test_headers_of_many_requests_may_be_long_together(storage):
    request = REQUEST[:-2] + b"X: " + b"a" * 20_000 + b"\r\n\r\n"
    answer = asyncio.run(send_to_service(storage, [request, REQUEST] * 5 + [REQUEST[:20]]))
    assert answer.count(b"200 OK") == 10


def test_a_connection_on_which_nothing_comes_is_closed(storage):
    assert b"408 Request Timeout" in asyncio.run(send_to_service(storage, []))
