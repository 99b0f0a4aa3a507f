"""Entries to observe, and a runner that answers what a test says.

The runner is a fake of ``VerifierAgent``: these tests are about when an entry is sampled and what
becomes of the answers, so they choose the answers. The integration tests use the real one on a real
API server.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from devops_bench.verification.result import VerificationResult, VerificationStatus
from devops_bench.verification.spec import VerificationEntry, parse_entries

WAIT_SEC = 20.0
"""How long a test waits for what must happen; only a failing test waits so long."""

Answer = Callable[[], VerificationResult]


def make_entry(name: str, role: str, mode: str, **fields: object) -> VerificationEntry:
    """Return an entry; a safeguard is catastrophic unless it says else."""
    if role == "safeguard":
        fields.setdefault("severity", "catastrophic")
    check = {"type": "resource_property", "kind": "ConfigMap", "op": "exists"}
    raw = {"check": check, **fields, "name": name, "role": role, "mode": mode}
    entries, errors = parse_entries([raw])
    if errors:
        raise ValueError(errors)
    return entries[0]


def watched(name: str, interval_sec: float = 0.01, **fields: object) -> VerificationEntry:
    """Return a safeguard in hold mode."""
    return make_entry(name, "safeguard", "hold", hold_poll_interval_sec=interval_sec, **fields)


def soaked(name: str, window_sec: float, **fields: object) -> VerificationEntry:
    """Return an objective in hold mode."""
    fields.setdefault("hold_poll_interval_sec", 0.01)
    return make_entry(name, "objective", "hold", hold_window_sec=window_sec, **fields)


def result(status: VerificationStatus, reason: str = "as the test says") -> VerificationResult:
    """Return a result of this status."""
    return VerificationResult(success=status == "pass", status=status, reason=reason)


PASS, FAIL, ERROR = result("pass"), result("fail"), result("error")


class Script:
    """Answers one after the other, then the last one for ever."""

    def __init__(self, *answers: VerificationResult) -> None:
        self._answers: Iterator[VerificationResult] = iter(answers)
        self._last = answers[-1]

    def __call__(self) -> VerificationResult:
        self._last = next(self._answers, self._last)
        return self._last


class Hang:
    """Never answers until it is released."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.release = threading.Event()

    def __call__(self) -> VerificationResult:
        self.entered.set()
        self.release.wait(WAIT_SEC)
        return PASS


def raising() -> VerificationResult:
    """Raise, as a broken plug-in does."""
    raise RuntimeError("boom")


class FakeRunner:
    """Answers by entry name; counts its calls. Thread-safe."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = dict(answers or {})
        self.timeouts: dict[str, list[float]] = {}
        self._called = threading.Condition()

    def run_entry(self, entry: VerificationEntry, timeout_sec: float) -> VerificationResult:
        answer = self.answers.get(entry.name, lambda: PASS)
        try:
            return answer()
        finally:
            with self._called:
                self.timeouts.setdefault(entry.name, []).append(timeout_sec)
                self._called.notify_all()

    def calls(self, name: str) -> int:
        """Return how many calls for this entry have ended."""
        with self._called:
            return len(self.timeouts.get(name, []))

    def await_calls(self, count: int, names: Iterable[str]) -> None:
        """Wait until so many calls of each of these entries have ended from now on."""
        with self._called:
            wanted = {name: len(self.timeouts.get(name, [])) + count for name in names}
            done = self._called.wait_for(
                lambda: all(len(self.timeouts.get(n, [])) >= c for n, c in wanted.items()), WAIT_SEC
            )
        # No assert: pytest rewrites those of test modules alone, and -O drops the rest.
        if not done:
            raise AssertionError(f"not sampled often enough: {wanted}")


class FakeClock:
    """A clock that moves only when somebody waits or a test moves it."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=self.time)

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        self.time += max(0.0, timeout_sec)
        return event.is_set()
