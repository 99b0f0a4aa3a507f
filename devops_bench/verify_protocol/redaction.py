"""Keeping a user's secrets out of what is quoted from a script's output. Pure.

Texts are cleaned before they are cut or quoted: half a secret, or one with escapes in it, would not
be recognised any more. What is judged is never cleaned: a secret may be the word ``False``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

SHORTEST_SECRET: Final = 4
"""Characters; replacing what is shorter would spoil the text and hide nothing."""
REDACTED: Final = "[redacted]"


class Redactor:
    """Replaces secrets by ``[redacted]``.

    Each line of a value of several lines is a secret by itself, and so is what ``repr()`` and JSON
    make of a value.

    Args:
        secrets: The values; those of fewer than :data:`SHORTEST_SECRET` characters stay, since they
            are as likely part of a word.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        # The longest first: one may be part of another.
        self._forms = sorted(
            (form for form in forms if len(form) >= SHORTEST_SECRET), key=len, reverse=True
        )
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def clean(self, text: str, *, cut: bool = False) -> str:
        """Return the text without secrets.

        Args:
            text: As the script printed it, whole unless it is ``cut``.
            cut: Its end is missing: what may be the beginning of a secret there goes, too.
        """
        if not self._forms:
            return text
        if cut:
            text = text[: len(text) - self._begun(text)]
        return self._pattern.sub(REDACTED, text)

    def _begun(self, text: str) -> int:
        """Return how many characters at the end are the beginning of a secret."""
        longest = 0
        for form in self._forms:
            for size in range(min(len(form) - 1, len(text)), longest, -1):
                if text.endswith(form[:size]):
                    longest = size
                    break
        return longest


def _forms(secret: str) -> Iterable[str]:
    """Yield how a secret may stand in an output."""
    # An output is read as UTF-8 with replacements.
    printed = secret.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
    for value in (secret, printed):
        yield value
        for line in value.split("\n"):
            yield line.strip()
        yield repr(value)[1:-1]
        yield json.dumps(value)[1:-1]
        yield json.dumps(value, ensure_ascii=False)[1:-1]
