"""What the API server keeps of an object that it is sent, where it is the same for all. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from devops_bench.core.json import JsonObject, JsonValue


def as_stored(raw: JsonObject, is_open: Callable[[str], bool] = lambda _: False) -> JsonObject:
    """Return an object as the server keeps it, as far as that is the same for all.

    ``stringData`` of a Secret becomes ``data``, base64 is written in one form, empty maps of
    ConfigMaps and Secrets are dropped
    (https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/).

    Args:
        raw: The object, as it is sent.
        is_open: Tells texts that are not known yet, and so stay as they are.
    """
    if raw.get("apiVersion") != "v1" or raw.get("kind") not in ("ConfigMap", "Secret"):
        return raw
    kept = {key: value for key, value in raw.items() if key != "stringData"}
    if raw.get("kind") == "ConfigMap" and isinstance(raw.get("data"), dict):
        kept["data"] = {key: _text(value) for key, value in _map(raw.get("data")).items()}
    if raw.get("kind") == "Secret":
        kept.setdefault("type", "Opaque")
        data = {key: _again(value, is_open) for key, value in _map(raw.get("data")).items()}
        written = _map(raw.get("stringData"))
        data.update({key: _encoded(value, is_open) for key, value in written.items()})
        kept["data"] = data
    return {key: value for key, value in kept.items() if value not in ({}, None)}


def as_base64(text: str) -> str:
    """Return ``text`` as a Secret's ``data`` holds it."""
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def stored_base64(text: str) -> str | None:
    """Return base64 as the server writes it; ``None`` for what it refuses as none.

    It wants the standard alphabet, padded, and passes over line breaks
    (https://pkg.go.dev/encoding/base64#Encoding.Decode).
    """
    joined = text.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(joined, validate=True)).decode()
    except (binascii.Error, ValueError):
        return None


def _map(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _encoded(value: JsonValue, is_open: Callable[[str], bool]) -> JsonValue:
    text = _text(value)
    return as_base64(text) if isinstance(text, str) and not is_open(text) else value


def _again(value: JsonValue, is_open: Callable[[str], bool]) -> JsonValue:
    text = _text(value)
    if not isinstance(text, str) or is_open(text):
        return value
    stored = stored_base64(text)
    return value if stored is None else stored  # the server refuses the object


def _text(value: JsonValue) -> JsonValue:
    """Return the empty text for ``null``, which is what the server makes of it in a map."""
    return "" if value is None else value
