"""Connections on which no request comes."""

import asyncio

import uvicorn

from keyhole.serve import Settings, make_app
from keyhole.serve.http_protocol import HeaderDeadlineProtocol

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class HastyProtocol(HeaderDeadlineProtocol):
    header_seconds = 0.2


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
        if piece == REQUEST:
            answer += await reader.readuntil(b"ok\n")
    answer += await asyncio.wait_for(reader.read(), 60)
    writer.close()
    server.should_exit = True
    await serving
    return answer


def test_a_connection_without_complete_headers_is_closed(storage):
    for pieces in ([], [REQUEST[:20]]):
        assert asyncio.run(send_to_service(storage, pieces)) == b""


def test_the_next_request_of_a_connection_must_have_its_headers_in_time_too(storage):
    answer = asyncio.run(send_to_service(storage, [REQUEST, REQUEST, REQUEST[:20]]))
    assert answer.count(b"200 OK") == 2
