"""What a result says about an agent's sandbox."""

from __future__ import annotations

from dataclasses import dataclass

UNSANDBOXED = "unsandboxed"
"""The state of an agent that ran as this process may."""

NOTHING_RAN = "no program ran"
"""The state of an agent that starts nothing, so that there is nothing to confine."""

NOT_KNOWN = "not known"
"""The state of an agent whose turn ended in an error: a sandbox was asked for, and nobody can say
whether a program ever ran in it."""


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """In what an agent ran.

    Attributes:
        state: ``bwrap``, ``docker``, :data:`UNSANDBOXED`, :data:`NOTHING_RAN` or
            :data:`NOT_KNOWN`.
        reachable: ``HOST:PORT`` of what it could reach; empty without a sandbox, where that is
            not known.
        connections: How often it connected to each of ``reachable``.
        readable: What of ours it could read: in a sandbox what the user opened, without one what
            was looked for and found readable.
        image: The image of ``docker`` with its digest, ``None`` without one.
    """

    state: str
    reachable: tuple[str, ...] = ()
    connections: tuple[tuple[str, int], ...] = ()
    readable: tuple[str, ...] = ()
    image: str | None = None
