"""From the text of a path to our steps, by way of jsonpath-ng's lexer and parser.

What is refused is refused on the tokens where that is possible: there the reader can still be told
which characters to change.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from devops_bench.verification.paths import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Descend,
    Exists,
    Filter,
    Index,
    Name,
    Slice,
    Step,
    Wildcard,
)
from devops_bench.verification.quantity import quantity_of
from devops_bench.verification.regex import compile_pattern
from devops_bench.verification.values import ORDERING_OPS, ComparingOp

_MAX_LENGTH: Final = 2000
_MAX_NESTED_FILTERS: Final = 5
_PARSER_LOCK: Final = threading.Lock()  # PLY keeps a parse's state on the one parser object
_PATTERN: Final = re.compile(r"""=~\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_LOST_ESCAPE: Final = re.compile(r"""(\\['"\\])|\\""")
_OPS: Final[dict[str, ComparingOp]] = {
    "=": "eq",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
    "=~": "matches",
}
_REFUSED_TOKENS: Final = {
    "NAMED_OPERATOR": "backtick functions are not allowed; name the field itself",
    "SORT_DIRECTION": "'/' and '\\' are not allowed; quote a name that holds one: a.\"b/c\"",
    "WHERE": "'where' is an operator here; write a filter, [?(@.x)], or quote the name: \"where\"",
    "WHERENOT": "'wherenot' is an operator here; write a filter, [?(!@.x)], or quote the name",
    "|": "unions are not allowed; write two checks, or || within a filter",
    "&": "a single & is not allowed; write && within a filter",
    "+": "arithmetic is not allowed; name the field itself",
    "-": "arithmetic is not allowed; quote a name that holds a '-' at its start: \"-a\"",
    "/": "arithmetic is not allowed; quote a name that holds a '/': a.\"b/c\"",
    "~": "'~' is not allowed; quote a name that holds one",
    "NULL": "null is not compared; [?(!@.x)] says that there is no value",
}


def parse_steps(text: str) -> tuple[Step, ...]:
    """Return the steps of a path.

    Raises:
        ValueError: It is not a path, or a form that is not allowed.
    """
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"a path has at most {_MAX_LENGTH} characters, this one has {len(text)}")
    _refuse_other_languages(text)
    try:
        tokens = list(_lexer().tokenize(_with_patterns_kept(text)))
        _refuse_tokens(text, tokens)
        with _PARSER_LOCK:
            tree = _parser().parse_token_stream(iter(tokens))
        return _Converter(text).steps(tree, at_root=True)
    except ValueError:
        raise
    except Exception as exc:  # noqa: BLE001 - the library raises bare Exceptions for bad paths
        raise ValueError(f"{_shown(text)} is not a path: {_first_line(exc)}") from None


@lru_cache(maxsize=1)
def _parser() -> Any:
    from jsonpath_ng.ext.parser import ExtendedJsonPathParser

    return ExtendedJsonPathParser()


def _lexer() -> Any:
    from jsonpath_ng.ext.parser import ExtendedJsonPathLexer

    return ExtendedJsonPathLexer()


def _with_patterns_kept(text: str) -> str:
    r"""Return ``text`` with the patterns of ``=~`` such that the lexer hands them on as written.

    It drops a backslash within quotes, so that ``=~ '1\.2'`` would match ``1x2`` and ``\d`` only
    a ``d``. A doubled backslash and an escaped quote mean what they mean to the lexer.
    """
    if "=~" not in text or "\\" not in text:
        return text
    return _PATTERN.sub(lambda match: _LOST_ESCAPE.sub(_doubled, match[0]), text)


def _doubled(escape: re.Match[str]) -> str:
    return escape[1] or r"\\"


def _refuse_other_languages(text: str) -> None:
    stripped = text.strip()
    if not stripped:
        raise ValueError("a path is not empty; $ is the whole object")
    if stripped.startswith("{") and not stripped.startswith("{{"):
        right = stripped.removeprefix("{").removesuffix("}").strip().lstrip(".") or "$"
        raise ValueError(f"{_shown(text)} is kubectl's form; write it without braces: {right}")
    if stripped.startswith(".") and not stripped.startswith(".."):
        right = stripped.lstrip(".") or "$"
        raise ValueError(f"{_shown(text)} starts with a dot; write it without: {right}")
    if stripped.startswith(".."):
        raise ValueError(f"{_shown(text)} starts with dots; write ${stripped}")


def _refuse_tokens(text: str, tokens: list[Any]) -> None:
    previous: Any = None
    for token in tokens:
        kind, bare = token.type, not getattr(token, "quoted", False)
        after_op = previous is not None and previous.type == "FILTER_OP"
        if kind in _REFUSED_TOKENS and (kind != "NULL" or after_op):
            raise ValueError(f"{_shown(text)}: {_REFUSED_TOKENS[kind]}")
        if kind == "ID" and bare and after_op:
            right = {"True": "true", "False": "false"}.get(token.value, f"'{token.value}'")
            raise ValueError(
                f"{_shown(text)}: the bare word {token.value} in a filter; write {right}"
            )
        if bare and previous is not None:
            _refuse_bare(text, previous.type, token)
        if kind == "ID" and bare and "@" in token.value:
            right = token.value.replace("@", "@.", 1)
            raise ValueError(
                f"{_shown(text)}: {token.value} is neither an element nor a name; "
                f'write {right} in a filter, or quote the name: "{token.value}"'
            )
        previous = token


def _refuse_bare(text: str, previous: str, token: Any) -> None:
    if previous == "[" and token.type in {"ID", "BOOL", "NULL"}:
        word = str(token.value).lower() if token.type == "BOOL" else token.value
        raise ValueError(f"{_shown(text)}: the bare word {word} in brackets; write ['{word}']")
    if previous in {".", "DOUBLEDOT"} and token.type in {"NUMBER", "FLOAT"}:
        raise ValueError(
            f"{_shown(text)}: .{token.value} is neither an index nor a name; "
            f'write [{token.value}] for an element of a list, ."{token.value}" for a map\'s key'
        )


class _Converter:
    """Turns jsonpath-ng's tree into steps, by the names of its classes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0

    def steps(self, tree: Any, *, at_root: bool) -> tuple[Step, ...]:
        """Return the steps of ``tree``; it starts at the object, or at a filter's element."""
        parts: list[Any] = []
        self._flatten(tree, parts)
        start = "Root" if at_root else "This"
        if type(parts[0]).__name__ == start:
            parts = parts[1:]
        elif not at_root:
            raise self._refused("a filter reads from its element; write @. before the name")
        steps: list[Step] = []
        descending = False
        for part in parts:
            if part is _DESCEND:
                descending = True
                continue
            step = self._step(part)
            steps.append(Descend(step) if descending else step)
            descending = False
        return tuple(steps)

    def _flatten(self, tree: Any, parts: list[Any]) -> None:
        # Left-nested chains are as long as the path, so no recursion on the left.
        rights: list[tuple[bool, Any]] = []
        while type(tree).__name__ in {"Child", "Descendants"}:
            rights.append((type(tree).__name__ == "Descendants", tree.right))
            tree = tree.left
        parts.append(tree)
        for descends, right in reversed(rights):
            if descends:
                parts.append(_DESCEND)
            self._flatten(right, parts)

    def _step(self, part: Any) -> Name | Index | Slice | Wildcard | Filter:
        kind = type(part).__name__
        if kind == "Fields":
            if len(part.fields) != 1:
                raise self._refused("several names in one bracket; write one check for each")
            return Name(part.fields[0])
        if kind == "Index":
            if len(part.indices) != 1:
                raise self._refused("several indices in one bracket; write a slice, such as [0:2]")
            return Index(part.indices[0])
        if kind == "Slice":
            if part.step == 0:
                raise self._refused("the step of a slice is not 0")
            return Slice(part.start, part.end, part.step)
        if kind == "Wildcard":
            return Wildcard()
        if kind == "Filter":
            return self._filter(part)
        if kind == "Operation":
            raise self._refused("arithmetic is not allowed; name the field itself")
        if kind in {"Root", "This"}:
            raise self._refused("$ stands only at the start of a path, @ only within a filter")
        raise self._refused(f"{kind} is not allowed")

    def _filter(self, part: Any) -> Filter:
        self._depth += 1
        if self._depth > _MAX_NESTED_FILTERS:
            raise self._refused(f"filters within filters, more than {_MAX_NESTED_FILTERS} deep")
        condition = self._all_of(part.expressions)
        self._depth -= 1
        return Filter(condition)

    def _all_of(self, expressions: Iterable[Any]) -> Condition:
        conditions = tuple(self._condition(expression) for expression in expressions)
        return conditions[0] if len(conditions) == 1 else AllOf(conditions)

    def _condition(self, expression: Any) -> Condition:
        kind = type(expression).__name__
        if kind == "And":
            return self._all_of(expression.operands)
        if kind == "Or":
            return AnyOf(tuple(self._condition(operand) for operand in expression.operands))
        if kind != "Expression":
            raise self._refused(f"{kind} is not allowed in a filter")
        steps = self.steps(expression.target, at_root=False)
        if expression.op is None or expression.op == "!":
            return Exists(steps, negated=expression.op == "!")
        literal = expression.value
        if not isinstance(literal, str | int | float):
            raise self._refused("a filter compares with a literal: 'text', 4 or true")
        if expression.op == "=~":
            return Comparison(steps, "matches", compile_pattern(str(literal)))
        op = _OPS[expression.op]
        if op in ORDERING_OPS and quantity_of(literal) is None:
            raise self._refused(f"{expression.op} needs a quantity (4, '500m'), not {literal!r}")
        return Comparison(steps, op, literal)

    def _refused(self, why: str) -> ValueError:
        return ValueError(f"{_shown(self._text)}: {why}")


_DESCEND: Final = object()


def _shown(text: str) -> str:
    return f"{text!r}" if len(text) <= 200 else f"{text[:200]!r}…"


def _first_line(exc: Exception) -> str:
    return str(exc).strip().split("\n", 1)[0] or type(exc).__name__
