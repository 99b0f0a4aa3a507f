"""How long to wait before the next try."""

from __future__ import annotations

from typing import Final

_FIRST_SEC: Final = 0.05
_LONGEST_SEC: Final = 5.0
_LONGEST_ASKED_SEC: Final = 30.0


class Backoff:
    """Waits double from 0.05 to 5 s; what the server asks for counts where it is longer."""

    def __init__(self) -> None:
        self._tries = 0

    def reset(self) -> None:
        """Start again: the last try worked."""
        self._tries = 0

    def next(self, retry_after_sec: float | None = None) -> float:
        """Return the seconds to wait now.

        Args:
            retry_after_sec: What the server's ``Retry-After`` said, ``None`` without one; at most
                30 s of it are heeded.
        """
        own = min(_LONGEST_SEC, _FIRST_SEC * 2.0 ** min(self._tries, 16))
        self._tries += 1
        return max(own, min(retry_after_sec or 0.0, _LONGEST_ASKED_SEC))
