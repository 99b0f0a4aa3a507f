"""What all streams of a watcher share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from devops_bench.core.clock import Clock
from devops_bench.k8s.client import ApiClient
from devops_bench.k8s.watch.connection import Connection
from devops_bench.k8s.watch.judge import Judge
from devops_bench.k8s.watch.repair import RepairLimits

REQUEST_TIMEOUT_SEC: Final = 10.0
"""What one answer of the server may take."""

MANY_BYTES: Final = 1 << 26
"""So many bytes of one connection may wait to be judged; then it is not read any further."""

TOO_MUCH: Final = f"more than {MANY_BYTES >> 20} MiB of writes waited to be judged"
"""The cause of a gap where that happened; it is mended when they were."""


@dataclass(frozen=True, slots=True)
class StreamContext:
    """What all streams of a watcher share.

    Attributes:
        client: For credentials, and for looking at the identity of what is read.
        judge: Where everything goes.
        clock: Where times come from.
        limits: What repairing one gap may cost.
    """

    client: ApiClient
    judge: Judge
    clock: Clock
    limits: RepairLimits

    def connect(self, timeout_sec: float = REQUEST_TIMEOUT_SEC) -> Connection:
        """Open a connection of one's own.

        Args:
            timeout_sec: Seconds that each answer may take, > 0.

        Raises:
            ApiUnavailableError: The server does not answer.
        """
        return Connection(self.client.config, timeout_sec)
