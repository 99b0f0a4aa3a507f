"""Label selectors, parsed and matched as the API server does it, but locally.

The grammar and its meaning are those of
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors and of
``k8s.io/apimachinery/pkg/labels``: equality (``a=b``, ``a==b``, ``a!=b``), sets (``a in (x,y)``,
``a notin (x)``), existence (``a``, ``!a``) and integers (``a>1``, ``a<5``).

Selectors are matched here and not by the server, because a server-side selector hides why an
object left the picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from devops_bench.k8s.names import is_dns_subdomain

_MAX_NAME = 63
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_END = ""


class Operator(StrEnum):
    """How a requirement compares a label with its values."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on one label.

    Attributes:
        key: The label's key.
        operator: How it is compared.
        values: What it is compared with; one for ``>`` and ``<``, none for existence.
    """

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` satisfy it; a missing label satisfies ``!=`` and ``notin``."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        number = _int64(value) if value is not None else None
        bound = _int64(next(iter(self.values)))
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER else number < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; without any it matches everything.

    Attributes:
        requirements: All of them must hold.
    """

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` satisfy every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@lru_cache(maxsize=1024)
def parse_selector(text: str) -> LabelSelector:
    """Parse a label selector.

    Args:
        text: The selector; the empty string matches everything.

    Returns:
        The parsed selector.

    Raises:
        ValueError: It is not a selector; the message quotes it and says what was expected where.
    """
    try:
        return LabelSelector(tuple(_Parser(text).parse()))
    except ValueError as exc:
        raise ValueError(f"{text!r} is not a label selector: {exc}") from None


class _Parser:
    """Recursive descent over the tokens of one selector."""

    def __init__(self, text: str) -> None:
        self._tokens = [match[1] for match in _TOKEN.finditer(text)] + [_END]
        self._next = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        if self._peek() == _END:
            return requirements
        while True:
            requirements.append(self._requirement())
            word = self._take()
            if word == _END:
                return requirements
            if word != ",":
                raise ValueError(f"found {_shown(word)} where ',' or the end was expected")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = _checked_key(self._word("a label key"))
        if negated:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in (_END, ","):
            return Requirement(key, Operator.EXISTS)
        operator = self._take()
        match operator:
            case "=" | "==":
                return Requirement(key, Operator.IN, frozenset({self._exact_value()}))
            case "!=":
                return Requirement(key, Operator.NOT_IN, frozenset({self._exact_value()}))
            case "in":
                return Requirement(key, Operator.IN, self._value_set())
            case "notin":
                return Requirement(key, Operator.NOT_IN, self._value_set())
            case ">" | "<":
                value = self._exact_value()
                if _int64(value) is None:
                    raise ValueError(f"{key}{operator}{value} needs an integer")
                return Requirement(key, Operator(operator), frozenset({value}))
        raise ValueError(
            f"found {_shown(operator)} after {key!r} where one of "
            "=, ==, !=, in, notin, <, > was expected"
        )

    def _exact_value(self) -> str:
        # "a=" and "a=,b" compare with the empty value.
        if self._peek() in (_END, ","):
            return ""
        return _checked_value(self._word("a value"))

    def _value_set(self) -> frozenset[str]:
        if (word := self._take()) != "(":
            raise ValueError(f"found {_shown(word)} where '(' was expected")
        values: set[str] = set()
        while True:
            # "(a,,b)", "(,)" and "()" contain the empty value.
            if self._peek() in (",", ")"):
                values.add("")
            else:
                values.add(_checked_value(self._word("a value")))
            word = self._take()
            if word == ")":
                return frozenset(values)
            if word != ",":
                raise ValueError(f"found {_shown(word)} where ',' or ')' was expected")

    def _word(self, what: str) -> str:
        word = self._take()
        if word == _END or word in _SYMBOLS:
            raise ValueError(f"found {_shown(word)} where {what} was expected")
        return word

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        word = self._tokens[self._next]
        if word != _END:
            self._next += 1
        return word


def _checked_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        raise ValueError(f"the prefix of the label key {key!r} is not a lower-case DNS name")
    if not (len(name) <= _MAX_NAME and _NAME.fullmatch(name)):
        raise ValueError(
            f"{key!r} is not a label key (at most {_MAX_NAME} letters, digits, '-', '_', '.', "
            "with a letter or digit at both ends)"
        )
    return key


def _checked_value(value: str) -> str:
    if len(value) > _MAX_NAME or not _NAME.fullmatch(value):
        raise ValueError(
            f"{value!r} is not a label value (at most {_MAX_NAME} letters, digits, '-', '_', '.', "
            "with a letter or digit at both ends)"
        )
    return value


def _int64(text: str) -> int | None:
    if len(text) > _MAX_NAME or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _shown(word: str) -> str:
    return repr(word) if word != _END else "the end"
