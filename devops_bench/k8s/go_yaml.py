"""YAML and JSON as Go's ``sigs.k8s.io/yaml`` reads them.

That is YAML 1.1 with Go's own idea of numbers (measured with kubectl 1.36): ``yes`` and ``on`` are
booleans and ``0017`` is 15, but ``1:30`` and ``2020-01-01`` are text; a merge (``<<``) overwrites
the keys before it; of duplicate keys the last one stays. PyYAML's own resolver differs in several
of these and is not used.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NoReturn

import yaml

from devops_bench.core.json import DuplicateKeyError, JsonObject, JsonValue, unique_keys
from devops_bench.core.lines import Lines

MAX_NODES: Final = 500_000
"""More values than this in one document, aliases expanded, are refused."""

MAX_DEPTH: Final = 200
"""Deeper nesting than this is refused; an alias to what it stands in never ends."""

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = "!plain"
_STYLE_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGERS: Final = (
    (re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"([-+]?)0[bB]([01]+)"), 2),
    (re.compile(r"([-+]?)0[oO]?([0-7]+)"), 8),
    (re.compile(r"([-+]?)(0|[1-9][0-9]*)"), 10),
)
_MAX_DIGITS: Final = 64
_MOST_SHOWN: Final = 80
_MAX_FLOAT32: Final = 3.4028234663852886e38


def _words(*words: str) -> tuple[str, ...]:
    return tuple(form for word in words for form in (word, word.capitalize(), word.upper()))


_CONSTANTS: Final[dict[str, bool | float | None]] = {
    **dict.fromkeys(_words("y", "yes", "true", "on"), True),
    **dict.fromkeys(_words("n", "no", "false", "off"), False),
    **dict.fromkeys(("", "~", *_words("null")), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((f"{sign}{word}" for sign in ("", "+") for word in _words(".inf")), math.inf),
    **dict.fromkeys((".Inf", "+.Inf"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


class DocumentError(Exception):
    """A text is not what Go would read.

    Args:
        message: What is wrong.
        line: 1-based.
        column: 1-based.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text.

    Attributes:
        value: The JSON that Go makes of it; ``None`` for an empty document.
        line: Where it starts, 1-based.
        column: Where it starts, 1-based.
    """

    value: JsonValue
    line: int
    column: int


class _Loader(yaml.CSafeLoader):
    """Parses and composes only; every plain scalar keeps a tag that says so."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {  # noqa: RUF012
        None: [(_PLAIN, re.compile(r".*", re.DOTALL))]
    }


def read_documents(text: str, *, unique: bool = False) -> list[Document]:
    """Read every document of ``text``.

    Args:
        text: YAML (several documents are separated by ``---``), or JSON objects one after another.
        unique: Whether a key that stands twice in one mapping is refused, which Go does not.

    Returns:
        The documents in their order, empty ones included.

    Raises:
        DocumentError: The text is not valid, holds what JSON cannot (a list as a key, ``.inf``), or
            goes past :data:`MAX_NODES` or :data:`MAX_DEPTH`.
    """
    if text.lstrip().startswith("{"):
        try:
            return list(_json_documents(text, unique=unique))
        except (ValueError, RecursionError):
            # A flow mapping looks like JSON; if it is neither, YAML's message is as good.
            pass
    lines = Lines(text.removeprefix("\ufeff"))  # the reader does not count a byte order mark
    try:
        return [
            Document(_Converter(unique).value(node), *lines.place(node.start_mark.index))
            for node in yaml.compose_all(text, Loader=_Loader)
        ]
    except _NodeError as exc:
        raise DocumentError(exc.message, *lines.place(exc.index)) from None
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        place = lines.place(mark.index) if mark is not None else (0, 0)
        raise DocumentError(exc.problem or "this is not YAML", *place) from None
    except (yaml.YAMLError, RecursionError) as exc:
        raise DocumentError(f"this is not YAML: {exc}", 0, 0) from None


def _json_documents(text: str, *, unique: bool) -> Iterator[Document]:
    decoder = json.JSONDecoder(
        object_pairs_hook=unique_keys if unique else dict,
        parse_float=lambda number: _json_number(float(number)),
        parse_int=lambda number: _json_number(_int(number, 10)),
        parse_constant=_no_constant,
    )
    lines = Lines(text)
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        line, column = lines.place(position)
        try:
            value, position = decoder.raw_decode(text, position)
        except DuplicateKeyError as exc:
            raise DocumentError(f"the key {exc}", line, column) from None
        yield Document(value, line, column)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


class _Converter:
    """Turns the nodes of one document into JSON."""

    def __init__(self, unique: bool = False) -> None:
        self._nodes = 0
        self._unique = unique

    def value(self, node: yaml.Node) -> JsonValue:
        return self._value(node, 0)

    def _value(self, node: yaml.Node, depth: int) -> JsonValue:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            _fail(node, f"more than {MAX_NODES} values (aliases count each time)")
        if depth > MAX_DEPTH:
            _fail(node, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, depth + 1) for item in node.value]
        if not isinstance(node, yaml.ScalarNode):
            raise TypeError(f"a node of YAML of an unknown kind: {node!r}")
        value = _scalar(node)
        if isinstance(value, float) and not math.isfinite(value):
            _fail(node, f"{node.value} is a number that JSON does not have")
        return _json_number(value) if isinstance(value, int | float) else value

    def _mapping(self, node: yaml.MappingNode, depth: int) -> JsonObject:
        result: JsonObject = {}
        written: set[str] = set()
        for key_node, value_node in node.value:
            if key_node.tag in (_PLAIN, f"{_TAG}merge") and key_node.value == "<<":
                result.update(self._merged(value_node, depth))
            else:
                key = _key(key_node)
                if self._unique and key in written:
                    _fail(key_node, f"the key {key[:_MOST_SHOWN]!r} is there twice")
                written.add(key)
                result[key] = self._value(value_node, depth + 1)
        return result

    def _merged(self, node: yaml.Node, depth: int) -> JsonObject:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: JsonObject = {}
        # Of several the first wins.
        for source in reversed(sources):
            value = self._value(source, depth + 1)
            if not isinstance(value, dict):
                _fail(source, "a merge (<<) needs a mapping or a list of mappings")
            result.update(value)
        return result


def _key(node: yaml.Node) -> str:
    """Return the text that Go makes of a key: ``yes`` becomes ``true``."""
    value = _scalar(node) if isinstance(node, yaml.ScalarNode) else None
    if value is None:
        _fail(node, "a key that is null, a list or a mapping is not possible in JSON")
    if isinstance(value, bool):
        return "true" if value else "false"
    return _go_float(value) if isinstance(value, float) else str(value)


def _scalar(node: yaml.ScalarNode) -> bool | int | float | str | None:
    text: str = node.value
    tag = node.tag
    if tag == _PLAIN:
        return _resolved(text)
    if tag == f"{_TAG}binary":
        try:
            return base64.b64decode(text.replace("\n", ""), validate=True).decode(
                "utf-8", "replace"
            )
        except binascii.Error:
            _fail(node, "!!binary needs base64")
    kinds = {"int": int, "float": float, "bool": bool, "null": type(None)}
    wanted = kinds.get(tag.removeprefix(_TAG)) if tag.startswith(_TAG) else None
    if wanted is None:
        # Text, a quoted scalar, or a tag that Go does not know either and ignores.
        return text
    value = _resolved(text)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        _fail(node, f"{text!r} is not a {tag.removeprefix(_TAG)}")
    return value


def _resolved(text: str) -> bool | int | float | str | None:
    """Resolve a plain scalar by the rules of go-yaml's ``resolve.go``."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    first = text[0]
    if first == ".":
        plain = text
    elif first in "+-0123456789":
        plain = text.replace("_", "")
        for pattern, base in _INTEGERS:
            if match := pattern.fullmatch(plain):
                number = _int(match[1] + match[2], base)
                if -(2**63) <= number < 2**63 or (not match[1] and number < 2**64):
                    return number
    else:
        return text
    if _STYLE_FLOAT.fullmatch(plain):
        number_or_inf = float(plain)
        if math.isfinite(number_or_inf):
            return number_or_inf
    return text


def _int(digits: str, base: int) -> int:
    # Python refuses thousands of digits with a ValueError; past 64 bits only the size counts.
    if base == 10 and len(digits) > _MAX_DIGITS:
        return int(Decimal(digits[: _MAX_DIGITS + 1]))
    return int(digits, base)


def _json_number(value: float) -> int | float:
    """Return the number as it is after Go's detour through JSON text: integers where they fit."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def _go_float(value: float) -> str:
    """Format as ``strconv.FormatFloat(value, 'g', -1, 32)``, which is what keys become."""
    if math.isnan(value):
        return ".nan"
    infinite = math.isinf(value) or abs(value) > _MAX_FLOAT32
    if infinite:
        return ".inf" if value > 0 else "-.inf"
    single = struct.unpack("f", struct.pack("f", value))[0]
    precision = 0
    while struct.unpack("f", struct.pack("f", float(f"{single:.{precision}e}")))[0] != single:
        precision += 1
    scientific = f"{single:.{precision}e}"
    exponent = int(scientific.partition("e")[2])
    return f"{Decimal(scientific):f}" if -4 <= exponent < 6 else scientific


class _NodeError(Exception):
    """A node that is refused, by the index of its first character."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.message, self.index = message, index


def _fail(node: yaml.Node, message: str) -> NoReturn:
    raise _NodeError(message, node.start_mark.index)
