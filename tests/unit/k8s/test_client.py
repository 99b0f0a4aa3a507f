from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.core.errors import ApiError, ApiUnavailableError
from devops_bench.k8s.client import ApiClient, ConnectionConfig, connect
from tests.unit.k8s.stub import Request, Response, StubServer, client_of, status


def test_a_request_sends_query_body_and_credentials(stub: StubServer, client: ApiClient) -> None:
    stub.on("PATCH", "/api/v1/namespaces/a", {"kind": "Namespace"})
    answer = client.request(
        "PATCH",
        "/api/v1/namespaces/a",
        query={"fieldManager": "x y"},
        body={"metadata": {"name": "ä"}},
        content_type="application/apply-patch+yaml",
        timeout_sec=10,
    )
    assert answer == {"kind": "Namespace"}
    (sent,) = stub.requests
    assert sent.query == {"fieldManager": "x y"}
    assert sent.body == {"metadata": {"name": "ä"}}
    assert sent.headers["Content-Type"] == "application/apply-patch+yaml"
    assert sent.headers["Authorization"] == "Bearer t"


def test_an_error_carries_what_the_status_object_says(stub: StubServer, client: ApiClient) -> None:
    forbidden = status(403, "Forbidden", "pods is forbidden")
    stub.on("GET", "/x", Response(forbidden.body, 403, {"Retry-After": "7"}))
    with pytest.raises(ApiError, match="pods is forbidden") as caught:
        client.request("GET", "/x", timeout_sec=10)
    assert (caught.value.status, caught.value.reason) == (403, "Forbidden")
    assert caught.value.retry_after_sec == 7.0


@pytest.mark.parametrize("retry_after", ["", "Wed, 21 Oct 2015 07:28:00 GMT", "-1"])
def test_an_error_without_a_status_object(
    stub: StubServer, client: ApiClient, retry_after: str
) -> None:
    stub.on("GET", "/x", Response(b"<html>bad\ngateway", 502, {"Retry-After": retry_after}))
    with pytest.raises(ApiError, match="<html>bad gateway") as caught:
        client.request("GET", "/x", timeout_sec=10)
    assert (caught.value.reason, caught.value.retry_after_sec) == ("", None)


def test_a_redirect_is_not_followed(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/x", Response({}, 302, {"Location": "/y"}))
    with pytest.raises(ApiError):
        client.request("GET", "/x", timeout_sec=10)
    assert stub.paths() == ["/x"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"", b'"x"'])
def test_what_is_not_a_json_object_is_no_api_server(
    stub: StubServer, client: ApiClient, body: bytes
) -> None:
    stub.on("GET", "/version", Response(body))
    with pytest.raises(ApiUnavailableError, match="is it an API server"):
        client.server_version(10)


def test_refused_credentials_name_the_context_and_never_the_token(
    stub: StubServer, client: ApiClient
) -> None:
    stub.on("GET", "/version", status(401, "Unauthorized", "Unauthorized"))
    with pytest.raises(ApiError, match="does not accept the credentials of the test") as caught:
        client.server_version(10)
    assert "Bearer" not in str(caught.value)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = ApiClient(ConnectionConfig(server, "the test", dict))
        with pytest.raises(ApiUnavailableError, match="connection refused") as caught:
            client.server_version(10)
    assert server in str(caught.value)


def test_a_name_that_does_not_resolve() -> None:
    client = ApiClient(ConnectionConfig("http://no-such-host.invalid", "the test", dict))
    with pytest.raises(ApiUnavailableError, match="name does not resolve"):
        client.server_version(10)


def test_a_server_that_does_not_speak(stub: StubServer, client: ApiClient) -> None:
    def silent(_: Request) -> Response:
        stub.release.wait(60)
        return Response()

    stub.routes[("GET", "/version")] = silent
    with pytest.raises(ApiUnavailableError, match="no answer within the time allowed"):
        client.server_version(0.2)


def test_no_time_left_is_not_asked(stub: StubServer, client: ApiClient) -> None:
    with pytest.raises(ApiUnavailableError, match="no time was left"):
        client.server_version(0)
    assert stub.requests == []


@pytest.fixture
def trickling_server() -> Iterator[str]:
    """Sends a byte of an endless answer at a time, each well within any timeout per read."""
    stop = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{")
            while not stop.wait(0.02):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    stop.set()
    thread.join()
    listener.close()


def test_an_answer_that_trickles_in_ends_in_time(trickling_server: str) -> None:
    client = ApiClient(ConnectionConfig(trickling_server, "the test", dict))
    with pytest.raises(ApiUnavailableError, match="not complete in time"):
        client.server_version(0.3)
    client.close()


def test_an_answer_that_breaks_off(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/version", Response(b"{}", 200, {"Content-Length": "100"}))
    with pytest.raises(ApiUnavailableError, match="IncompleteRead"):
        client.server_version(10)


def test_the_environment_does_not_touch_the_connection(
    stub: StubServer, client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/no/such/file")
    stub.on("GET", "/version", {"gitVersion": "v1.2.3"})
    assert client.server_version(10) == "v1.2.3"


def test_credentials_are_loaded_again_once_after_a_401(stub: StubServer) -> None:
    def route(request: Request) -> Response:
        good = request.headers["Authorization"] == "Bearer new"
        return Response({"gitVersion": "v1"}) if good else status(401, "Unauthorized", "no")

    def config(token: str) -> ConnectionConfig:
        headers = {"Authorization": f"Bearer {token}"}
        return ConnectionConfig(stub.url, "the test", lambda: headers, renewable=True)

    stub.routes[("GET", "/version")] = route
    client = ApiClient(config("old"), renew=lambda: config("new"))
    assert client.server_version(10) == "v1"
    assert len(stub.requests) == 2
    client.close()
    hopeless = ApiClient(config("old"), renew=lambda: config("old"))
    for _ in range(2):
        with pytest.raises(ApiError, match="401"):
            hopeless.server_version(10)
    # Two for the first call; the second one does not renew again within ten seconds.
    assert len(stub.requests) == 2 + 2 + 1
    hopeless.close()


def test_threads_share_a_client(stub: StubServer, client: ApiClient) -> None:
    together = threading.Barrier(8, timeout=30)

    def meet(_: Request) -> Response:
        together.wait()
        return Response({"gitVersion": "v1"})

    stub.routes[("GET", "/version")] = meet
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.server_version(30))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["v1"] * 8


def test_connect_asks_the_server(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{stub.url}'}}}}]\n"
        "users: [{name: u, user: {token: secret-token}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "current-context: x\n"
    )
    stub.on("GET", "/version", {"gitVersion": "v1"}, status(401, "Unauthorized", "Unauthorized"))
    connect(file).close()
    assert stub.requests[0].headers["Authorization"] == "Bearer secret-token"
    with pytest.raises(ApiError, match="context 'x' of") as caught:
        connect(file)
    assert "secret-token" not in str(caught.value)


def test_client_of_closes(stub: StubServer) -> None:
    stub.on("GET", "/version", {"gitVersion": "v1"})
    with client_of(stub) as first:
        first.server_version(10)
        first.close()
        assert first.server_version(10) == "v1", "a closed client opens new connections"
