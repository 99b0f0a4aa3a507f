"""What the self-check asks, and that no answer but the right one passes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest

from devops_bench.core.errors import ApiError, ApiUnavailableError, SetupError
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.selfcheck import SelfCheck, must_be_allowed, must_be_denied
from devops_bench.k8s.escalation import IMPERSONATION_MODES
from devops_bench.k8s.identity import Identity
from devops_bench.k8s.rbac import Grant, PolicyRule
from devops_bench.tasks.access import presets
from tests.unit.evalharness.helpers import FakeClock

ME = Identity("devops-bench-1", "agent", "devops-bench-1", ())
GRANTS = [Grant((PolicyRule(("apps",), ("deployments",), ("patch",)),), ("shop",))]


class Server:
    """Answers reviews by the grants, and what a test changes about it."""

    def __init__(self) -> None:
        self.user = ME.username
        self.also: set[tuple[str, str]] = set()
        self.not_yet = 0
        self.secrets: Exception | None = ApiError(403, "Forbidden", "no")
        self.reviews = 0
        self.broken: Exception | None = None

    def request(
        self, method: str, path: str, *, body: JsonObject | None = None, **_: object
    ) -> JsonObject:
        if path.endswith("/selfsubjectreviews"):
            return {"status": {"userInfo": {"username": self.user}}}
        if path.endswith("/selfsubjectaccessreviews"):
            return {"status": {"allowed": self._allowed(json.dumps(body))}}
        if self.secrets is not None:
            raise self.secrets
        return {"items": []}

    def _allowed(self, asked: str) -> bool:
        self.reviews += 1
        if self.broken is not None:
            raise self.broken
        granted = '"patch"' in asked and '"deployments"' in asked
        if granted and self.not_yet > 0:
            self.not_yet -= 1
            return False
        return granted or any(f'"{v}"' in asked and f'"{r}"' in asked for v, r in self.also)


@contextlib.contextmanager
def refused() -> Iterator[list[str]]:
    said: list[str] = []
    with pytest.raises(SetupError) as caught:
        yield said
    said.append(str(caught.value))


def check(server: Server) -> list[str]:
    made = SelfCheck(server, ME, GRANTS, FakeClock())  # type: ignore[arg-type]
    return [f"{row.how} {row.what}: {row.observed}" for row in made.run(5)]


@pytest.fixture(autouse=True)
def _no_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SelfCheck, "_something_readable", lambda _: None)


def test_all_as_it_must_be() -> None:
    rows = check(Server())
    assert f"request the token is that of {ME.username}: allowed" in rows
    assert "request list secrets of namespace devops-bench-1: denied" in rows
    assert "review patch deployments.apps in namespace shop: allowed" in rows
    assert "review patch namespaces shop in namespace shop: denied" in rows
    assert "review impersonate users in the whole cluster: denied" in rows
    constrained = "impersonate:user-info users.authentication.k8s.io in the whole cluster"
    assert f"review {constrained}: denied" in rows
    assert "review delete namespaces devops-bench-1 in namespace devops-bench-1: denied" in rows


def test_new_roles_take_the_server_a_moment() -> None:
    server = Server()
    server.not_yet = 3
    assert "review patch deployments.apps in namespace shop: allowed" in check(server)


def test_what_was_granted_and_is_not_there() -> None:
    server = Server()
    server.not_yet = 10**6
    with refused() as said:
        check(server)
    assert "patch deployments.apps in namespace shop must be allowed: denied" in said[0]


def test_what_is_there_and_was_not_granted() -> None:
    server = Server()
    server.also.add(("impersonate", "groups"))
    with refused() as said:
        check(server)
    assert said == [
        "the agent's access is not what the task says, so it was not started: "
        "impersonate groups in the whole cluster must be denied: allowed"
    ]


def test_every_way_to_act_as_somebody_else_is_asked_for() -> None:
    verbs = {(question.verb, question.namespace) for question in must_be_denied(ME, ["shop"])}
    for mode in IMPERSONATION_MODES:
        assert (f"impersonate:{mode}", "") in verbs
    for mode in ("serviceaccount", "user-info"):
        assert {(f"impersonate-on:{mode}:list", place) for place in ("", "shop")} <= verbs


@pytest.mark.parametrize(
    "answer",
    [ApiError(401, "Unauthorized", "who?"), ApiUnavailableError("gone"), ApiError(500, "", "oh")],
)
def test_no_answer_is_not_denied(answer: Exception) -> None:
    server = Server()
    server.secrets = answer
    with refused() as said:
        check(server)
    assert "list secrets of namespace devops-bench-1 must be denied: no answer" in said[0]
    server = Server()
    server.broken = answer
    with refused() as said:
        check(server)
    assert "impersonate users in the whole cluster must be denied: no answer" in said[0]


def test_a_real_request_that_is_answered_although_it_must_not() -> None:
    server = Server()
    server.secrets = None
    with refused() as said:
        check(server)
    assert "list secrets of namespace devops-bench-1 must be denied: allowed" in said[0]


def test_somebody_elses_token() -> None:
    server = Server()
    server.user = "admin"
    with refused() as said:
        check(server)
    assert f"the token is that of {ME.username} must be allowed: admin" in said[0]


@pytest.mark.parametrize("name", ["view", "edit", "admin"])
def test_no_preset_grants_what_must_be_denied(name: str) -> None:
    cluster, inside = presets()[name]
    for question in must_be_denied(ME, ["shop"]):
        grant = inside if question.namespace == "shop" else cluster
        assert not grant.allows(question.group, question.resource, question.verb), question
    grants = [cluster, Grant(inside.rules, ("a", "b"))]
    asked = list(must_be_allowed(grants))
    assert len(asked) == len(cluster.rules) + 2 * len(inside.rules)
