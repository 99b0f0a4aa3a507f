"""Whole tasks on the shared cluster, with an agent that is a function of what it is given."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from devops_bench.agents.base import Agent as AnyAgent
from devops_bench.agents.base import AgentResult, AgentStatus, AgentTurn
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.kubeconfig import KubeconfigProvider
from devops_bench.core.errors import ApiError
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.default import DefaultEvalHarness, HarnessOptions
from devops_bench.evalharness.recordings import find_recordings
from devops_bench.evalharness.replay import replay
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.rbac import Grant
from devops_bench.results.model import TaskResult
from devops_bench.results.trust import Attribution, RequestReport, ViolationCause
from devops_bench.tasks.access import presets
from devops_bench.tasks.model import Access, Setup, Task
from devops_bench.verification.spec import parse_entries
from tests.integration.harness import Plane, namespace_object

TASK = "task"


def preset(name: str, *namespaces: str) -> Access:
    """Return what a spec with this preset gets."""
    cluster, inside = presets()[name]
    return Access(name, (cluster, Grant(inside.rules, namespaces)))


class Hands:
    """What an agent can do in its turn."""

    def __init__(self, turn: AgentTurn, kubectl: Path) -> None:
        assert turn.kubeconfig is not None
        self.turn = turn
        self._kubectl = kubectl
        self.config = turn.kubeconfig

    def kubectl(
        self, *arguments: str, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._kubectl, "--kubeconfig", self.config, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    @contextlib.contextmanager
    def client(self) -> Iterator[ApiClient]:
        with contextlib.closing(connect(self.config)) as client:
            yield client

    def status_of(self, method: str, path: str, body: JsonObject | None = None) -> int:
        """Return the status that a request comes to."""
        with self.client() as client:
            try:
                client.request(method, path, body=body, timeout_sec=20)
            except ApiError as exc:
                return exc.status
            return 200


class Agent:
    """An agent that is a function."""

    name = "test"

    def __init__(self, act: Callable[[Hands], object], kubectl: Path) -> None:
        self._act = act
        self._kubectl = kubectl
        self.turns = 0

    def run(self, turn: AgentTurn) -> AgentResult:
        self.turns += 1
        self._act(Hands(turn, self._kubectl))
        return AgentResult(AgentStatus.COMPLETED, 0.0, exit_code=0)


class Audited(KubeconfigProvider):
    """The shared cluster with its audit log."""

    def __init__(self, path: Path, audit_log: Path | None) -> None:
        super().__init__(path)
        self._log = audit_log

    @contextlib.contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:
        with super().provide(run_id, run_dir) as cluster:
            yield replace(cluster, audit_log=self._log)


class Yard:
    """Runs tasks in a namespace.

    Args:
        plane: The shared cluster.
        namespace: A name for the namespace; the task's setup makes it.
        folder: A new folder.
        audit_log: The cluster's audit log, ``None`` to do without.
    """

    def __init__(self, plane: Plane, namespace: str, folder: Path, audit_log: Path | None) -> None:
        self.plane = plane
        self.namespace = namespace
        self.folder = folder
        self.audit_log = audit_log
        self.agent = Agent(lambda _: None, plane.kubectl)
        self.objects: list[JsonObject] = [namespace_object(namespace)]
        self.entries: list[JsonObject] = []

    def safeguard(self, name: str, check: JsonObject, **rest: object) -> None:
        """Add a safeguard in hold mode."""
        entry = {"name": name, "role": "safeguard", "mode": "hold", "severity": "catastrophic"}
        self.entries.append({**entry, "check": check, **rest})  # type: ignore[dict-item]

    def quiet(self) -> None:
        """Add a safeguard that holds whatever happens."""
        check: JsonObject = {
            "type": "resource_property",
            "kind": "configmaps",
            "resource_name": "never",
            "namespace": self.namespace,
            "op": "absent",
        }
        self.safeguard("quiet", check)

    def run(self, act: Callable[[Hands], object], access: Access | None) -> TaskResult:
        """Run a task whose agent does ``act``."""
        self.agent = Agent(act, self.plane.kubectl)
        return self.run_with(self.agent, access)

    def run_with(
        self,
        agent: AnyAgent,
        access: Access | None,
        options: HarnessOptions | None = None,
    ) -> TaskResult:
        """Run a task with an agent of the caller's."""
        entries, errors = parse_entries(list(self.entries))
        assert errors == []
        task = Task(
            id=TASK,
            prompt="do it",
            source=self.folder / TASK / "task.yaml",
            setup=Setup(objects=tuple(self.objects)),
            entries=tuple(entries),
            access=access,
        )
        harness = DefaultEvalHarness(
            Audited(self.plane.kubeconfig, self.audit_log),
            lambda _: agent,
            run_id="run",
            options=options,
        )
        result = harness.run_task(task, self.folder / "results")
        if entries and result.agent is not None:
            (found,) = find_recordings(self.folder / "results" / TASK)
            # Whose doing it was is told beside the rows: they are judged again as they were.
            assert list(replay(found).rows) == result.verification_report
        return result


def cause(result: TaskResult, entry: str, number: int = 0) -> ViolationCause:
    """Return what caused a violation of an entry."""
    return attribution(result, entry).violations[number]


def attribution(result: TaskResult, entry: str) -> Attribution:
    """Return whose doing the violations of an entry were."""
    return next(item for item in result.attribution if item.entry == entry)


def told(request: RequestReport | None) -> tuple[str, str, str, str]:
    """Return who did what to what."""
    assert request is not None
    return request.who, request.verb, request.resource, request.object
