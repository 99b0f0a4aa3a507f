"""Text that no encoding can hold, made such that every reader takes it. Pure."""

from __future__ import annotations

import re
from typing import Final

from devops_bench.core.json import JsonValue

_HALF: Final = re.compile("[\ud800-\udfff]")
_FIRST_BYTE: Final = 0xDC80
_LAST_BYTE: Final = 0xDCFF


def encodable(text: str) -> str:
    r"""Return text without halves of surrogate pairs, which no UTF holds.

    A name of a file that is not UTF-8 has one for each byte that does not fit
    (https://peps.python.org/pep-0383/): it is spelled as that byte, ``\xff``; any other half as
    ``\ud800``.
    """
    return _HALF.sub(_spelled, text)


def encodable_json(value: JsonValue) -> JsonValue:
    """Return JSON whose every text and key is :func:`encodable` (RFC 8259, section 8.2)."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [encodable_json(one) for one in value]
    if isinstance(value, dict):
        return {encodable(key): encodable_json(one) for key, one in value.items()}
    return value


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}"
