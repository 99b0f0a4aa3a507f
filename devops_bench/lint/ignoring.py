"""``# devops-bench: ignore[DB203] reason``: findings that a spec's author has seen and means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from yaml import MappingNode, Node, ScalarNode

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.lines import LINE_BREAK, Lines
from devops_bench.lint.model import RULES, closest_rule
from devops_bench.lint.rules.comments import MALFORMED_IGNORE, UNUSED_IGNORE
from devops_bench.tasks.yaml import Document

_MARK: Final = "devops-bench"
_COMMENT: Final = re.compile(
    r"(?:^|(?<=\s))#\s*devops-bench(?:(?P<colon>\s*:)\s*|[\s,;-]+(?=ignore\s*\[))(?P<rest>.*)$"
)
_IGNORE: Final = re.compile(r"ignore\[(?P<ids>[^\]]*)\]\s*(?P<reason>.*)$")


@dataclass(slots=True)
class Ignore:
    """One comment.

    Attributes:
        line: Where it stands, 1-based.
        column: Of its ``#``, 1-based.
        target: The line whose findings it ignores.
        ids: The rules that it names.
        fault: Why it ignores nothing; empty when it does.
        right: What would be right instead.
        used: Those of the rules that found something there.
    """

    line: int
    column: int
    target: int
    ids: tuple[str, ...] = ()
    fault: str = ""
    right: str = "write # devops-bench: ignore[DB203] and a reason"
    used: set[str] = field(default_factory=set)


def read_ignores(text: str, document: Document) -> list[Ignore]:
    """Return every comment to us in ``text``; what looks like one within a value is none."""
    if _MARK not in text:
        return []
    lines = LINE_BREAK.split(text)
    inside = list(_marked_scalars(document.root, document.lines))
    found = []
    for number, line in enumerate(lines, start=1):
        match = _COMMENT.search(line) if _MARK in line else None
        if match is None or any(_within((number, match.start() + 1), span) for span in inside):
            continue
        alone = not line[: match.start()].strip()
        target = _next_line(lines, number) if alone else number
        ignore = Ignore(number, match.start() + 1, target)
        if match["colon"] is None:
            ignore.fault = "a colon belongs after devops-bench"
        else:
            _read(ignore, match["rest"].strip())
        found.append(ignore)
    return found


def _read(ignore: Ignore, rest: str) -> None:
    match = _IGNORE.match(rest)
    ids = [one.strip() for one in match["ids"].split(",")] if match is not None else []
    if match is None or not all(ids):
        ignore.fault = f"{rest[:60]!r} is not known here"
    elif unknown := [one for one in ids if one not in RULES]:
        ignore.fault = f"there is no rule {unknown[0]!r}"
        ignore.right = _known_rule(unknown[0])
    elif fixed := [one for one in ids if RULES[one].is_load_error]:
        ignore.fault = f"{fixed[0]} keeps the spec from running and cannot be ignored"
        ignore.right = "mend what it finds, and remove the comment"
    elif not match["reason"].strip():
        ignore.fault = "there is no reason for the reader"
    else:
        ignore.ids = tuple(ids)


def _known_rule(text: str) -> str:
    """Return what to write instead of an id that there is not."""
    begins = sorted(one for one in RULES if text and one.startswith(text.upper()))
    if len(begins) > 1:
        return f"a comment names each rule whole: {', '.join(begins)}"
    close = begins[0] if begins else closest_rule(text)
    known = "devops-bench lint --explain all lists the rules"
    return f"did you mean {close}?" if close is not None else known


def without_ignored(
    found: Iterable[Diagnostic], ignores: Sequence[Ignore]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return what no comment ignores, and what one does; the comments note that they were used."""
    kept: list[Diagnostic] = []
    ignored: list[Diagnostic] = []
    for one in found:
        hits = [it for it in ignores if it.target == one.line and one.rule in it.ids]
        for hit in hits:
            hit.used.add(one.rule)
        (ignored if hits else kept).append(one)
    return kept, ignored


def about_ignores(ignores: Iterable[Ignore], looked: Iterable[str]) -> Iterator[Diagnostic]:
    """Yield what is wrong with the comments themselves, without a file.

    Args:
        ignores: The comments, after :func:`without_ignored`.
        looked: The rules that were looked for: the others may well find something there.
    """
    active = set(looked)
    for one in ignores:
        if one.fault:
            yield Diagnostic(
                f"the comment ignores nothing: {one.fault}",
                one.right,
                line=one.line,
                column=one.column,
                level=RULES[MALFORMED_IGNORE].level,
                rule=MALFORMED_IGNORE,
            )
        for rule_id in one.ids:
            if rule_id not in one.used and rule_id in active:
                yield Diagnostic(
                    f"{rule_id} finds nothing on line {one.target}: the comment is of no use",
                    "remove it",
                    line=one.line,
                    column=one.column,
                    level=RULES[UNUSED_IGNORE].level,
                    rule=UNUSED_IGNORE,
                )


def _next_line(lines: Sequence[str], number: int) -> int:
    """Return the first line after ``number`` that holds more than a comment."""
    for later in range(number, len(lines)):
        text = lines[later].strip()
        if text and not text.startswith("#"):
            return later + 1
    return number


Span = tuple[tuple[int, int], tuple[int, int]]


def _marked_scalars(root: Node | None, lines: Lines) -> Iterator[Span]:
    """Yield where values stand whose text looks like a comment to us."""
    pending = [root] if root is not None else []
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ScalarNode):
            if _MARK in node.value:
                yield lines.place(node.start_mark.index), lines.place(node.end_mark.index)
        elif isinstance(node, MappingNode):
            pending += [part for pair in node.value for part in pair]
        else:
            pending += node.value


def _within(place: tuple[int, int], span: Span) -> bool:
    return span[0] <= place < span[1]
