from __future__ import annotations

import itertools

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Snapshot
from devops_bench.k8s.watch.appear import CRD_QUERY, Ambiguous, Appeared, AppearingKinds

_versions = itertools.count(1)


def definition(
    *,
    established: bool = True,
    uid: str = "u",
    served: bool = True,
    scope: str = "Namespaced",
    group: str = "example.org",
    short_names: tuple[str, ...] = ("gz",),
) -> KubeObject:
    names: JsonObject = {
        "plural": "gizmos",
        "singular": "gizmo",
        "kind": "Gizmo",
        "shortNames": list(short_names),
    }
    condition: JsonObject = {"type": "Established", "status": "True" if established else "False"}
    versions: list[JsonObject] = [{"name": "v2", "served": served}, {"name": "v1", "served": True}]
    return KubeObject(
        {
            "metadata": {
                "name": f"gizmos.{group}",
                "uid": uid,
                "resourceVersion": str(next(_versions)),
            },
            "spec": {
                "group": group,
                "scope": scope,
                "names": names,
                "versions": list(versions),
            },
            "status": {"conditions": [condition], "acceptedNames": names},
        }
    )


def view(*objects: KubeObject) -> Snapshot:
    return Snapshot({CRD_QUERY: Matched(objects)})


def appeared(kinds: AppearingKinds, rv: int, *objects: KubeObject) -> list[Appeared]:
    news = kinds.look(view(*objects), rv)
    assert not any(isinstance(item, Ambiguous) for item in news)
    return [item for item in news if isinstance(item, Appeared)]


def test_a_kind_counts_from_when_its_definition_was_first_seen() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    assert kinds.look(view(definition(established=False)), 10) == []
    (found,) = appeared(kinds, 12, definition())
    assert (found.kind, found.since_rv) == ("gizmo", 10)
    assert (found.resource.resource, found.resource.version) == ("gizmos", "v2")
    assert kinds.waiting() == frozenset()
    assert kinds.look(view(definition()), 13) == []


def test_every_name_that_kubectl_knows_is_found() -> None:
    for word in ("gizmos", "gizmo", "Gizmo", "gz", "gizmos.example.org", "gizmos.v1.example.org"):
        kinds = AppearingKinds(frozenset({word}))
        assert [item.kind for item in appeared(kinds, 1, definition())] == [word]
    kinds = AppearingKinds(frozenset({"widgets"}))
    assert kinds.look(view(definition()), 1) == []
    assert kinds.waiting() == frozenset({"widgets"})


def test_a_definition_that_was_made_again_counts_anew() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    kinds.look(view(definition(established=False, uid="first")), 5)
    kinds.look(view(), 6)
    (found,) = appeared(kinds, 9, definition(uid="second"))
    assert found.since_rv == 9


def test_a_version_that_is_not_served_is_not_watched() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    (found,) = appeared(kinds, 1, definition(served=False, scope="Cluster"))
    assert found.resource.version == "v1"
    assert not found.resource.namespaced


def test_a_second_kind_of_the_same_name_is_told_of_once() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    squatter = definition(group="aaa.org", uid="1")
    meant = definition(group="example.org", uid="2")
    (found,) = appeared(kinds, 1, squatter)
    assert kinds.meaning("gizmo") == found.resource
    (second,) = kinds.look(view(squatter, meant), 2)
    assert isinstance(second, Ambiguous)
    assert (str(second.first), str(second.second)) == ("gizmos.aaa.org", "gizmos.example.org")
    changed = definition(group="example.org", uid="2")
    assert kinds.look(view(squatter, changed), 3) == []


def test_a_second_kind_counts_after_the_first_is_gone_as_well() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    appeared(kinds, 1, definition(group="aaa.org", uid="1"))
    assert kinds.look(view(), 2) == []
    (second,) = kinds.look(view(definition(uid="2")), 3)
    assert isinstance(second, Ambiguous)


def test_a_short_name_that_comes_later_may_be_another_kinds() -> None:
    kinds = AppearingKinds(frozenset({"gz"}))
    assert kinds.look(view(definition(short_names=())), 1) == []
    (found,) = appeared(kinds, 2, definition())
    assert found.since_rv == 1


def test_a_group_that_is_given_tells_two_kinds_apart() -> None:
    kinds = AppearingKinds(frozenset({"gizmos.example.org"}))
    assert kinds.look(view(definition(group="aaa.org", uid="1")), 1) == []
    both = (definition(group="aaa.org", uid="1"), definition(uid="2"))
    assert [str(item.resource) for item in appeared(kinds, 2, *both)] == ["gizmos.example.org"]
