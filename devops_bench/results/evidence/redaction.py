"""What never reaches the disk: the data of Secrets.

Each value becomes an HMAC with a key that exists only in memory and only for one run: within the
run the same value is recognised, and nobody can try out values later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

import orjson

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.secrets import may_mean_secrets
from devops_bench.k8s.view import ResourceQuery
from devops_bench.verification.base import Check, CheckNode, Fields
from devops_bench.verification.combinators import leaves_of

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's copy of the object as it was applied, its data included
(https://kubernetes.io/docs/reference/labels-annotations-taints/)."""

_PREFIX: Final = "hmac-sha256:"
_DIGEST_CHARS: Final = 32
_REDACTED: Final[Fields] = (
    ("data",),
    ("stringData",),
    ("metadata", "annotations", LAST_APPLIED),
)


class Redactor:
    """Replaces the data of Secrets, with a key of its own that nobody else gets."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def object(self, query: ResourceQuery, obj: KubeObject) -> JsonObject:
        """Return an object as it may be written down; nothing in ``obj`` is changed.

        Args:
            query: What found it.
            obj: The object.
        """
        data = obj.data
        if not _asks_for_secrets(query) and not _is_secret(data):
            return data
        redacted = {**data}
        for name in ("data", "stringData"):
            if name in data:
                redacted[name] = self._members(data[name])
        annotations = obj.metadata.get("annotations")
        if isinstance(annotations, dict) and LAST_APPLIED in annotations:
            value = self.value(annotations[LAST_APPLIED])
            redacted["metadata"] = {
                **obj.metadata,
                "annotations": {**annotations, LAST_APPLIED: value},
            }
        return redacted

    def value(self, value: JsonValue) -> str:
        """Return what stands for a value: the same for the same value, for this redactor."""
        text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else _bytes(value)
        digest = hmac.new(self._key, text, hashlib.sha256).hexdigest()
        return f"{_PREFIX}{digest[:_DIGEST_CHARS]}"

    def _members(self, value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            # The keys stay: they name what is there, and are shown by every kubectl describe.
            return {key: self.value(item) for key, item in value.items()}
        return None if value is None else self.value(value)


def reads_redacted(leaf: CheckNode) -> bool:
    """Return whether a leaf reads what is redacted, so that its results have to be kept."""
    if not isinstance(leaf, Check) or not any(map(_asks_for_secrets, leaf.queries())):
        return False
    fields = leaf.fields()
    return fields is None or any(_overlap(path, hidden) for path in fields for hidden in _REDACTED)


def needs_result(node: CheckNode) -> bool:
    """Return whether a tree of checks cannot be judged again from what is written down.

    It cannot where a leaf is a probe, or reads what is redacted.
    """
    return any(not isinstance(leaf, Check) or reads_redacted(leaf) for leaf in leaves_of(node))


def _asks_for_secrets(query: ResourceQuery) -> bool:
    return may_mean_secrets(query.kind)


def _is_secret(data: JsonObject) -> bool:
    return data.get("kind") == "Secret" and data.get("apiVersion") == "v1"


def _overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def _bytes(value: JsonValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
