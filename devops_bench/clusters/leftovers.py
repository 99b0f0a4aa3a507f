"""What a run that was killed leaves behind on a cluster that is not a plane of ours.

While a run is at work its private folder says on which cluster, and names every object that it
created. Whoever finds the folder abandoned tells the user: only the user's own kubeconfig reaches
the cluster, so nothing on it is removed here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from devops_bench.core.containers import remove_abandoned
from devops_bench.core.files import AppendOnlyLog, read_log
from devops_bench.core.json import JsonObject
from devops_bench.core.runtime import Abandoned, abandoned, remove_tree

if TYPE_CHECKING:  # it brings what `--help` must not pay for
    from devops_bench.k8s.delete import CreatedObject

OBJECTS_FILE: Final = "objects.jsonl"

KIND_CLUSTER: Final = "kind_cluster"
"""The note with the name of a kind cluster."""
CONTEXT: Final = "context"
"""The note with the context of an existing cluster."""
KUBECONFIG: Final = "kubeconfig"
"""The note with the user's own kubeconfig, empty for the default files."""


class ObjectRecord:
    """The objects of a run, on the disk as they are created.

    Args:
        folder: The run's private folder.

    Raises:
        OSError: The file could not be made.
    """

    def __init__(self, folder: Path) -> None:
        self._log = AppendOnlyLog(folder / OBJECTS_FILE, mode=0o600)

    def planned(self, obj: CreatedObject) -> None:
        """Record that the object is being created; it has no uid yet."""
        self._append(obj)

    def created(self, obj: CreatedObject) -> None:
        """Record that the object was created."""
        self._append(obj)

    def settled(self) -> None:
        """Record that nothing is being created any more."""
        self._log.append({})

    def difference(self) -> str:
        """Return what others did to the file; empty for nothing."""
        return self._log.difference()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._log.close()

    def _append(self, obj: CreatedObject) -> None:
        record: JsonObject = {
            "resource": _resource(obj),
            "namespace": obj.namespace,
            "name": obj.name,
            "uid": obj.uid,
        }
        self._log.append(record)


def sweep() -> list[str]:
    """Remove every abandoned folder; returns a line for each thing that the user should know."""
    lines: list[str] = []
    for left in abandoned():
        lines += _told(left)
        remove_tree(left.folder)
    return lines


def _told(left: Abandoned) -> Iterator[str]:
    yield f"{left.what} of a run that was killed was left over from {left.created}: removed"
    yield from remove_abandoned(left.notes)
    if name := left.notes.get(KIND_CLUSTER):
        yield (
            f"the kind cluster {name} of that run may still be there: "
            f"`kind delete cluster --name {shlex.quote(name)}` removes it"
        )
    try:
        records = read_log(left.folder / OBJECTS_FILE)
    except OSError:
        return  # it created nothing
    created = [record for record in records if record.get("uid")]
    kubectl = _kubectl(left.notes)
    if created:
        yield (
            f"{len(created)} objects of that run may still be on the cluster of context "
            f"{left.notes.get(CONTEXT)!r}; once you have looked at them, this removes them:"
        )
        yield from (f"  {kubectl} {words}" for words in _deletions(created))
    if records and records[-1].get("resource") and not records[-1].get("uid"):
        yield "one more was being created, and may be there (or have been there before):"
        yield from (f"  {kubectl} {words}" for words in _commands("get", records[-1:]))


def _kubectl(notes: Mapping[str, str]) -> str:
    words = ["kubectl"]
    if file := notes.get(KUBECONFIG):
        words += ["--kubeconfig", file]
    return shlex.join([*words, "--context", notes.get(CONTEXT, "")])


def _deletions(records: Sequence[JsonObject]) -> Iterator[str]:
    """Yield the deletions, what is in namespaces first, one per namespace."""
    yield from _commands("delete", [one for one in records if one.get("namespace")])
    yield from _commands("delete", [one for one in records if not one.get("namespace")])


def _commands(verb: str, records: Sequence[JsonObject]) -> Iterator[str]:
    by_namespace: dict[str, list[str]] = {}
    for record in reversed(records):
        name = f"{record.get('resource')}/{record.get('name')}"
        by_namespace.setdefault(str(record.get("namespace")), []).append(name)
    for namespace, names in by_namespace.items():
        place = ["-n", namespace] if namespace else []
        yield shlex.join([verb, *place, *names])


def _resource(obj: CreatedObject) -> str:
    """Return the resource as kubectl takes it: ``deployments.apps``."""
    resource = obj.path.split("/")[-2]
    group = obj.api_version.rpartition("/")[0]
    return f"{resource}.{group}" if group else resource
