r"""Lines as editors, git and GitHub count them: by ``\n``, ``\r\n`` and ``\r``. Pure.

YAML 1.1 counts U+0085, U+2028 and U+2029 too (https://yaml.org/spec/1.1/#id871136), and so do the
marks of its readers: they are right about the character, not about the line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final

LINE_BREAK: Final = re.compile("\r\n|[\n\r]")
"""What ends a line."""


class Lines:
    """The lines of a text.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in LINE_BREAK.finditer(self._text))]

    def place(self, index: int) -> tuple[int, int]:
        """Return line and column, both 1-based, of the character at ``index``."""
        number = bisect_right(self._starts, index)
        return number, index - self._starts[number - 1] + 1
