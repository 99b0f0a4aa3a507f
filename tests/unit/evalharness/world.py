"""A harness and everything around it, for tests of its phases."""

from __future__ import annotations

import threading
from pathlib import Path

from devops_bench.agents.base import AgentResult, AgentTurn
from devops_bench.evalharness.default import DefaultEvalHarness, HarnessOptions, OpenEvidence
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.results.journal import read_journal
from devops_bench.results.model import ReportRow, TaskResult
from devops_bench.tasks.model import Setup, Task
from tests.unit.evalharness.fakes import FakeAccess, FakeAgent, FakeProvider, Recorder
from tests.unit.evalharness.helpers import Answer, make_entry, watched

OBJECTIVE = make_entry("fixed", "objective", "converge")
FLOOR = watched("floor")
OBJECTS = Setup(objects=({"kind": "ConfigMap"}, {"kind": "ConfigMap"}), ready=())


class World:
    """A harness and everything around it."""

    def __init__(self, tmp_path: Path, answers: dict[str, Answer] | None = None) -> None:
        self.run_dir = tmp_path
        self.provider = FakeProvider()
        self.access = FakeAccess(answers)
        self.agent = FakeAgent()
        self.reporter = Recorder()
        self.options = HarnessOptions()
        self.open_evidence: OpenEvidence = open_evidence

    def run(self, task: Task) -> TaskResult:
        harness = DefaultEvalHarness(
            self.provider,
            lambda _: self.agent,
            run_id="r1",
            reporter=self.reporter,
            options=self.options,
            connect=lambda *_: self.access,
            record=self.open_evidence,
        )
        return harness.run_task(task, self.run_dir)

    def act(self, deed: object) -> None:
        """Let the agent raise ``deed``, or return it."""

        def do(turn: AgentTurn) -> AgentResult | None:
            if isinstance(deed, BaseException):
                raise deed
            assert isinstance(deed, AgentResult)
            return deed

        self.agent = FakeAgent(do)

    def events(self) -> list[object]:
        return [record["event"] for record in read_journal(self.run_dir / "t1")]


def row(result: TaskResult, name: str) -> ReportRow:
    return next(row for row in result.verification_report if row["name"] == name)


def no_monitor_is_left() -> bool:
    return not any("safeguard" in thread.name for thread in threading.enumerate())
