from __future__ import annotations

from dataclasses import replace

import pytest

from devops_bench.core.clock import SystemClock
from devops_bench.core.errors import ApiUnavailableError
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.identity import (
    Facts,
    Served,
    difference,
    read_facts,
    remote_service,
    schema_changed,
)
from tests.unit.k8s.stub import StubServer, status

JOBS = ApiResource("batch", "v1", "jobs", "Job", namespaced=True)
SERVED = Served("u1", "5", "", automatic=False)
BEFORE = Facts("c1", {"batch/v1": SERVED}, {JOBS: "old"}, 2)


def served(entry: Served | None) -> Facts:
    return replace(BEFORE, served={} if entry is None else {"batch/v1": entry})


def test_nothing_differs_from_itself() -> None:
    assert difference(BEFORE, BEFORE, JOBS) is None


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (replace(BEFORE, cluster="c2"), "another cluster"),
        (
            replace(BEFORE, cluster=None, cluster_why="HTTP 403: forbidden"),
            "the uid of kube-system can no longer be read: HTTP 403: forbidden",
        ),
        (
            replace(BEFORE, served=None, served_why="HTTP 403: forbidden"),
            "APIServices can no longer be read: HTTP 403: forbidden",
        ),
        (served(None), "is gone"),
        (served(replace(SERVED, remote="mine/server", version="6")), "mine/server"),
        (served(replace(SERVED, version="7")), "changed during the run"),
        (served(replace(SERVED, uid="u2")), "changed during the run"),
    ],
)
def test_whatever_differs_is_said(now: Facts, said: str) -> None:
    assert said in (difference(BEFORE, now, JOBS) or "")


def test_what_could_not_be_read_at_the_baseline_is_not_compared() -> None:
    blind = Facts(None, None, {}, 2)
    assert difference(blind, BEFORE, JOBS) is None
    assert not schema_changed(blind, BEFORE, JOBS)


def test_another_groups_api_service_is_no_difference() -> None:
    other = replace(BEFORE, served={"batch/v1": SERVED, "x/v1": replace(SERVED, remote="a/b")})
    assert difference(BEFORE, other, JOBS) is None
    assert remote_service(other, JOBS) is None


def test_a_changed_schema_is_noticed() -> None:
    assert schema_changed(BEFORE, replace(BEFORE, schemas={JOBS: "new"}), JOBS)
    assert schema_changed(BEFORE, replace(BEFORE, schemas={}), JOBS)
    assert not schema_changed(BEFORE, BEFORE, JOBS)


def test_lost_rights_are_not_called_another_cluster() -> None:
    lost = replace(BEFORE, cluster=None, cluster_why="HTTP 403: forbidden")
    assert "another" not in (difference(BEFORE, lost, JOBS) or "")


def test_a_kind_that_nobody_serves_yet_is_not_taken_for_served() -> None:
    assert "is not there" in (difference(served(None), served(None), JOBS) or "")
    assert difference(served(None), BEFORE, JOBS) is None


class SlowClock(SystemClock):
    """Every look at it takes a second."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 1.0
        return self._now


def test_one_bound_holds_for_everything_that_is_read(stub: StubServer, client: ApiClient) -> None:
    stub.on("GET", "/api/v1/namespaces/kube-system", {"metadata": {"uid": "c"}})
    with pytest.raises(ApiUnavailableError, match="no time left"):
        read_facts(client, [], 1.5, SlowClock())
    assert len(stub.paths()) == 1


def test_what_the_server_refuses_is_kept_in_its_words(stub: StubServer, client: ApiClient) -> None:
    no = status(403, "Forbidden", "you may not")
    stub.on("GET", "/api/v1/namespaces/kube-system", no)
    stub.on("GET", "/apis/apiregistration.k8s.io/v1/apiservices", no)
    facts = read_facts(client, [], 10)
    assert (facts.cluster, facts.served) == (None, None)
    assert "403" in facts.cluster_why
    assert "you may not" in facts.served_why
