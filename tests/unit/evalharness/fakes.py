"""Fakes of a cluster, its provider, an agent and a reporter.

They stand in where a test has to choose what goes wrong and when (a provider that fails to end, an
interrupt in the middle of a phase); the integration tests run the same harness on the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.clusters.base import Cluster
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.events import NullReporter, Phase
from devops_bench.evalharness.watching import WatchFactory
from devops_bench.k8s.delete import CreatedObject
from devops_bench.tasks.model import EntryError, Setup, Task
from devops_bench.verification.spec import VerificationEntry
from tests.unit.evalharness.helpers import Answer, FakeRunner


def make_task(*entries: VerificationEntry, setup: Setup | None = None, **fields: object) -> Task:
    """Return a task with these entries and nothing to wait for."""
    errors = fields.pop("entry_errors", ())
    assert isinstance(errors, tuple)
    assert all(isinstance(error, EntryError) for error in errors)
    return Task(
        id="t1",
        prompt="mend it",
        source=Path("/specs/t1/task.yaml"),
        setup=setup if setup is not None else Setup(ready=()),
        entries=entries,
        entry_errors=errors,
    )


class FakeProvider:
    """Provides a cluster that is only a name."""

    name = "fake"
    why = "a unit test"

    def __init__(self, *, disposable: bool = False) -> None:
        self.disposable = disposable
        self.fails: Exception | None = None
        self.fails_to_end: Exception | None = None
        self.ended = 0

    @contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:
        if self.fails is not None:
            raise self.fails
        try:
            yield Cluster(
                name=f"fake-{run_id}",
                provider=self.name,
                kubeconfig=run_dir / "kubeconfig",
                description="no cluster at all (a unit test)",
                server_version="v0",
                disposable=self.disposable,
            )
        finally:
            self.ended += 1
            if self.fails_to_end is not None:
                raise self.fails_to_end


class FakeAccess(FakeRunner):
    """A cluster in which entries come to what the test says."""

    watch: WatchFactory | None = None

    def __init__(self, answers: dict[str, Answer] | None = None) -> None:
        super().__init__(answers)
        self.deleted: list[str] = []
        self.not_deleted: list[str] = []
        self.missing: dict[str, str] = {}
        self.waiting: list[list[str]] = []
        self.create_fails: Exception | None = None
        self.delete_fails: Exception | None = None
        self.closed = False
        self.record_changed = ""

    def create(
        self,
        objects: Sequence[JsonObject],
        *,
        adopt: bool,
        record: Callable[[CreatedObject], None],
        timeout_sec: float,
    ) -> None:
        for index, _ in enumerate(objects):
            record(CreatedObject("v1", "ConfigMap", f"/{index}", "default", f"o{index}", "uid"))
        if self.create_fails is not None:
            raise self.create_fails

    def note(self, created: CreatedObject) -> None:
        pass

    def record_difference(self) -> str:
        return self.record_changed

    def not_rolled_out(self, objects: Sequence[JsonObject]) -> list[str]:
        return self.waiting.pop(0) if self.waiting else []

    def missing_ground(self, entry: VerificationEntry) -> str | None:
        return self.missing.get(entry.name)

    def delete(self, created: Sequence[CreatedObject], timeout_sec: float) -> list[str]:
        if self.delete_fails is not None:
            raise self.delete_fails
        self.deleted += [item.name for item in created]
        return self.not_deleted

    def close(self) -> None:
        self.closed = True


class FakeAgent:
    """Does in its turn what the test says."""

    name = "fake-agent"

    def __init__(self, act: Callable[[AgentTurn], AgentResult | None] | None = None) -> None:
        self._act = act
        self.turns: list[AgentTurn] = []

    def run(self, turn: AgentTurn) -> AgentResult:
        self.turns.append(turn)
        done = self._act(turn) if self._act is not None else None
        return done if done is not None else AgentResult(AgentStatus.COMPLETED, 0.1, exit_code=0)


class Recorder(NullReporter):
    """Remembers the phases and the notices, and may interrupt when a phase begins."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self.notices: list[str] = []
        self.judged: dict[str, str] = {}
        self.interrupt_at: Phase | None = None

    def phase_started(self, task_id: str, phase: Phase, detail: str) -> None:
        self.phases.append(phase)
        if phase is self.interrupt_at:
            raise KeyboardInterrupt

    def notice(self, task_id: str, text: str) -> None:
        self.notices.append(text)

    def entry_judged(self, task_id: str, name: str, status: str, reason: str) -> None:
        self.judged[name] = status
