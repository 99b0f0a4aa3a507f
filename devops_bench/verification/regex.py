"""Regular expressions of specs: RE2, so that no pattern can hold the process.

Python's ``re`` backtracks, exponentially for some patterns, and holds the interpreter's lock
meanwhile: one such pattern would stop the monitor. RE2 is linear in the text; it has no look-around
and no back-references (https://github.com/google/re2/wiki/Syntax).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast


class _Compiled(Protocol):
    def search(self, text: bytes) -> object: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Attributes:
        text: The pattern as it was written.
    """

    text: str
    _compiled: _Compiled

    def search(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in ``text``."""
        # An unpaired surrogate, which JSON can spell, has no UTF-8; it becomes a question mark.
        return self._compiled.search(text.encode("utf-8", "replace")) is not None


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern.

    Raises:
        ValueError: RE2 refuses it; the message says why, and what would be right where we know.
    """
    import re2  # late: not every spec has a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(text.encode("utf-8"), options)
    except re2.error as exc:
        detail = exc.args[0] if exc.args else b""
        said = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"{text[:80]!r} is not a pattern of RE2: {said}{_advice(said)}") from None
    except UnicodeEncodeError:
        raise ValueError(f"{text[:80]!r} holds half a surrogate pair") from None
    return Pattern(text, cast(_Compiled, compiled))


def _advice(said: str) -> str:
    if r"\Z" in said:
        return r" (the end of the text is \z)"
    if "(?>" in said:
        return " (RE2 has no atomic groups, and needs none: it never backtracks; write (?:)"
    if "perl operator" in said:
        return " (RE2 has no look-around; two checks under all or none say the same)"
    if "repetition size" in said:
        return " (RE2 repeats at most 1000 times)"
    return ""
