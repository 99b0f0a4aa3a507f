"""The entries of a spec as they are written down, and read back.

What a spec compares a Secret's data with is as secret as the data. Only a slow salted digest of it
is written, which tells whether another spec says the same.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

import orjson

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.results.evidence.redaction import reads_redacted
from devops_bench.verification.base import CheckNode
from devops_bench.verification.path_words import compares, named
from devops_bench.verification.paths import parse_path
from devops_bench.verification.spec import VerificationEntry
from devops_bench.verification.tree import Combinator
from devops_bench.verification.values import ORDERING_OPS

_SEALED: Final = "devops-bench/sealed:"
_SEAL: Final = re.compile(re.escape(_SEALED) + r"(?P<salt>[0-9a-f]{32}):[0-9a-f]{32}")
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
    text = dumped.get("path")
    if isinstance(text, str) and reads_redacted(node) and compares(path := parse_path(text)):
        # It has to be a path again that begins with the same names; its answers are recorded.
        seal = _sealed(text, secrets.token_hex(16))
        dumped["path"] = f"{named(path.leading_names)}[?(@ == '{seal}')]"
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
    return new.keys() == recorded.keys() and all(
        _same_field(recorded[field], value) for field, value in new.items()
    )


def _same_field(old: JsonValue, new: JsonValue) -> bool:
    seal = _SEAL.search(old) if isinstance(old, str) else None
    if old == new or seal is None:
        return old == new
    return hmac.compare_digest(seal[0], _sealed(new, seal["salt"]))


def _sealed(value: JsonValue, salt: str) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.scrypt(text, salt=salt.encode(), n=_COST, r=8, p=1, dklen=16)
    return f"{_SEALED}{salt}:{digest.hex()}"


def _without(value: JsonObject, name: str) -> JsonObject:
    return {key: item for key, item in value.items() if key != name}
