"""Which known word a misspelt one is likely to mean. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_TELLING: Final = 3
"""Characters of a beginning that say which word is meant."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of ``known`` that ``word`` is close to, in any case; ``None`` without one.

    A word that was not written to its end (``failure`` for ``failure_hint``) is closer to those
    that begin so than to any other; else likeness counts, as :mod:`difflib` has it.
    """
    lower = {one.lower(): one for one in known}
    given = word.lower()
    begins = [one for one in lower if len(given) >= _TELLING and one.startswith(given)]
    alike = difflib.get_close_matches(given, begins or lower, n=1)
    best = alike[0] if alike else next(iter(begins), None)
    return None if best is None else lower[best]
