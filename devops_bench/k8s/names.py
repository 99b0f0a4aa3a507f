"""What objects can be called. Pure."""

from __future__ import annotations

import re
from typing import Final

_MAX_LENGTH: Final = 253
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def is_dns_subdomain(text: str) -> bool:
    """Return whether it is a subdomain by RFC 1123, as the names of most kinds are.

    Some kinds take more (roles and their bindings, certificate signing requests), some less:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names/.
    """
    return len(text) <= _MAX_LENGTH and _SUBDOMAIN.fullmatch(text) is not None
