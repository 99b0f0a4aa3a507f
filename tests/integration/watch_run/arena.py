"""Whole tasks on a real API server, with an agent that is a function of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.clusters.kubeconfig import KubeconfigProvider
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.default import DefaultEvalHarness
from devops_bench.evalharness.events import NullReporter, Phase
from devops_bench.evalharness.recordings import find_recordings
from devops_bench.evalharness.replay import replay
from devops_bench.results.evidence.reader import read_evidence
from devops_bench.results.journal import read_journal
from devops_bench.results.model import AfterTurnRow, CoverageRow, ReportRow, TaskResult
from devops_bench.tasks.model import Setup, Task
from devops_bench.verification.spec import parse_entries
from tests.integration.watch.observing import Bench

TASK = "task"


class Agent:
    """An agent that is a function."""

    name = "test"

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self.turns = 0

    def run(self, turn: AgentTurn) -> AgentResult:
        self.turns += 1
        self._act()
        return AgentResult(AgentStatus.COMPLETED, 0.0, exit_code=0)


class Reporter(NullReporter):
    """Remembers what is said, and does something when a phase begins or an entry is judged."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.at_phase: dict[Phase, Callable[[], object]] = {}

    def phase_started(self, task_id: str, phase: Phase, detail: str) -> None:
        act = self.at_phase.get(phase)
        if act is not None:
            threading.Thread(target=act).start()

    def notice(self, task_id: str, text: str) -> None:
        self.notices.append(text)


class Arena:
    """Runs tasks on the namespace of a bench.

    Args:
        at: The bench.
        folder: A new folder.
    """

    def __init__(self, at: Bench, folder: Path) -> None:
        self.at = at
        self.folder = folder
        self.reporter = Reporter()
        self.agent = Agent(lambda: None)
        self.token: str | None = None

    def entry(self, name: str, kind: str = "configmaps", **rest: object) -> JsonObject:
        """Return an entry that wants the object ``it`` to say ``good``; by default a safeguard."""
        check = {
            "type": "resource_property",
            "kind": kind,
            "namespace": self.at.namespace,
            "resource_name": "it",
            "path": "data.v",
            "op": "eq",
            "value": "good",
        }
        raw = {"name": name, "role": "safeguard", "mode": "hold", "check": check, **rest}
        if raw["role"] == "safeguard":
            raw.setdefault("severity", "catastrophic")
        return raw  # type: ignore[return-value]

    def run(self, act: Callable[[], object], *raw: JsonObject) -> TaskResult:
        """Run a task of these entries whose agent does ``act``."""
        entries, errors = parse_entries(list(raw))
        assert errors == []
        self.agent = Agent(act)
        task = Task(
            id=TASK,
            prompt="do it",
            source=self.folder / TASK / "task.yaml",
            setup=Setup(ready=()),
            entries=tuple(entries),
        )
        config = self.folder / "run.kubeconfig"
        self.at.plane.kubeconfig(config, self.at.proxy.url, self.token)
        harness = DefaultEvalHarness(
            KubeconfigProvider(config),
            lambda _: self.agent,
            run_id="run",
            reporter=self.reporter,
        )
        result = harness.run_task(task, self.folder / "results")
        self._assert_replays(result)
        return result

    def _assert_replays(self, result: TaskResult) -> None:
        """Whatever the server did in a test, what was recorded comes to the same again."""
        folder = self.folder / "results" / TASK
        if read_evidence(folder).header is None:
            return
        (found,) = find_recordings(folder)
        rows = list(replay(found).rows)
        assert rows == result.verification_report

    def events(self, name: str) -> list[JsonObject]:
        """Return the journal's lines of one event."""
        journal = read_journal(self.folder / "results" / TASK)
        return [line for line in journal if line["event"] == name]


def row(result: TaskResult, name: str) -> ReportRow:
    return next(item for item in result.verification_report if item["name"] == name)


def coverage(result: TaskResult, name: str) -> CoverageRow:
    return row(result, name)["coverage"]


def after_turn(result: TaskResult, name: str) -> AfterTurnRow:
    return row(result, name)["after_turn"]
