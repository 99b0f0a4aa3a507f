"""Variables that have no value yet (``{{NAME}}``), as lint meets them in a spec's strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_PLACEHOLDER: Final = re.compile(r"\{\{[A-Za-z_][A-Za-z0-9_]*\}\}")
_STAND_INS: Final = ("x", "1")


def has_placeholder(text: str) -> bool:
    """Return whether ``text`` holds a ``{{NAME}}``."""
    return "{{" in text and _PLACEHOLDER.search(text) is not None


def parse_with_placeholders(text: str, parse: Callable[[str], T]) -> tuple[T, bool]:
    """Parse ``text``; if it holds variables without a value, parse it as if they had one.

    Args:
        text: What the spec says.
        parse: Raises ``ValueError`` for what it cannot read.

    Returns:
        What ``parse`` returned, and whether a stand-in was needed for it: then the form of the
        text is right, but nothing may be judged by it.

    Raises:
        ValueError: ``text`` is wrong whatever the variables are.
    """
    try:
        return parse(text), False
    except ValueError:
        if not has_placeholder(text):
            raise
        for stand_in in _STAND_INS:
            try:
                return parse(_PLACEHOLDER.sub(stand_in, text)), True
            except ValueError:
                continue
        raise
