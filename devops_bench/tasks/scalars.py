"""What a plain (unquoted) YAML scalar means, and when that depends on the reader.

YAML 1.1 (https://yaml.org/type/) and the core schema of YAML 1.2
(https://yaml.org/spec/1.2.2/#103-core-schema) disagree on words such as ``on`` and on numbers such
as ``0017``; both are in use around Kubernetes. What they read differently is refused, so that a
spec means the same to every reader, and so is a number whose text would not survive.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, TypeAlias

Scalar: TypeAlias = bool | int | float | str | None
"""The values that a scalar may have."""

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_BOOLS_11: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_MAY_MEAN_MORE: Final = frozenset("-+.0123456789~=<yYnNtTfFoO")
"""First characters of everything that is not simply text in one of the two versions."""

_NON_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INT_12: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT_12: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INT_11: Final = re.compile(
    r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
)
_FLOAT_11: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_DATE_11: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
)
_INT_BOUND: Final = 2**63
_MAX_DIGITS: Final = 400
"""More than any finite number needs; longer ones are not even computed."""


@dataclass(frozen=True, slots=True)
class ScalarFault:
    """A scalar that must be written in another way.

    Attributes:
        message: What is wrong with it.
        hint: What would be right.
    """

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Other:
    """A meaning that JSON does not have: a date, a merge key."""

    what: str


def read_plain(text: str) -> Scalar | ScalarFault:
    """Return what the plain scalar ``text`` means to every reader, or why it must be rewritten."""
    if text and text[0] not in _MAY_MEAN_MORE:
        return text
    if _NON_FINITE.fullmatch(text):
        return ScalarFault(
            f"{text} is not a finite number",
            f"write a finite number, or {quoted(text)} in quotes for the text",
        )
    if len(text) > _MAX_DIGITS:
        if not any(number.fullmatch(text) for number in (_INT_12, _FLOAT_12, _INT_11, _FLOAT_11)):
            return text
        return ScalarFault(
            f"a number of {len(text)} characters is too long", "put it in quotes for the text"
        )
    new, old = _read_12(text), _read_11(text)
    if type(new) is not type(old) or new != old:
        return ScalarFault(
            f"{text} is {_describe(old)} in YAML 1.1 and {_describe(new)} in YAML 1.2",
            _alternatives(text, old, new),
        )
    if isinstance(new, _Other):  # pragma: no cover - YAML 1.2 has no such meaning
        return text
    return _survives(text, new)


def quoted(text: str) -> str:
    """Return ``text`` as a YAML scalar in quotes, on one line."""
    if all(char.isprintable() for char in text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def _survives(text: str, value: Scalar) -> Scalar | ScalarFault:
    """Refuse a number that is written back as another text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        if not -_INT_BOUND <= value < _INT_BOUND:
            return ScalarFault(
                f"{text} does not fit in a 64-bit integer", f"write {quoted(text)} for the text"
            )
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
            return ScalarFault(
                f"{text} has leading zeros, which a number does not keep",
                f"write {quoted(text)} in quotes for the text, or {value} for the number",
            )
        return value
    if not math.isfinite(value):
        return ScalarFault(
            f"{text} is too large for a finite number", f"write {quoted(text)} for the text"
        )
    if repr(value) != text:
        return ScalarFault(
            f"{text} is read as the number {value!r}, its text does not survive",
            f"write {quoted(text)} in quotes for the text, or {value!r} for the number",
        )
    return value


def _read_12(text: str) -> Scalar | _Other:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT_12.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text, base)
    return float(text) if _FLOAT_12.fullmatch(text) else text


def _read_11(text: str) -> Scalar | _Other:
    if text in _NULLS:
        return None
    if text in _BOOLS or text in _BOOLS_11:
        return _BOOLS.get(text, _BOOLS_11.get(text))
    if text in ("<<", "="):
        return _Other("a merge key" if text == "<<" else "a default value")
    if _INT_11.fullmatch(text):
        return _int_11(text)
    if _FLOAT_11.fullmatch(text):
        digits = text.replace("_", "")
        return _sexagesimal(digits) if ":" in digits else float(digits)
    return _Other("a date") if _DATE_11.fullmatch(text) else text


def _int_11(text: str) -> int | str:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").replace("_", "")
    if ":" in digits:
        whole = 0
        for part in digits.split(":"):
            whole = whole * 60 + int(part)
        return sign * whole
    if digits == "0":
        return 0
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits[0] == "0" else 10)
    prefix = 2 if base in (2, 16) else 0
    body = digits[prefix:]
    return sign * int(body, base) if body else text  # 0b_ has no digits at all


def _sexagesimal(text: str) -> float:
    """Return a base-60 number (``1:30`` is 90), as YAML 1.1 has it."""
    value = 0.0
    for part in text.lstrip("+-").split(":"):
        value = value * 60 + float(part)
    return -value if text[0] == "-" else value


def _describe(value: Scalar | _Other) -> str:
    if isinstance(value, _Other):
        return value.what
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    return "text" if isinstance(value, str) else f"the number {value}"


def _alternatives(text: str, *meanings: Scalar | _Other) -> str:
    """Return every way to say clearly what may have been meant."""
    if text == "<<":
        return "merge keys are not supported: write the fields out"
    others: list[str] = []
    for value in meanings:
        if isinstance(value, bool):
            others.append(f"{str(value).lower()} for the boolean")
        elif isinstance(value, int | float) and math.isfinite(value):
            others.append(f"{value!r} for the number")
    return ", or ".join([f"write {quoted(text)} in quotes for the text", *others])
