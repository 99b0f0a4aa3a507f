"""Texts of a spec that name something or are read by a person in one line."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def not_blank(text: str) -> str:
    """Refuse a text of white space alone, which looks like nothing and selects everything.

    Raises:
        ValueError: It is one.
    """
    if not text.strip():
        raise ValueError("should not be blank")
    return text


def one_line(text: str) -> str:
    r"""Refuse what a reader cannot see: white space around the text, and control characters in it.

    A name with a ``\r`` or an escape sequence can show another line than the one it stands in, and
    one that ends in a blank names nothing in Kubernetes although it looks as if it did.

    Raises:
        ValueError: There is some.
    """
    not_blank(text)
    if not text.isprintable():
        raise ValueError("should hold no line break and no other character that cannot be shown")
    if text != text.strip():
        raise ValueError("should not begin or end with white space")
    return text


Label = Annotated[str, AfterValidator(one_line)]
"""A text of one line, shown in reports and on terminals."""
