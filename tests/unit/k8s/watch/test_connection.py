from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.k8s.kubeconfig import ConnectionConfig
from devops_bench.k8s.watch.backoff import Backoff
from devops_bench.k8s.watch.connection import Connection

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@contextlib.contextmanager
def answering(
    *answers: bytes, then: Callable[[socket.socket], None] | None = None
) -> Iterator[tuple[Connection, list[bytes]]]:
    """Serve one connection: each request gets the next answer."""
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client, contextlib.suppress(OSError):
            for answer in answers:
                requests.append(client.recv(65536))
                client.sendall(answer)
            if then is not None:
                then(client)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    config = ConnectionConfig(
        server=f"http://127.0.0.1:{listener.getsockname()[1]}/base",
        source="the test",
        headers=lambda: {"Authorization": "Bearer secret"},
    )
    connection = Connection(config, 10)
    try:
        yield connection, requests
    finally:
        connection.close()
        listener.close()
        server.join(10)


def plain(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def test_lines_are_whole_however_they_were_cut_on_the_way() -> None:
    parts = [b"one\ntw", b"o\n", b"th", b"re", b"e\nfour\n"]
    answer = HEAD + b"".join(map(chunk, parts)) + b"0\r\n\r\n"
    with answering(answer) as (connection, _):
        assert list(connection.watch("/x", {})) == [b"one", b"two", b"three", b"four"]


def test_list_and_watch_go_over_one_connection_with_the_servers_path_and_credentials() -> None:
    with answering(plain(b"{}"), HEAD + b"0\r\n\r\n") as (connection, requests):
        assert connection.list("/x", {"limit": "1"}) == b"{}"
        assert list(connection.watch("/x", {"resourceVersion": "7"})) == []
        assert connection.requests == 2
    assert requests[0].startswith(b"GET /base/x?limit=1 HTTP/1.1\r\n")
    assert requests[1].startswith(b"GET /base/x?resourceVersion=7&watch=1 HTTP/1.1\r\n")
    assert all(b"Authorization: Bearer secret" in request for request in requests)


def test_a_connection_that_the_server_ended_is_not_opened_again_in_secret() -> None:
    with answering(plain(b"{}", headers="Connection: close\r\n")) as (connection, _):
        connection.list("/x")
        with pytest.raises(ApiUnavailableError):
            connection.list("/x")


@pytest.mark.parametrize("tail", [b"", b"5\r\nab", b"2\r\nab\r\n0\r\n\r\n"])
def test_an_end_that_is_not_between_two_lines_is_an_error(tail: bytes) -> None:
    with answering(HEAD + chunk(b"one\n") + tail) as (connection, _):
        lines = connection.watch("/x", {})
        assert next(lines) == b"one"
        with pytest.raises(ApiUnavailableError):
            list(lines)


def test_an_error_status_keeps_what_the_server_says() -> None:
    body = b'{"kind":"Status","reason":"TooManyRequests","message":"slow down"}'
    answer = plain(body, "429 Too Many", "Retry-After: 7\r\n")
    with (
        answering(answer) as (connection, _),
        pytest.raises(ApiError, match="slow down") as raised,
    ):
        list(connection.watch("/x", {}))
    error = raised.value
    assert (error.status, error.reason, error.retry_after_sec) == (429, "TooManyRequests", 7.0)


def test_an_error_page_that_is_not_json_is_shown() -> None:
    answer = plain(b"<h1>Bad gateway</h1>", "502 Bad")
    with answering(answer) as (connection, _), pytest.raises(ApiError, match="Bad gateway"):
        connection.list("/x")


def test_a_reader_that_waits_is_ended_from_another_thread() -> None:
    opened: list[Connection] = []
    ready, over = threading.Event(), threading.Event()

    def close_from_here(_: socket.socket) -> None:
        ready.wait(10)
        opened[0].close_now()
        over.wait(10)

    with answering(HEAD, then=close_from_here) as (connection, _):
        opened.append(connection)
        lines = connection.watch("/x", {})
        ready.set()
        with pytest.raises(ApiUnavailableError):
            next(lines)
        with pytest.raises(ApiUnavailableError):
            connection.list("/x")
        over.set()


def test_nobody_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    config = ConnectionConfig(f"http://127.0.0.1:{port}", "the test", headers=dict)
    with pytest.raises(ApiUnavailableError, match="no connection to the API server"):
        Connection(config, 5)


def test_waits_grow_to_a_bound_and_heed_the_server() -> None:
    backoff = Backoff()
    waits = [backoff.next() for _ in range(12)]
    assert waits == sorted(waits)
    assert waits[0] < 0.1
    assert waits[-1] == 5.0
    backoff.reset()
    assert backoff.next() == waits[0]
    assert backoff.next(retry_after_sec=9) == 9
    assert backoff.next(retry_after_sec=900) == 30
