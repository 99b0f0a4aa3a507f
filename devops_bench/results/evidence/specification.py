"""The entries of a spec as they are written down, and read back.

What a spec compares a Secret's data with is as secret as the data. Only a slow salted digest of it
is written, which tells whether another spec says the same.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

import orjson

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.results.evidence.redaction import reads_redacted
from devops_bench.verification.base import CheckNode
from devops_bench.verification.combinators import leaves_of
from devops_bench.verification.spec import VerificationEntry
from devops_bench.verification.tree import Combinator
from devops_bench.verification.values import ORDERING_OPS

_SEALED: Final = "devops-bench/sealed:"
_COST: Final = 1 << 14
"""scrypt's N: about 50 ms and 16 MiB a guess (https://www.rfc-editor.org/rfc/rfc7914)."""


def entry_as_json(entry: VerificationEntry) -> JsonObject:
    """Return an entry as it is written down: what the spec said, variables replaced."""
    dumped: JsonObject = entry.model_dump(mode="json", exclude_unset=True, exclude={"check"})
    return {**dumped, "check": check_as_json(entry.check)}


def check_as_json(node: CheckNode) -> JsonObject:
    """Return a tree of checks as it is written down."""
    if isinstance(node, Combinator):
        dumped: JsonObject = node.model_dump(mode="json", exclude_unset=True, exclude={"checks"})
        return {**dumped, "type": node.type, "checks": [check_as_json(one) for one in node.checks]}
    dumped = node.model_dump(mode="json", exclude_unset=True)
    dumped["type"] = node.type
    # A bound is not the data, and has to stay a quantity.
    compared = dumped.get("value") is not None and dumped.get("op") not in ORDERING_OPS
    if compared and reads_redacted(node):
        dumped["value"] = _sealed(dumped["value"], secrets.token_hex(16))
    return dumped


def says_the_same(recorded: JsonValue, node: CheckNode) -> bool:
    """Return whether a check is the one that was written down."""
    return isinstance(recorded, dict) and _same(recorded, node)


def _same(recorded: JsonObject, node: CheckNode) -> bool:
    if isinstance(node, Combinator):
        children = recorded.get("checks")
        if not isinstance(children, list) or len(children) != len(node.checks):
            return False
        if not all(says_the_same(old, new) for old, new in zip(children, node.checks, strict=True)):
            return False
        own: JsonObject = node.model_dump(mode="json", exclude_unset=True, exclude={"checks"})
        return {**own, "type": node.type} == _without(recorded, "checks")
    new: JsonObject = {**node.model_dump(mode="json", exclude_unset=True), "type": node.type}
    old_value, new_value = recorded.get("value"), new.get("value")
    if isinstance(old_value, str) and old_value.startswith(_SEALED) and new_value is not None:
        salt = old_value.removeprefix(_SEALED).partition(":")[0]
        same = old_value == new_value or hmac.compare_digest(old_value, _sealed(new_value, salt))
        return same and _without(new, "value") == _without(recorded, "value")
    return new == recorded


def sealed_leaves(node: CheckNode) -> list[CheckNode]:
    """Return the leaves whose value was sealed: only their recorded results tell anything."""
    return [leaf for leaf in leaves_of(node) if _is_sealed(getattr(leaf, "value", None))]


def _is_sealed(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_SEALED)


def _sealed(value: JsonValue, salt: str) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.scrypt(text, salt=salt.encode(), n=_COST, r=8, p=1, dklen=16)
    return f"{_SEALED}{salt}:{digest.hex()}"


def _without(value: JsonObject, name: str) -> JsonObject:
    return {key: item for key, item in value.items() if key != name}
