from __future__ import annotations

from dataclasses import replace

import pytest

from devops_bench.core.clock import SystemClock
from devops_bench.core.errors import ApiUnavailableError
from devops_bench.core.json import JsonObject
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.facts import read_facts
from devops_bench.k8s.watch.identity import (
    Definition,
    Facts,
    Redefined,
    Served,
    difference,
    read_schema,
    redefined,
    redefined_by,
    remote_service,
    rewritten,
    why_not_local,
)
from devops_bench.k8s.watch.past import Unknown
from tests.unit.k8s.stub import StubServer, status

JOBS = ApiResource("batch", "v1", "jobs", "Job", namespaced=True)
SERVED = Served("u1", "5", "", automatic=False)
DEFINED = Definition("d1", "10", "old", 100)
BEFORE = Facts("c1", {"batch/v1": SERVED}, {JOBS: DEFINED}, 2)


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
    assert redefined(blind, BEFORE, JOBS) is None
    assert not rewritten(blind, BEFORE, JOBS)


def test_another_groups_api_service_is_no_difference() -> None:
    other = replace(BEFORE, served={"batch/v1": SERVED, "x/v1": replace(SERVED, remote="a/b")})
    assert difference(BEFORE, other, JOBS) is None
    assert remote_service(other, JOBS) is None


def test_an_api_service_that_was_written_counts_only_if_it_may_have_been_pointed_elsewhere() -> (
    None
):
    written = served(replace(SERVED, version="7"))
    assert "was not read" in (difference(BEFORE, written, JOBS) or "")
    local = replace(written, served_since={"batch/v1": ""})
    assert difference(BEFORE, local, JOBS) is None
    away = replace(written, served_since={"batch/v1": "it was pointed at the Service x/y"})
    assert "x/y" in (difference(BEFORE, away, JOBS) or "")


def service(*backends: str | None) -> list[KubeObject | None]:
    """States of an APIService: a Service's name, empty for none; ``None`` where it is gone."""
    return [
        None
        if name is None
        else KubeObject({"spec": {"service": {"namespace": "x", "name": name} if name else None}})
        for name in backends
    ]


def test_an_api_service_was_local_if_it_was_so_in_every_state() -> None:
    assert why_not_local(service("", None, "")) == ""
    assert "x/mine" in why_not_local(service("", "mine", ""))
    assert "forgotten" in why_not_local(Unknown("it was forgotten"))


def crd(rv: int, *fields: str, **spec: str) -> KubeObject:
    properties: JsonObject = {name: {"type": "string"} for name in fields}
    version: JsonObject = {"name": "v1", "storage": True, "schema": properties}
    return KubeObject(
        {
            "metadata": {"uid": "d", "resourceVersion": str(rv)},
            "spec": {"scope": "Namespaced", "versions": [version], **spec},
        }
    )


def defined(obj: KubeObject) -> Definition:
    return Definition(obj.uid, obj.resource_version, read_schema(obj.data, "v1"), 100)


@pytest.mark.parametrize(
    ("states", "first", "last"),
    [
        ([crd(110, "a", "b")], 110, 110),
        ([crd(110, "a", "b"), crd(120, "a"), crd(130, "a")], 110, 120),
        ([crd(110, "a"), crd(120, "c"), crd(130, "c", "d"), crd(140, "c", "d")], 120, 130),
        ([None, crd(120, "b")], 120, 120),
        ([crd(120, "a", scope="Cluster")], 120, 120),
    ],
)
def test_from_when_to_when_objects_were_read_differently(
    states: list[KubeObject | None], first: int, last: int
) -> None:
    new = states[-1]
    assert new is not None
    found = redefined_by(states, "v1", defined(crd(90, "a")), defined(new))
    assert found is not None
    assert (found.first_rv, found.last_rv) == (first, last)


@pytest.mark.parametrize("states", [[crd(110, "a")], [crd(110, "a"), None, crd(120, "a")]])
def test_a_definition_that_says_the_same_throughout_changes_nothing(
    states: list[KubeObject | None],
) -> None:
    new = states[-1]
    assert new is not None
    assert redefined_by(states, "v1", defined(crd(90, "a")), defined(new)) is None


def test_a_definition_whose_past_is_not_known_counts_from_the_look_on() -> None:
    found = redefined_by(Unknown("gone"), "v1", defined(crd(90, "a")), defined(crd(130, "a")))
    assert found is not None
    assert (found.first_rv, found.last_rv) == (101, 130)
    assert "gone" in found.why


def test_a_definition_that_was_written_is_looked_at() -> None:
    assert redefined(BEFORE, BEFORE, JOBS) is None
    gone = replace(BEFORE, definitions={})
    assert rewritten(BEFORE, gone, JOBS)
    assert "no longer be read" in getattr(redefined(BEFORE, gone, JOBS), "why", "")
    written = replace(BEFORE, definitions={JOBS: replace(DEFINED, version="11")})
    assert rewritten(BEFORE, written, JOBS)
    assert redefined(BEFORE, written, JOBS) == Redefined(
        "the schema of its CustomResourceDefinition may have changed", 101, None
    )
    assert redefined(BEFORE, replace(written, defined_since={JOBS: None}), JOBS) is None


def test_lost_rights_are_not_called_another_cluster() -> None:
    lost = replace(BEFORE, cluster=None, cluster_why="HTTP 403: forbidden")
    assert "another" not in (difference(BEFORE, lost, JOBS) or "")


def test_a_kind_that_nobody_serves_yet_is_not_taken_for_served() -> None:
    assert "is not there" in (difference(served(None), served(None), JOBS) or "")
    assert "was not read" in (difference(served(None), BEFORE, JOBS) or "")
    local = replace(BEFORE, served_since={"batch/v1": ""})
    assert difference(served(None), local, JOBS) is None


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
