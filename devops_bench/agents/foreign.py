"""The turn of an agent class that is not ours: whatever it does, the run goes on.

It takes its turn in a thread. A thread cannot be ended, so one that does not come back in time is
left behind, and the agent is ``lost``; what it had started with the turn's environment is ended.
"""

from __future__ import annotations

import secrets
import subprocess
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from devops_bench.agents.base import Agent, AgentResult, AgentStatus, AgentTurn
from devops_bench.agents.sandbox.report import SandboxReport
from devops_bench.agents.usage import Usage
from devops_bench.core.errors import AgentError, RunInterruptedError
from devops_bench.core.faults import named
from devops_bench.core.marking import MARKER_VARIABLE, end_marked

PROGRAMS_GRACE_SEC: Final = 5.0
"""Seconds after the turn's end at which programs that the class still runs are ended."""

GRACE_SEC: Final = 20.0
"""Seconds after the turn's end after which nobody waits for the class any more. Ending a program in
order, as ``run_agent_program`` does, takes 15 at most."""

_POLL_SEC = 0.1
_END_TIMEOUT_SEC = 5.0

_FIELD_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "exit_code": (int, type(None)),
    "reason": (str,),
    "leftover_processes": (int, type(None)),
    "final_text": (str,),
    "usage": (Usage, type(None)),
    "transcript": (Path, type(None)),
    "sandbox": (SandboxReport, type(None)),
}


class ForeignAgent:
    """Lets an agent of somebody else's take its turn.

    Args:
        name: The word after ``--agent``.
        agent: The agent.
        grace_sec: See :data:`GRACE_SEC`.
        programs_grace_sec: See :data:`PROGRAMS_GRACE_SEC`; less than ``grace_sec``.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        *,
        grace_sec: float = GRACE_SEC,
        programs_grace_sec: float = PROGRAMS_GRACE_SEC,
    ) -> None:
        self.name = name
        self._agent = agent
        self._grace_sec = grace_sec
        self._programs_grace_sec = programs_grace_sec

    def run(self, turn: AgentTurn) -> AgentResult:
        """Let it take the turn, and wait for it until the deadline and the grace are over.

        Raises:
            AgentError: It raised something, or what it returned is no result.
            RunInterruptedError: The run was interrupted, and it said so.
        """
        marker = secrets.token_hex(16)
        marked = replace(turn, environment={**turn.environment, MARKER_VARIABLE: marker})
        call = _Call(self._agent, marked)
        began = time.monotonic()
        threading.Thread(target=call.run, name=f"agent {self.name}", daemon=True).start()
        ended = self._wait(call, turn, began, marker)
        elapsed = time.monotonic() - began
        # What it left behind, where it gave it the environment of the turn.
        ended += end_marked(marker, _END_TIMEOUT_SEC)
        result = self._came_to(call, turn, elapsed)
        if ended:
            text = f"{ended} process(es) that it left running were ended"
            result = replace(result, reason=f"{result.reason}; {text}".removeprefix("; "))
        return replace(result, elapsed_sec=elapsed)

    def _wait(self, call: _Call, turn: AgentTurn, began: float, marker: str) -> int:
        """Wait until it returns or nobody waits any more; return how many programs were ended."""
        over = began + turn.timeout_sec
        ended: int | None = None
        while not call.done.wait(_POLL_SEC):
            now = time.monotonic()
            if turn.cancel.is_set():
                over = min(over, now)
            if now >= over + self._grace_sec:
                break
            if ended is None and now >= over + self._programs_grace_sec:
                ended = end_marked(marker, _END_TIMEOUT_SEC)
        return ended or 0

    def _came_to(self, call: _Call, turn: AgentTurn, elapsed: float) -> AgentResult:
        in_time = elapsed <= turn.timeout_sec
        if not call.done.is_set():
            over = f"its {turn.timeout_sec:g} s were over"
            what = "the run was interrupted" if turn.cancel.is_set() else over
            reason = (
                f"it did not return within {self._grace_sec:g} s after {what}; a Python class "
                "cannot be ended, so it was left as it was, and may still act"
            )
            return AgentResult(AgentStatus.LOST, elapsed, reason=reason)
        if call.error is not None:
            return self._failed(call.error, turn, elapsed)
        result = self._checked(call.result)
        if result.status is AgentStatus.COMPLETED and not in_time:
            reason = f"it came back only after {elapsed:.1f} s, when its time was over"
            return replace(result, status=AgentStatus.TIMED_OUT, reason=reason)
        return result

    def _failed(self, error: BaseException, turn: AgentTurn, elapsed: float) -> AgentResult:
        """Return what a turn came to that ended in an exception, or raise it."""
        turn.transcript.error("".join(traceback.format_exception(error)))
        if turn.cancel.is_set():
            return AgentResult(
                AgentStatus.CANCELLED, elapsed, reason=f"interrupted: {named(error)}"
            )
        late = isinstance(error, TimeoutError | subprocess.TimeoutExpired)
        if late and elapsed >= turn.timeout_sec:
            reason = f"ended when its {turn.timeout_sec:g} s were over"
            return AgentResult(AgentStatus.TIMED_OUT, elapsed, reason=reason)
        if isinstance(error, AgentError):
            raise error
        if isinstance(error, Exception) and not isinstance(error, RunInterruptedError):
            raise AgentError(f"the agent {self.name} broke down: {named(error)}") from error
        # Nobody interrupted the run: it is the class that wants to end the program.
        raise AgentError(
            f"the agent {self.name} broke down: {named(error)} instead of a result"
        ) from error

    def _checked(self, result: object) -> AgentResult:
        """Return the result, or say what is wrong with it."""
        kind = type(self._agent)
        what = f"the agent {self.name}: {kind.__module__}.{kind.__qualname__}.run must return"
        if not isinstance(result, AgentResult):
            raise AgentError(f"{what} an AgentResult, not {type(result).__name__}")
        if not isinstance(result.status, AgentStatus):
            raise AgentError(f"{what} an AgentStatus as its status, not {result.status!r}")
        for field, types in _FIELD_TYPES.items():
            value: object = getattr(result, field)
            if not isinstance(value, types):
                names = " or ".join(one.__name__.replace("NoneType", "None") for one in types)
                raise AgentError(f"{what} {names} as {field}, not {type(value).__name__}")
        return result


class _Call:
    """A turn in a thread.

    Attributes:
        done: Set when it is over.
        result: What was returned; should be an :class:`AgentResult`.
        error: What was raised, ``None`` for nothing.
    """

    def __init__(self, agent: Agent, turn: AgentTurn) -> None:
        self._agent = agent
        self._turn = turn
        self.done = threading.Event()
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Take the turn."""
        try:
            self.result = self._agent.run(self._turn)
        except BaseException as exc:  # noqa: BLE001 - also SystemExit: it is only the agent's
            self.error = exc
        finally:
            self.done.set()
