"""Types of fields that several checks have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from devops_bench.k8s.selectors import parse_selector
from devops_bench.verification.paths import parse_path
from devops_bench.verification.placeholders import has_placeholder, parse_with_placeholders
from devops_bench.verification.problems import FormError
from devops_bench.verification.words import not_blank, one_line


def _selector(text: str) -> str:
    try:
        parse_with_placeholders(text, parse_selector)
    except ValueError as exc:
        raise FormError(str(exc), "selector_form") from None
    return text


def _path(text: str) -> str:
    try:
        parse_with_placeholders(text, parse_path)
    except ValueError as exc:
        raise FormError(str(exc), "path_form") from None
    return text


def no_boolean(value: object) -> object:
    """Refuse ``true`` and ``false`` for a number, which pydantic would take for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(f"should be a number, not {str(value).lower()}")  # noqa: TRY004 - for pydantic
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(one_line)]
"""A name: one line, without white space around it."""

SelectorText = Annotated[
    str, Field(min_length=1), AfterValidator(not_blank), AfterValidator(_selector)
]
"""A label selector by Kubernetes' grammar, not empty: a blank one would match everything."""

PathText = Annotated[str, AfterValidator(not_blank), AfterValidator(_path)]
"""A path; see :mod:`devops_bench.verification.paths`."""


def unset_variable(*texts: str | None) -> str | None:
    """Return the first text that still holds a variable (``{{NAME}}``).

    Args:
        texts: Of fields that name something in Kubernetes, where ``{{`` can stand for nothing else.
    """
    return next((text for text in texts if text is not None and has_placeholder(text)), None)
