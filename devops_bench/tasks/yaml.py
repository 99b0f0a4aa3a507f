"""Strict YAML with positions: one document, JSON's values, nothing that two readers read twice.

libyaml composes the nodes (a pure parser takes ten times as long), and the values are built here
from the nodes, so that every fault has its place and all of them are found at once. Refused are
duplicate keys, keys that are not text, tags, merge keys, recursive aliases, a second document,
every plain scalar of which :mod:`devops_bench.tasks.scalars` says so, and whatever passes a bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from yaml import MappingNode, MarkedYAMLError, Node, ScalarNode, SequenceNode, YAMLError
from yaml._yaml import CParser

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.json import JsonValue
from devops_bench.core.lines import Lines
from devops_bench.tasks import rule_ids
from devops_bench.tasks.scalars import ScalarFault, quoted, read_plain

if TYPE_CHECKING:
    from yaml.error import Mark

MAX_FILE_BYTES: Final = 1024 * 1024
"""A file of more bytes is refused unread."""
MAX_DEPTH: Final = 64
"""Mappings and sequences may stand this deep in one another."""
MAX_VALUES: Final = 100_000
"""A document may hold this many values, those that aliases repeat counted each time."""

DocPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and indexes from the root to a value."""

_NOT_PRINTABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that YAML forbids (https://yaml.org/spec/1.2.2/#51-character-set)."""
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN: Final[object] = ("plain",)
_UNTAGGED: Final[object] = ("untagged",)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file.

    Attributes:
        line: 1-based.
        column: 1-based, in characters.
    """

    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read, with the places of its values.

    Attributes:
        value: The document as JSON; where something was refused, ``None`` or its text stands.
        root: The composed nodes, ``None`` for an empty document.
        lines: The lines of its text, for the marks of the nodes.
    """

    value: JsonValue = None
    root: Node | None = field(default=None, repr=False)
    lines: Lines = field(default_factory=lambda: Lines(""), repr=False, compare=False)
    _below: dict[int, dict[str | int, tuple[Node | None, Node]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def place(self, path: Sequence[str | int], *, key: bool = False) -> Place:
        """Return where the value at ``path`` begins.

        Args:
            path: Keys and indexes; where the document ends earlier, the last value that is there.
            key: Return the place of the last key instead, where the value has one.
        """
        if self.root is None:
            return Place(1, 1)
        node, label = self.root, None
        for part in path:
            found = self._children(node).get(part)
            if found is None:
                return _place(self.lines, node.start_mark)
            label, node = found
        return _place(
            self.lines, label.start_mark if key and label is not None else node.start_mark
        )

    def _children(self, node: Node) -> dict[str | int, tuple[Node | None, Node]]:
        """Return what is below ``node``, with the nodes of keys; made once per node."""
        found = self._below.get(id(node))
        if found is None:
            found = self._below[id(node)] = _children(node)
        return found


def read_text(file: Path) -> tuple[str, list[Diagnostic]]:
    """Return the text of ``file`` and what keeps it from being YAML.

    Raises:
        OSError: It cannot be opened or read, or is not a regular file.
    """
    if not file.is_file():
        file.stat()  # says why, when it is not there at all
        raise OSError(f"{file} is not a regular file")
    with file.open("rb") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    return decode(data, file)


def decode(
    data: bytes, file: Path | None = None, *, limit: int = MAX_FILE_BYTES
) -> tuple[str, list[Diagnostic]]:
    """Return ``data`` as text (a byte order mark is dropped) and what is wrong with it.

    Args:
        data: The file, or so much of it that it is longer than ``limit``.
        file: For the diagnostics.
        limit: Bytes that it may have.
    """
    if len(data) > limit:
        message = f"the file is larger than {limit} bytes"
        hint = "move what is long into files of its own"
        return "", [Diagnostic(message, hint, file, rule=rule_ids.NOT_YAML)]
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), []
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode("utf-8").removeprefix("\ufeff")
        place = Place(*Lines(before).place(len(before)))
        message = f"byte 0x{data[exc.start]:02x} is not UTF-8"
        return "", [_unreadable(message, "save the file as UTF-8", file, place)]


def parse(text: str, file: Path | None = None) -> tuple[Document | None, list[Diagnostic]]:
    """Read one YAML document.

    Args:
        text: The whole text of the file.
        file: For the diagnostics.

    Returns:
        The document, ``None`` when its syntax keeps it from being read, and every fault in the
        order of the text. With a fault the document is only good for finding more of them.
    """
    lines = Lines(text)
    match = _NOT_PRINTABLE.search(text)
    if match is not None:
        place = Place(*lines.place(match.start()))
        message = f"the character U+{ord(match[0]):04X} is not allowed in YAML"
        hint = f'remove it, or write "\\u{ord(match[0]):04X}" in double quotes'
        return None, [_unreadable(message, hint, file, place)]
    composer = _Composer(text)
    try:
        root = composer.get_node() if composer.check_node() else None
        more = composer.get_node() if root is not None and composer.check_node() else None
    except _BoundError as exc:
        place = _place(lines, exc.mark)
        return None, [_unreadable(exc.message, exc.hint, file, place)]
    except YAMLError as exc:
        return None, [_syntax_error(exc, file, lines)]
    finally:
        composer.dispose()
    if root is None:
        return None, [_unreadable("the file holds no YAML document", "", file, Place(1, 1))]
    builder = _Builder(file, lines)
    document = Document(builder.build(root), root, lines)
    if more is not None:
        builder.fault(more.start_mark, "a second YAML document begins here", "keep one per file")
    once = {(found.line, found.column, found.message): found for found in builder.diagnostics}
    return document, sorted(once.values(), key=lambda found: (found.line, found.column))


def format_path(path: Sequence[str | int]) -> str:
    """Return ``path`` as people write it: ``verification_spec[2].check.op``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text


class _BoundError(Exception):
    """A bound was passed while the nodes were composed."""

    def __init__(self, mark: Mark, message: str, hint: str) -> None:
        super().__init__(message)
        self.mark, self.message, self.hint = mark, message, hint


class _Composer(CParser):
    """libyaml's composer; marks which scalars are plain, and stops at the bounds."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0

    def resolve(self, kind: type[Node], _value: object, implicit: object) -> object:
        """Return the tag of a node without one; not a string, so that no tag can pretend it."""
        is_plain = kind is ScalarNode and isinstance(implicit, tuple) and bool(implicit[0])
        return _PLAIN if is_plain else _UNTAGGED

    def descend_resolver(self, parent: Node | None, _index: object) -> None:
        """Count; libyaml calls this before it composes a node."""
        self._depth += 1
        self._nodes += 1
        if parent is None:
            return
        if self._depth > MAX_DEPTH + 1:
            message = f"values stand more than {MAX_DEPTH} deep in one another"
            raise _BoundError(parent.start_mark, message, "flatten the document")
        if self._nodes > MAX_VALUES:
            message = f"the document holds more than {MAX_VALUES} values"
            raise _BoundError(parent.start_mark, message, "split it")

    def ascend_resolver(self) -> None:
        """Leave the node."""
        self._depth -= 1


class _Builder:
    """Builds JSON from nodes and collects every fault."""

    def __init__(self, file: Path | None, lines: Lines) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._file = file
        self._lines = lines
        self._path: list[str | int] = []
        self._open: set[int] = set()
        self._values = 0
        self._exploded = False

    def fault(
        self, mark: Mark, message: str, hint: str = "", rule: str = rule_ids.NOT_YAML
    ) -> None:
        """Add an error at ``mark``."""
        place = _place(self._lines, mark)
        path = format_path(self._path)
        self.diagnostics.append(
            Diagnostic(message, hint, self._file, place.line, place.column, path, rule=rule)
        )

    def build(self, node: Node) -> JsonValue:
        """Return the value of ``node``."""
        if self._exploded:
            return None
        self._values += 1
        if self._values > MAX_VALUES:
            self._exploded = True
            message = f"aliases make the document larger than {MAX_VALUES} values"
            self.fault(node.start_mark, message, "write out what is needed")
            return None
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        self._refuse_tag(node)
        if id(node) in self._open:
            self.fault(node.start_mark, "an alias stands inside of its own anchor")
            return None
        if len(self._open) >= MAX_DEPTH:
            message = f"aliases put values more than {MAX_DEPTH} deep in one another"
            self.fault(node.start_mark, message, "write out what is needed")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node)
            return self._sequence(node)
        finally:
            self._open.discard(id(node))

    def _sequence(self, node: Node) -> JsonValue:
        items: list[JsonValue] = []
        for index, child in enumerate(node.value):
            self._path.append(index)
            items.append(self.build(child))
            self._path.pop()
        return items

    def _mapping(self, node: Node) -> JsonValue:
        result: dict[str, JsonValue] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            self._path.append(key)
            if key in result:
                message = f"the key {key!r} is there twice (first on line {first[key]})"
                self.fault(key_node.start_mark, message, "keep one of them", rule_ids.DUPLICATE_KEY)
            else:
                first[key] = _place(self._lines, key_node.start_mark).line
                result[key] = self.build(value_node)
            self._path.pop()
        return result

    def _key(self, node: Node) -> str | None:
        if not isinstance(node, ScalarNode):
            self.fault(node.start_mark, "a key must be text, not a mapping or a sequence")
            return None
        before = len(self.diagnostics)
        key = self._scalar(node)
        if len(self.diagnostics) > before:
            return None
        if not isinstance(key, str):
            hint = f"put it in quotes: {quoted(node.value)}"
            self.fault(node.start_mark, f"a key must be text, not {node.value or 'null'}", hint)
            return None
        return key

    def _scalar(self, node: Node) -> bool | int | float | str | None:
        text: str = node.value
        if node.tag is not _PLAIN:
            self._refuse_tag(node)
            return text
        value = read_plain(text)
        if isinstance(value, ScalarFault):
            self.fault(node.start_mark, value.message, value.hint, rule_ids.AMBIGUOUS_SCALAR)
            return text
        return value

    def _refuse_tag(self, node: Node) -> None:
        if node.tag is _UNTAGGED or (node.tag == _TEXT_TAG and isinstance(node, ScalarNode)):
            return
        message = f"the tag {node.tag!r} is not allowed"
        self.fault(node.start_mark, message, "leave it out; quotes make a scalar text")


def _children(node: Node) -> dict[str | int, tuple[Node | None, Node]]:
    if isinstance(node, MappingNode):
        children: dict[str | int, tuple[Node | None, Node]] = {}
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                children.setdefault(key.value, (key, value))  # of two, the first one was read
        return children
    if isinstance(node, SequenceNode):
        return {index: (None, child) for index, child in enumerate(node.value)}
    return {}


def _syntax_error(exc: YAMLError, file: Path | None, lines: Lines) -> Diagnostic:
    if not isinstance(exc, MarkedYAMLError):
        return _unreadable(f"this is not YAML: {exc}", "", file, Place())
    mark = exc.problem_mark or exc.context_mark
    place = _place(lines, mark) if mark is not None else Place()
    parts = [part for part in (exc.problem, exc.context) if part]
    message = "this is not YAML: " + ", ".join(parts)
    began = _place(lines, exc.context_mark).line if exc.context_mark is not None else place.line
    hint = f"what is read here began on line {began}" if began != place.line else ""
    return _unreadable(message, hint, file, place)


def _unreadable(message: str, hint: str, file: Path | None, place: Place) -> Diagnostic:
    return Diagnostic(message, hint, file, place.line, place.column, rule=rule_ids.NOT_YAML)


def _place(lines: Lines, mark: Mark) -> Place:
    return Place(*lines.place(mark.index))
