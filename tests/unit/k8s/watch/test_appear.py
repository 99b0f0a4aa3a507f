from __future__ import annotations

from devops_bench.core.json import JsonObject
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, Snapshot
from devops_bench.k8s.watch.appear import CRD_QUERY, AppearingKinds


def definition(
    *, established: bool = True, uid: str = "u", served: bool = True, scope: str = "Namespaced"
) -> KubeObject:
    names: JsonObject = {
        "plural": "gizmos",
        "singular": "gizmo",
        "kind": "Gizmo",
        "shortNames": ["gz"],
    }
    condition: JsonObject = {"type": "Established", "status": "True" if established else "False"}
    versions: list[JsonObject] = [{"name": "v2", "served": served}, {"name": "v1", "served": True}]
    return KubeObject(
        {
            "metadata": {"name": "gizmos.example.org", "uid": uid},
            "spec": {
                "group": "example.org",
                "scope": scope,
                "names": names,
                "versions": list(versions),
            },
            "status": {"conditions": [condition], "acceptedNames": names},
        }
    )


def view(*objects: KubeObject) -> Snapshot:
    return Snapshot({CRD_QUERY: Matched(objects)})


def test_a_kind_counts_from_when_its_definition_was_first_seen() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    assert kinds.look(view(definition(established=False)), 10) == []
    (found,) = kinds.look(view(definition()), 12)
    assert (found.kind, found.since_rv) == ("gizmo", 10)
    assert (found.resource.resource, found.resource.version) == ("gizmos", "v2")
    assert kinds.waiting() == frozenset()
    assert kinds.look(view(definition()), 13) == []


def test_every_name_that_kubectl_knows_is_found() -> None:
    for word in ("gizmos", "gizmo", "Gizmo", "gz", "gizmos.example.org", "gizmos.v1.example.org"):
        kinds = AppearingKinds(frozenset({word}))
        assert [item.kind for item in kinds.look(view(definition()), 1)] == [word]
    kinds = AppearingKinds(frozenset({"widgets"}))
    assert kinds.look(view(definition()), 1) == []
    assert kinds.waiting() == frozenset({"widgets"})


def test_a_definition_that_was_made_again_counts_anew() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    kinds.look(view(definition(established=False, uid="first")), 5)
    kinds.look(view(), 6)
    (found,) = kinds.look(view(definition(uid="second")), 9)
    assert found.since_rv == 9


def test_a_version_that_is_not_served_is_not_watched() -> None:
    kinds = AppearingKinds(frozenset({"gizmo"}))
    (found,) = kinds.look(view(definition(served=False, scope="Cluster")), 1)
    assert found.resource.version == "v1"
    assert not found.resource.namespaced
