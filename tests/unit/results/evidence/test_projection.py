"""What is kept is enough: a check comes to the same on it as on the whole object."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, Snapshot
from devops_bench.results.evidence.projection import (
    fields_as_json,
    fields_from_json,
    missing_fields,
    project,
    projection_of,
)
from devops_bench.verification.combinators import judge, queries_of

from .helpers import QUERY, checks, entry, kube_objects


@given(st.lists(checks(), min_size=1, max_size=3), st.lists(kube_objects(), max_size=3))
def test_every_check_comes_to_the_same_on_what_is_kept(
    raw: list[JsonObject], objects: list[KubeObject]
) -> None:
    entries = [entry(check, name=str(number)) for number, check in enumerate(raw)]
    kept = projection_of(entries)
    for one in entries:
        queries = queries_of(one.check)
        whole = Snapshot({query: Matched(tuple(objects)) for query in queries})
        parts = Snapshot(
            {
                query: Matched(tuple(KubeObject(project(o.data, kept[query])) for o in objects))
                for query in queries
            }
        )
        assert judge(one.check, parts) == judge(one.check, whole)


@given(kube_objects())
def test_what_no_check_reads_is_not_kept(obj: KubeObject) -> None:
    kept = project(obj.data, (("spec", "replicas"),))
    assert set(kept) <= {"apiVersion", "kind", "metadata", "spec", "status"}
    assert "managedFields" not in KubeObject(kept).metadata
    spec, status = kept.get("spec", {}), kept.get("status", {})
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    assert set(spec) <= {"replicas"}
    assert set(status) <= {"observedGeneration"}


@given(kube_objects())
def test_keeping_everything_keeps_the_object(obj: KubeObject) -> None:
    assert project(obj.data, None) is obj.data


def test_the_object_itself_is_not_changed() -> None:
    data: JsonObject = {"kind": "A", "metadata": {"name": "x", "uid": "u"}, "spec": {"a": {"b": 1}}}
    kept = project(data, (("spec", "a"), ("spec", "a", "b"), ("spec",)))
    assert kept["spec"] == {"a": {"b": 1}}
    assert data == {"kind": "A", "metadata": {"name": "x", "uid": "u"}, "spec": {"a": {"b": 1}}}


def test_several_readers_of_one_query_keep_what_each_reads() -> None:
    base: JsonObject = {"type": "resource_property", "kind": "Widget", "namespace": "shop"}
    first = entry({**base, "path": "spec.replicas", "op": "exists"}, name="a")
    second = entry({**base, "path": "spec", "op": "exists"}, name="b")
    third = entry({**base, "op": "exists"}, name="c")
    assert projection_of([third]) == {QUERY: ()}
    assert projection_of([first, third]) == {QUERY: (("spec", "replicas"),)}
    assert projection_of([first, second, third]) == {QUERY: (("spec",),)}
    everything = entry({**base, "path": "$..a", "op": "exists"}, name="d")
    assert projection_of([first, everything]) == {QUERY: None}


def test_what_was_not_kept_is_named() -> None:
    kept = (("spec", "replicas"),)
    assert missing_fields((("spec", "replicas"), ("metadata", "labels", "app")), kept) == []
    assert missing_fields((("spec", "template"), ("spec",)), kept) == ["spec.template", "spec"]
    assert missing_fields(None, kept) == ["the whole object"]
    assert missing_fields((("anything",),), None) == []


@given(st.none() | st.lists(st.lists(st.text(), min_size=1).map(tuple)).map(tuple))
def test_parts_survive_being_written(fields: tuple[tuple[str, ...], ...] | None) -> None:
    assert fields_from_json(fields_as_json(fields)) == fields


def test_a_query_of_a_plain_kind_reads_what_it_says() -> None:
    kept = projection_of([entry({"type": "pod_healthy", "selector": "a=b", "namespace": "n"})])
    fields = kept[ResourceQuery("Pod", "n", selector="a=b")]
    assert fields is not None
    assert ("status", "phase") in fields
