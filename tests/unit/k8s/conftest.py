from __future__ import annotations

from collections.abc import Iterator

import pytest

from devops_bench.k8s.client import ApiClient
from tests.unit.k8s.stub import StubServer, client_of


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def client(stub: StubServer) -> Iterator[ApiClient]:
    with client_of(stub) as connected:
        yield connected
