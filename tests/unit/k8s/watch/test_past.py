from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from devops_bench.core.clock import SYSTEM_CLOCK
from devops_bench.core.errors import ApiUnavailableError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.past import PastReader, States, Unknown
from devops_bench.k8s.watch.types import Held
from tests.unit.k8s.stub import Request, Response, StubServer, status

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


def it(rv: int, uid: str = "u") -> JsonObject:
    return {"metadata": {"name": "it", "uid": uid, "resourceVersion": str(rv)}}


class History:
    """A server whose etcd holds one object: what it was at each revision, ``None`` for nothing."""

    def __init__(self, stub: StubServer, states: Mapping[int, JsonObject | None], now: int) -> None:
        self.watchable = True
        self.compacted = 0
        self._states = dict(states)
        self._now = now
        stub.routes["GET", PATH] = self._answer

    def _at(self, rv: int) -> JsonObject | None:
        return self._states[max(one for one in self._states if one <= rv)]

    def _answer(self, request: Request) -> Response:
        assert request.query["fieldSelector"] == "metadata.name=it"
        rv = int(request.query.get("resourceVersion", self._now))
        if "watch" in request.query:
            return self._events(rv) if self.watchable else status(410, "Expired", "too old")
        if rv <= self.compacted:
            return status(410, "Expired", "compacted")
        obj = self._at(rv)
        return Response(
            {"metadata": {"resourceVersion": str(rv)}, "items": [] if obj is None else [obj]}
        )

    def _events(self, since: int) -> Response:
        lines = []
        for rv, obj in sorted(self._states.items()):
            if rv > since:
                kind = "DELETED" if obj is None else "MODIFIED"
                lines.append(json.dumps({"type": kind, "object": it(rv) if obj is None else obj}))
        return Response("".join(line + "\n" for line in lines).encode())


def read(client: ApiClient, since: Held, last_rv: int, timeout_sec: float = 10) -> States | Unknown:
    deadline = SYSTEM_CLOCK.monotonic() + timeout_sec
    past = PastReader(lambda sec: Connection(client.config, sec), SYSTEM_CLOCK, deadline)
    return past.states(PATH, "it", since, last_rv)


def versions(found: States | Unknown) -> list[str | None]:
    assert isinstance(found, list), found
    return [None if obj is None else obj.resource_version for obj in found]


THERE = Held(10, {("", "it"): ("u", "10")})
MOVED = {10: it(10), 12: it(12), 40: it(40)}
REMADE = {10: it(10), 12: None, 20: it(20, "w")}


def test_a_watch_tells_every_write_up_to_the_last(stub: StubServer, client: ApiClient) -> None:
    History(stub, {**REMADE, 30: it(30, "w")}, 60)
    assert versions(read(client, THERE, 20)) == [None, "20"]
    assert len(stub.requests) == 1


def test_what_a_watch_does_not_tell_is_listed(stub: StubServer, client: ApiClient) -> None:
    History(stub, MOVED, 60).watchable = False
    found = versions(read(client, THERE, 40))
    assert {"12", "40"} <= set(found)
    assert len(stub.requests) < 30


def test_a_watch_that_ends_before_the_last_write_proves_nothing(
    stub: StubServer, client: ApiClient
) -> None:
    History(stub, {10: it(10), 12: it(12)}, 14)
    read(client, THERE, 13)
    assert [item.query for item in stub.requests if "watch" not in item.query]


def test_every_revision_is_listed_where_it_did_not_exist(
    stub: StubServer, client: ApiClient
) -> None:
    History(stub, REMADE, 25).watchable = False
    found = versions(read(client, THERE, 20))
    assert None in found
    assert "20" in found


def test_what_is_compacted_is_unknown(stub: StubServer, client: ApiClient) -> None:
    history = History(stub, MOVED, 60)
    history.watchable, history.compacted = False, 20
    assert isinstance(read(client, THERE, 40), Unknown)


def test_it_does_not_begin_without_time(stub: StubServer, client: ApiClient) -> None:
    History(stub, MOVED, 60)
    with pytest.raises(ApiUnavailableError, match="no time left"):
        read(client, THERE, 40, 0)
    assert stub.requests == []
