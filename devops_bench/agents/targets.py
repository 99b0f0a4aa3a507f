"""The setup's objects as generic mutants see them: how kubectl names and changes each."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from devops_bench.core.json import JsonObject, JsonValue

SCALABLE: Final = ("Deployment", "ReplicaSet", "StatefulSet")
"""Kinds of workloads with ``spec.replicas``."""
WORKLOADS: Final = (*SCALABLE, "DaemonSet")
"""Kinds that keep pods by a label selector and a template."""

DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class Target:
    """One object of the setup.

    Attributes:
        kind: Its kind.
        api_version: Its API version.
        namespace: Its namespace; ``default`` when it names none, also for kinds without one, where
            kubectl passes over it.
        name: Its name.
        raw: The object as the setup has it.
    """

    kind: str
    api_version: str
    namespace: str
    name: str
    raw: JsonObject

    @property
    def label(self) -> str:
        """Return kind and name, as a reader knows it."""
        return f"{self.kind}/{self.name}"

    @property
    def argument(self) -> str:
        """Return how kubectl is given it: ``kind.group/name``, quoted for a shell.

        Without the version, since the work may be to take that one away.
        """
        group = self.api_version.rpartition("/")[0]
        kind = f"{self.kind}.{group}" if group else self.kind
        return shlex.quote(f"{kind}/{self.name}")

    def kubectl(self, words: str) -> str:
        """Return a command line of kubectl in the object's namespace; ``words`` are quoted."""
        return f"kubectl --namespace {shlex.quote(self.namespace)} {words}"

    def patch(self, how: str, value: JsonValue, *more: str) -> str:
        """Return the command that patches it.

        Args:
            how: ``json`` or ``merge``.
            value: The patch.
            more: Further words.
        """
        words = [f"patch {self.argument} --type={how}", *more]
        return self.kubectl(f"{' '.join(words)} --patch {shlex.quote(json.dumps(value))}")

    def at(self, *keys: str) -> JsonValue:
        """Return the value in the setup's object, ``None`` when there is none."""
        value: JsonValue = self.raw
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def texts(self, *keys: str) -> dict[str, str]:
        """Return the texts of a mapping in the setup's object, empty when there is none."""
        value = self.at(*keys)
        if not isinstance(value, dict):
            return {}
        return {key: text for key, text in value.items() if isinstance(text, str)}

    @property
    def pod_labels(self) -> dict[str, str]:
        """Return the labels by which a workload knows its pods, empty for other kinds."""
        return self.texts("spec", "selector", "matchLabels") if self.kind in WORKLOADS else {}


def targets_of(objects: Iterable[JsonObject]) -> tuple[Target, ...]:
    """Return the objects that have a fixed name; those of ``generateName`` cannot be known."""
    targets: list[Target] = []
    for raw in objects:
        metadata = raw.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        name, namespace = fields.get("name"), fields.get("namespace")
        kind, version = raw.get("kind"), raw.get("apiVersion")
        if isinstance(name, str) and isinstance(kind, str) and isinstance(version, str):
            where = namespace if isinstance(namespace, str) else DEFAULT_NAMESPACE
            targets.append(Target(kind, version, where, name, raw))
    return tuple(targets)


def pointer(*keys: str) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in keys)
