from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.attribution import causes_by_audit, causes_by_managed_fields
from devops_bench.evalharness.auditwatch import unexplained
from devops_bench.evalharness.requests import Parties, Requests
from devops_bench.evalharness.trail import Change, Violation
from devops_bench.k8s.audit import Answered, AuditEvent, Reference
from devops_bench.k8s.objects import KubeObject
from devops_bench.results.trust import ViolationCause

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
AGENT = "system:serviceaccount:devops-bench-1:agent"
ROLLER = "system:serviceaccount:kube-system:deployment-controller"
OURS = "devops-bench/1f"
OWN = Parties("admin", AGENT, START, START + dt.timedelta(seconds=100), OURS)


def event(
    sec: float,
    user: str = AGENT,
    verb: str = "patch",
    resource: str = "deployments",
    *objects: Answered,
    name: str = "web",
    **fields: object,
) -> AuditEvent:
    at = START + dt.timedelta(seconds=sec)
    defaults: dict[str, object] = {"namespace": "shop", "code": 200, "objects": objects}
    return AuditEvent(
        id=f"{user[-5:]}-{verb}-{sec:g}",
        user=user,
        verb=verb,
        resource=resource,
        received_at=at,
        answered_at=at,
        name=name,
        **{**defaults, **fields},  # type: ignore[arg-type]
    )


def answered(
    uid: str, rv: int, generation: int | None = None, owner: str = "", name: str = "web"
) -> Answered:
    references = (Reference("owner", owner, "", ""),) if owner else ()
    return Answered(uid, name, "shop", str(rv), generation, references)


def obj(uid: str, rv: int, **fields: JsonValue) -> KubeObject:
    metadata: JsonObject = {
        "uid": uid,
        "name": "web",
        "namespace": "shop",
        "resourceVersion": str(rv),
        **fields,
    }
    return KubeObject({"metadata": metadata})


def changed(uid: str, rv: int, kind: str = "Deployment") -> Change:
    return Change(kind, "shop", "web", rv, obj(uid, rv), obj(uid, rv - 1))


def gone(uid: str, rv: int, kind: str = "Deployment") -> Change:
    return Change(kind, "shop", "web", rv, None, obj(uid, rv - 1))


def cause(
    change: Change, events: Sequence[AuditEvent], parties: Parties = OWN, at: float = 50.0
) -> ViolationCause:
    (found,) = causes_by_audit(
        [Violation(at, (change,))],
        Requests(events, parties),
        origin_sec=10.0,
        started_at=START,
        place_call=lambda moment: f"call at {moment:%S}",
    )
    assert found.at_sec == at - 10.0
    return found


def ids(found: ViolationCause) -> tuple[str | None, str | None]:
    return (
        found.written_by.audit_id if found.written_by else None,
        found.led_by.audit_id if found.led_by else None,
    )


def test_a_write_is_told_by_uid_and_revision() -> None:
    right = event(5, AGENT, "patch", "deployments", answered("d", 7, 2))
    events = [
        event(4, AGENT, "patch", "deployments", answered("d", 6, 1)),
        right,
        event(6, ROLLER, "update", "deployments", answered("d", 8, 2), subresource="status"),
        event(7, AGENT, "patch", "deployments", answered("other", 7, 2)),
    ]
    found = cause(changed("d", 7), events)
    assert ids(found) == (right.id, None)
    assert found.written_by is not None
    assert found.written_by.matched_by == "resourceVersion"
    assert found.written_by.tool_call == "call at 05"


def test_a_controller_was_made_to_do_it_by_a_change_of_the_spec() -> None:
    made = event(1, "admin", "create", "deployments", answered("d", 2, 1), user_agent=OURS)
    scaled = event(5, AGENT, "patch", "deployments", answered("d", 7, 2))
    annotated = event(6, AGENT, "patch", "deployments", answered("d", 8, 2))
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 2), subresource="status")
    found = cause(changed("d", 9), [made, scaled, annotated, status])
    assert ids(found) == (status.id, scaled.id)
    assert found.led_by is not None
    assert found.led_by.matched_by == "relation"


def test_owners_and_what_they_own_lead_to_the_agent() -> None:
    pod = event(1, ROLLER, "create", "pods", answered("p", 2, None, "r"))
    replicas = event(1, ROLLER, "create", "replicasets", answered("r", 1, 1, "d"))
    deleted = event(5, AGENT, "delete", "pods", answered("p", 8, None, "r"))
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 2), subresource="status")
    assert ids(cause(changed("d", 9), [replicas, pod, deleted, status])) == (status.id, deleted.id)
    scaled = event(5, AGENT, "patch", "deployments", answered("d", 7, 2))
    removed = event(7, ROLLER, "delete", "pods", answered("p", 8, None, "r"))
    assert ids(cause(gone("p", 9, "Pod"), [replicas, pod, scaled, removed])) == (
        removed.id,
        scaled.id,
    )


def test_an_eviction_counts_as_a_deletion() -> None:
    pod = event(1, ROLLER, "create", "pods", answered("p", 2, None, "r"))
    evicted = event(5, AGENT, "create", "pods", subresource="eviction")
    status = event(7, "devops-bench:kwok", "delete", "pods", answered("p", 8))
    assert ids(cause(gone("p", 9, "Pod"), [pod, evicted, status])) == (status.id, evicted.id)


def test_a_namespace_that_was_deleted_takes_all_with_it() -> None:
    ended = event(5, AGENT, "delete", "namespaces", Answered("n", "shop"), name="shop")
    swept = event(
        6,
        "system:serviceaccount:kube-system:namespace-controller",
        "deletecollection",
        "configmaps",
        answered("c", 4),
        name="",
    )
    assert ids(cause(gone("c", 9, "ConfigMap"), [ended, swept])) == (swept.id, ended.id)


def test_an_autoscaler_leads_to_whoever_made_it() -> None:
    target = (Reference("scales", "", "Deployment", "web"),)
    made = event(1, "admin", "create", "deployments", answered("d", 2, 1), user_agent=OURS)
    scaler = Answered("h", "web", "shop", "5", None, target)
    created = event(4, AGENT, "create", "horizontalpodautoscalers", scaler)
    scaled = event(
        6,
        "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
        "update",
        "deployments",
        answered("d", 9),
        subresource="scale",
    )
    assert ids(cause(changed("d", 9), [made, created, scaled])) == (scaled.id, created.id)


def test_pods_that_left_the_endpoints_are_looked_at() -> None:
    pod = event(1, ROLLER, "create", "pods", answered("p", 2, None, "r"))
    labelled = event(5, AGENT, "patch", "pods", answered("p", 7, 1, "r"))
    user = "system:serviceaccount:kube-system:endpointslice-controller"
    updated = event(6, user, "update", "endpointslices", answered("e", 9, 2))
    before = obj("e", 8)
    target: JsonObject = {"uid": "p", "kind": "Pod", "name": "x"}
    before.data["endpoints"] = [{"targetRef": target}]
    change = Change("EndpointSlice", "shop", "web", 9, obj("e", 9), before)
    assert ids(cause(change, [pod, labelled, updated])) == (updated.id, labelled.id)


def test_an_operator_is_a_hand_and_a_person_is_not() -> None:
    made = event(5, AGENT, "patch", "carts", answered("c", 7))
    for user, led in (("system:serviceaccount:ops:operator", made.id), ("mallory", None)):
        written = event(7, user, "update", "carts", answered("c", 9))
        assert ids(cause(changed("c", 9, "Cart"), [made, written])) == (written.id, led)


def test_somebody_else_behind_a_controller_is_named() -> None:
    mine = event(4, AGENT, "patch", "deployments", answered("d", 6, 2))
    theirs = event(5, "admin", "patch", "deployments", answered("d", 7, 3), user_agent="kubectl")
    ours = event(6, "admin", "patch", "deployments", answered("d", 8, 4), user_agent=OURS)
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 4), subresource="status")
    found = cause(changed("d", 9), [mine, theirs, ours, status])
    assert ids(found) == (status.id, theirs.id)
    assert found.led_by is not None
    assert (found.led_by.who, found.led_by.tool_call) == ("other", None)
    assert ids(cause(changed("d", 9), [ours, status])) == (status.id, None)


def test_whoever_has_our_credentials_and_says_our_name_is_not_the_harness() -> None:
    for said, who, foreign in ((OURS, "harness", False), ("devops-bench", "other", True)):
        one = event(5, "admin", "patch", "deployments", answered("d", 7), user_agent=said)
        found = cause(changed("d", 7), [one]).written_by
        assert found is not None
        assert (found.who, found.foreign) == (who, foreign)


def test_a_change_that_no_request_explains_is_a_hole() -> None:
    made = event(1, "admin", "create", "deployments", answered("d", 5, 1), user_agent=OURS)
    seen = event(5, AGENT, "patch", "deployments", answered("d", 7, 2))
    whole, cut = Requests([made, seen], OWN), Requests([made], OWN)
    assert unexplained([changed("d", 7), gone("d", 9)], whole) == ""
    assert "revision 7" in unexplained([changed("d", 5), changed("d", 7)], cut)
    # Of what the policy does not keep there is nothing to miss.
    assert unexplained([changed("s", 7, "Secret")], cut) == ""
    bound = event(2, "admin", "create", "pods", answered("p", 5), user_agent=OURS)
    assert unexplained([changed("p", 7, "Pod")], Requests([bound], OWN)) == ""


def test_an_operator_leads_only_where_nobody_else_does() -> None:
    operator = "system:serviceaccount:ops:operator"
    mine = event(4, AGENT, "patch", "deployments", answered("d", 6, 2))
    theirs = event(5, operator, "patch", "deployments", answered("d", 7, 3))
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 3), subresource="status")
    assert ids(cause(changed("d", 9), [mine, theirs, status])) == (status.id, mine.id)
    assert ids(cause(changed("d", 9), [theirs, status])) == (status.id, theirs.id)


def test_who_deleted_something_before_a_controller_did_is_named() -> None:
    theirs = event(5, "admin", "delete", "pods", answered("p", 8), user_agent="kubectl")
    removed = event(7, ROLLER, "delete", "pods", answered("p", 8))
    assert ids(cause(gone("p", 9, "Pod"), [theirs, removed])) == (removed.id, theirs.id)


def test_nothing_of_another_application_is_blamed() -> None:
    other = event(5, AGENT, "patch", "deployments", answered("x", 7, 2), name="other")
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 2), subresource="status")
    found = cause(changed("d", 9), [other, status])
    assert ids(found) == (status.id, None)
    assert "no earlier request" in found.note


def test_what_came_later_or_was_refused_is_no_cause() -> None:
    refused = event(5, AGENT, "patch", "deployments", code=403)
    status = event(7, ROLLER, "update", "deployments", answered("d", 9, 2), subresource="status")
    later = event(8, AGENT, "patch", "deployments", answered("d", 10, 3))
    assert ids(cause(changed("d", 9), [refused, status, later])) == (status.id, None)


def test_a_secret_is_told_by_name_and_time() -> None:
    early = event(3, AGENT, "patch", "secrets")
    late = event(5, AGENT, "patch", "secrets")
    after = event(60, AGENT, "patch", "secrets")
    found = cause(changed("s", 9, "Secret"), [early, late, after])
    assert ids(found) == (late.id, None)
    assert found.written_by is not None
    assert found.written_by.matched_by == "time"


def test_with_the_harness_credentials_the_client_and_the_time_tell() -> None:
    shared = Parties(
        "admin", "", START + dt.timedelta(seconds=2), START + dt.timedelta(seconds=9), OURS
    )
    for sec, agent, who in (
        (5, "kubectl/v1", "agent"),
        (5, OURS, "harness"),
        (5, "devops-bench", "agent"),
        (1, "kubectl/v1", "other"),
        (10, "kubectl/v1", "other"),
    ):
        one = event(sec, "admin", "patch", "deployments", answered("d", 7), user_agent=agent)
        found = cause(changed("d", 7), [one], shared)
        assert found.written_by is not None
        assert found.written_by.who == who


def test_what_was_never_seen_is_told_by_its_name() -> None:
    deleted = event(5, AGENT, "delete", "deployments", answered("d", 8), group="apps")
    other = event(6, AGENT, "delete", "deployments", answered("x", 9), name="other")
    found = cause(Change("Deployment", "shop", "web", None, None, None), [deleted, other])
    assert ids(found) == (deleted.id, None)


def test_what_the_log_does_not_hold_is_not_known() -> None:
    found = cause(changed("d", 9), [])
    assert found.written_by is None
    assert "no request in the audit log" in found.note


@given(st.permutations(range(6)))
def test_the_agent_is_never_blamed_for_what_only_others_did(order: list[int]) -> None:
    writers = [ROLLER, "admin", "system:kube-scheduler", "mallory", ROLLER, "devops-bench:kwok"]
    events = [
        event(
            float(place), writers[number], "update", "deployments", answered("d", place + 2, place)
        )
        for place, number in enumerate(order)
    ]
    for place in range(6):
        found = cause(changed("d", place + 2), events)
        assert found.written_by is not None
        assert found.written_by.who != "agent"
        assert found.led_by is None or found.led_by.who == "other"


def entry(manager: str, sec: int, **fields: JsonValue) -> JsonValue:
    at = (START + dt.timedelta(seconds=sec)).isoformat()
    return {"manager": manager, "operation": "Update", "time": at, **fields}


def by_fields(change: Change) -> ViolationCause:
    (found,) = causes_by_managed_fields([Violation(50.0, (change,))], origin_sec=10.0)
    return found


def test_managed_fields_name_the_manager_that_is_new() -> None:
    old: list[JsonValue] = [entry("kubectl-create", 1)]
    new: list[JsonValue] = [*old, entry("kubectl", 5, subresource="scale")]
    before, now = obj("d", 6, managedFields=old), obj("d", 7, managedFields=new)
    found = by_fields(Change("Deployment", "shop", "web", 7, now, before))
    assert found.written_by is not None
    # A manager is what the client calls itself, the agent's too: it is nobody.
    assert (found.written_by.who, found.written_by.user) == ("unknown", "kubectl")
    assert found.written_by.resource == "Deployment/scale"
    assert found.written_by.tool_call is None


def test_managed_fields_tell_a_controller_and_whoever_wrote_before() -> None:
    managers: list[JsonValue] = [
        entry("kubectl", 5),
        entry("kube-controller-manager", 6, subresource="status"),
    ]
    found = by_fields(
        Change("Deployment", "shop", "web", 7, obj("d", 7, managedFields=managers), None)
    )
    assert found.written_by is not None
    assert (found.written_by.who, found.written_by.user) == ("unknown", "kube-controller-manager")
    assert found.led_by is not None
    assert (found.led_by.who, found.led_by.user) == ("unknown", "kubectl")


def test_managed_fields_say_nothing_of_what_is_gone() -> None:
    found = by_fields(gone("d", 9))
    assert found.written_by is None
    assert "does not say who deleted it" in found.note
