"""The tree of errors, all of it in one place.

Every error that this package raises on purpose derives from :class:`DevopsBenchError`::

    DevopsBenchError
    ├── InvalidInputError          what the user gave is wrong; nothing was touched   (exit 2)
    │   └── UnknownNameError       a registry has no such name
    ├── ClusterError               a cluster could not be provided or ended           (exit 3)
    │   ├── BinariesNotFoundError  no complete set of control-plane binaries
    │   ├── ApiError               the API server answered with an error
    │   └── ApiUnavailableError    the API server did not answer (or not in time)
    ├── SetupError                 the task's setup failed: a broken task              (exit 3)
    ├── AgentError                 the agent's turn could not be taken or observed    (exit 3)
    │   └── ContainerError         the Docker daemon refused, or did not answer
    ├── SupervisionError           a program could not be watched to its end          (exit 3)
    ├── OutputError                a report could not be written where it was asked   (exit 2)
    └── RunInterruptedError        SIGINT or SIGTERM ended the run                    (exit 130)

A verdict is never an error: what could not be observed is a result with status ``error``.
Plain ``ValueError`` and ``TypeError`` are raised for misuse of the Python API.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from devops_bench.core.diagnostics import Diagnostic


class DevopsBenchError(Exception):
    """The root of every error of this package.

    ``exit_code`` is what the command line exits with when the error reaches it.
    """

    exit_code: ClassVar[int] = 3


class InvalidInputError(DevopsBenchError):
    """Something the user gave is wrong, and nothing was touched because of it.

    Args:
        message: One line for the reader.
        diagnostics: Every single fault, with its place; empty where the message says it all.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics: Sequence[Diagnostic] = tuple(diagnostics)


class UnknownNameError(InvalidInputError):
    """A registry holds nothing under this name; the message lists what it does hold."""


class ClusterError(DevopsBenchError):
    """A cluster could not be provided, reached or ended."""


class BinariesNotFoundError(ClusterError):
    """No place holds a complete set of control-plane binaries, and none could be built."""


class ApiError(ClusterError):
    """The API server answered with an error status.

    Args:
        status: The HTTP status code.
        reason: The machine-readable ``reason`` of the ``Status`` object, empty when there was none
            (https://kubernetes.io/docs/reference/using-api/api-concepts/).
        message: The server's sentence.
        retry_after_sec: Seconds of the ``Retry-After`` header, ``None`` without one.
    """

    def __init__(
        self, status: int, reason: str, message: str, retry_after_sec: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_sec = retry_after_sec


class ApiUnavailableError(ClusterError):
    """The API server did not answer: no connection, a broken one, or the time ran out."""


class SetupError(DevopsBenchError):
    """The task's setup could not be applied or did not become ready: the task is broken."""


class AgentError(DevopsBenchError):
    """The agent could not be started, or its turn not be observed to its end.

    Its own failures are results, not errors.
    """


class ContainerError(AgentError):
    """The Docker daemon refused what an agent's container needs, or did not answer."""


class SupervisionError(DevopsBenchError):
    """A program was started, and the system refused what it takes to watch it to its end."""


class OutputError(DevopsBenchError):
    """What was asked for could not be written: a full disk, a stream that is closed."""

    exit_code: ClassVar[int] = 2


class RunInterruptedError(DevopsBenchError):
    """SIGINT or SIGTERM asked the run to end; what was seen until then is kept."""

    exit_code: ClassVar[int] = 130
