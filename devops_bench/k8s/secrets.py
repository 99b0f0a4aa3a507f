"""Which words of authors may mean Secrets. Pure."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[^a-z0-9-]+")
_SECRETS: Final = frozenset({"secret", "secrets"})


def may_mean_secrets(kind: str) -> bool:
    """Return whether a kind, as an author wrote it, may mean Secrets.

    Their data must not leak because of a spelling, so every word that holds theirs counts, with a
    version, a group or a slip around it: ``secrets``, ``Secret.v1.``, ``v1/Secret``. A kind of
    another group that is called the same counts too.

    Args:
        kind: What stands under ``kind``.
    """
    return not _SECRETS.isdisjoint(_WORDS.split(kind.casefold()))
