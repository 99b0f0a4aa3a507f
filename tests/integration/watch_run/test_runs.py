"""From the baseline to the result: nothing that was stored is missed, and nothing is made up."""

from __future__ import annotations

import pytest

from devops_bench.core.errors import ApiError
from devops_bench.evalharness.events import Phase
from devops_bench.results.summary import render_task
from devops_bench.verification.base import VERIFIERS, BaseVerifier
from devops_bench.verification.result import VerificationResult
from tests.integration.watch.control_plane import until
from tests.integration.watch_run.arena import Arena, after_turn, coverage, row

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@VERIFIERS.register("watch_run_probe")
class Probe(BaseVerifier):
    """A plug-in that looks for itself."""

    type: str = "watch_run_probe"

    def verify(self, timeout_sec: float) -> VerificationResult:
        return VerificationResult.passed("it looked")


def flicker(arena: Arena) -> None:
    """Break it and mend it, with nothing in between."""
    arena.at.put("bad")
    arena.at.put("good")


def test_what_was_left_alone_holds(arena: Arena) -> None:
    arena.at.put("good")
    result = arena.run(lambda: arena.at.put("good"), arena.entry("floor"))
    assert result.status == "passed"
    seen = coverage(result, "floor")
    assert (seen["mode"], seen["gaps"], seen["largest_blind_spot_sec"]) == ("watched", [], 0.0)
    assert "nothing missed" in render_task(result)
    assert after_turn(result, "floor")["why_incomplete"] is None


@pytest.mark.parametrize("rounds", [1, 20])
def test_a_violation_that_lasts_no_time_is_found(arena: Arena, rounds: int) -> None:
    arena.at.put("good")

    def act() -> None:
        for _ in range(rounds):
            flicker(arena)

    result = arena.run(act, arena.entry("floor"))
    found = row(result, "floor")
    assert (result.status, found["status"]) == ("failed", "fail")
    assert found["hold_sample_count"] == 1 + 2 * rounds


def test_an_object_that_was_deleted_and_made_again_is_found(arena: Arena) -> None:
    arena.at.put("good")

    def act() -> None:
        arena.at.delete()
        arena.at.put("good")

    assert row(arena.run(act, arena.entry("floor")), "floor")["status"] == "fail"


def test_a_state_over_two_kinds_is_judged_as_it_was(arena: Arena) -> None:
    """Either of two has to be good at every moment: one goes bad after the other was mended."""
    for kind, value in (("configmaps", "good"), ("secrets", "x")):
        arena.at.put(value, kind=kind)
    either = arena.entry("either")
    secret = {**arena.entry("s", "secrets")["check"], "value": "Z29vZA=="}  # type: ignore[dict-item]
    either["check"] = {"type": "any", "checks": [either["check"], secret]}

    def keep_one() -> None:
        for _ in range(5):
            arena.at.put("good", kind="secrets")
            arena.at.put("bad")
            arena.at.put("good")
            arena.at.put("x", kind="secrets")

    assert row(arena.run(keep_one, either), "either")["status"] == "pass"


def test_a_moment_without_both_is_found(arena: Arena) -> None:
    arena.at.put("good")
    arena.at.put("x", kind="secrets")
    either = arena.entry("either")
    secret = {**arena.entry("s", "secrets")["check"], "value": "Z29vZA=="}  # type: ignore[dict-item]
    either["check"] = {"type": "any", "checks": [either["check"], secret]}

    def act() -> None:
        arena.at.put("bad")
        arena.at.put("good", kind="secrets")

    assert row(arena.run(act, either), "either")["status"] == "fail"


# --- faults -------------------------------------------------------------------------------


def test_a_violation_while_the_api_server_was_away_is_found_or_an_error(arena: Arena) -> None:
    arena.at.put("good")

    def act() -> None:
        arena.at.plane.kill_api()
        arena.at.plane.start_api()
        flicker(arena)

    result = arena.run(act, arena.entry("floor"))
    assert row(result, "floor")["status"] in ("fail", "error")
    assert row(result, "floor")["coverage"]["gaps"]


def test_an_api_server_that_was_away_is_no_reason_to_fail(arena: Arena) -> None:
    arena.at.put("good")

    def act() -> None:
        arena.at.plane.kill_api()
        arena.at.plane.start_api()
        arena.at.put("good", name="other")

    result = arena.run(act, arena.entry("floor"))
    assert row(result, "floor")["status"] == "pass", row(result, "floor")
    assert all(gap["closed"] for gap in coverage(result, "floor")["gaps"])
    assert arena.events("gap")


def test_an_api_server_that_stays_away_is_an_error_that_says_so(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.at.put("good")
    monkeypatch.setattr("devops_bench.evalharness.hold.FENCE_TIMEOUT_SEC", 2.0)
    try:
        result = arena.run(arena.at.plane.kill_api, arena.entry("floor"))
    finally:
        arena.at.plane.start_api()
    assert (result.status, row(result, "floor")["status"]) == ("error", "error")
    assert "configmaps" in row(result, "floor")["reason"]


@pytest.mark.parametrize(
    ("cut", "harm", "expected"),
    [(False, True, "fail"), (True, True, "error"), (True, False, "error")],
    ids=["the stream outlives it", "hidden", "harmless"],
)
def test_a_right_that_was_taken_away_hides_nothing(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, cut: bool, harm: bool, expected: str
) -> None:
    """An open stream outlives the RoleBinding; watching again, and the fence, do not."""
    monkeypatch.setattr("devops_bench.evalharness.hold.FENCE_TIMEOUT_SEC", 3.0)
    arena.at.put("good")
    binding = reader_of(arena)

    def act() -> None:
        path = f"{RBAC}/clusterrolebindings/{binding}"
        arena.at.plane.admin.request("DELETE", path, timeout_sec=10)
        for relay in arena.at.proxy.open_watches() if cut else ():
            relay.cut()
        if harm:
            flicker(arena)
        if expected == "fail":
            until("it was seen", lambda: bool(arena.events("hold_violation")))

    result = arena.run(act, arena.entry("floor"))
    assert row(result, "floor")["status"] == expected, (row(result, "floor"), result.reason)


def reader_of(arena: Arena) -> str:
    """Let the run read as a ServiceAccount with one binding; return the binding's name."""
    admin, namespace = arena.at.plane.admin, arena.at.namespace
    name = f"{namespace}-reader"
    until("the server has made its roles", lambda: _exists(arena, "clusterroles/cluster-admin"))
    admin.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/serviceaccounts",
        body={"metadata": {"name": name}},
        timeout_sec=10,
    )
    admin.request(
        "POST",
        f"{RBAC}/clusterrolebindings",
        body={
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
        timeout_sec=10,
    )
    arena.token = arena.at.plane.token_of(namespace, name)
    return name


def _exists(arena: Arena, path: str) -> bool:
    try:
        arena.at.plane.admin.request("GET", f"{RBAC}/{path}", timeout_sec=10)
    except ApiError:
        return False
    return True


# --- what is sampled ----------------------------------------------------------------------


def test_a_sampled_entry_is_shown_as_sampled_before_the_agent_starts(arena: Arena) -> None:
    arena.at.put("good")
    probe = arena.entry("odd", hold_poll_interval_sec=0.05, check={"type": "watch_run_probe"})
    shown: list[str] = []
    result = arena.run(lambda: shown.extend(arena.reporter.notices), arena.entry("floor"), probe)
    assert result.status == "passed"
    assert any("odd is sampled every 0.05 s, not watched" in text for text in shown)
    assert not any("floor" in text for text in shown)
    seen = coverage(result, "odd")
    assert seen["mode"] == "sampled"
    assert "watch_run_probe" in seen["why_sampled"]
    assert seen["largest_blind_spot_sec"] is not None
    assert [line["entry"] for line in arena.events("sampled")] == ["odd"]
    assert "can have been missed" in render_task(result)


def test_what_must_be_watched_and_cannot_be_keeps_the_agent_from_starting(arena: Arena) -> None:
    """ComponentStatuses have no watch verb."""
    check = {"type": "resource_property", "kind": "componentstatuses", "op": "exists"}
    must = arena.entry("must", coverage="watch", check=check)
    result = arena.run(lambda: None, must)
    assert result.status == "error"
    assert arena.agent.turns == 0
    assert "must: " in result.reason
    assert "coverage: watch" in result.reason


def test_a_safeguard_that_does_not_hold_keeps_the_agent_from_starting(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_SETUP_TIMEOUT_SEC", "1")
    arena.at.put("bad")
    result = arena.run(lambda: None, arena.entry("floor"))
    assert (result.status, arena.agent.turns) == ("error", 0)


# --- after the turn -----------------------------------------------------------------------


def test_a_violation_after_the_turn_is_shown_and_counts_for_the_run_alone(arena: Arena) -> None:
    arena.at.put("good")
    soak = arena.entry("steady", "secrets", role="objective", hold_window_sec=1.0)
    soak["check"]["value"] = "Z29vZA=="  # type: ignore[index,call-overload]
    arena.at.put("good", kind="secrets")
    arena.reporter.at_phase[Phase.VERIFY] = lambda: flicker(arena)

    result = arena.run(
        lambda: None, arena.entry("floor"), arena.entry("always", hold_scope="run"), soak
    )

    assert row(result, "steady")["status"] == "pass"
    assert row(result, "floor")["status"] == "pass"
    assert row(result, "always")["status"] == "fail"
    for name in ("floor", "always"):
        assert after_turn(result, name)["violated"]
    assert "after the turn" in render_task(result)


def test_a_converge_entry_passes_when_its_state_was_there_for_a_moment(arena: Arena) -> None:
    arena.at.put("bad")
    goal = arena.entry("fixed", role="objective", mode="converge")

    def later() -> None:
        until("the streams are open", lambda: bool(arena.at.proxy.open_watches()))
        arena.at.put("good")
        arena.at.put("bad")

    arena.reporter.at_phase[Phase.VERIFY] = later
    result = arena.run(lambda: None, goal)
    assert row(result, "fixed")["status"] == "pass"


def test_a_moment_in_a_soak_is_found(arena: Arena) -> None:
    arena.at.put("good")
    soak = arena.entry("steady", role="objective", hold_window_sec=2.0)

    def later() -> None:
        until("the streams are open", lambda: bool(arena.at.proxy.open_watches()))
        flicker(arena)

    arena.reporter.at_phase[Phase.VERIFY] = later
    result = arena.run(lambda: None, soak)
    assert row(result, "steady")["status"] == "fail"
    assert coverage(result, "steady")["mode"] == "watched"
