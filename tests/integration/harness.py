"""Running the real command line from a test, and asking the cluster what came of it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.results.model import ReportRow, TaskResult
from devops_bench.results.writer import read_result

PROGRAM = Path(sys.executable).parent / "devops-bench"
REPOSITORY = Path(__file__).resolve().parents[2]
SPECS = REPOSITORY / "specs"
TIMEOUT_SEC = 180.0


def wait_until(condition: Callable[[], bool], what: str, timeout_sec: float = 60.0) -> None:
    """Look again and again until ``condition`` holds; fail when it does not in time."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout_sec
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_sec:g} s in vain: {what}"
        pause.wait(0.02)


@dataclass(frozen=True, slots=True)
class Plane:
    """The cluster that the tests share.

    Attributes:
        kubeconfig: Its kubeconfig, an administrator's.
        kubectl: A kubectl that fits it.
        provider: ``local``, ``kind`` or ``kubeconfig``.
    """

    kubeconfig: Path
    kubectl: Path
    provider: str

    def run_kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it printed; fail the test when it fails."""
        done = subprocess.run(
            [self.kubectl, "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SEC,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def get(self, *arguments: str) -> JsonObject:
        """``kubectl get … -o json``."""
        loaded: JsonValue = json.loads(self.run_kubectl("get", *arguments, "-o", "json"))
        assert isinstance(loaded, dict)
        return loaded

    def exists(self, *arguments: str) -> bool:
        """Whether ``kubectl get …`` finds it."""
        return self.run_kubectl("get", *arguments, "--ignore-not-found", "-o", "name") != ""


@dataclass(slots=True)
class Finished:
    """A command that has ended.

    Attributes:
        code: Its exit code.
        stdout: What it printed.
        stderr: What it printed on the error stream.
        results: Where its runs went.
        state: Where its planes' state was; on the command line of each of their processes.
    """

    code: int
    stdout: str
    stderr: str
    results: Path
    state: Path

    @property
    def run_dirs(self) -> list[Path]:
        """The folders of its runs."""
        return sorted(self.results.iterdir()) if self.results.is_dir() else []

    def tasks(self) -> dict[str, TaskResult]:
        """The results of its one run, by task."""
        assert len(self.run_dirs) == 1, f"{self.run_dirs}\n{self.stdout}\n{self.stderr}"
        return {task.id: task for task in read_result(self.run_dirs[0]).tasks}

    def task(self) -> TaskResult:
        """The result of its one task."""
        (result,) = self.tasks().values()
        return result

    def row(self, name: str) -> ReportRow:
        """The row of an entry of its one task."""
        return next(row for row in self.task().verification_report if row["name"] == name)

    def error_lines(self) -> list[str]:
        """What a person reads as the error: the lines of stderr that are not logs."""
        return [line for line in self.stderr.splitlines() if line.startswith("error")]

    def __str__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


@dataclass(slots=True)
class Cli:
    """The command line in a place of its own: state, results and working folder.

    Attributes:
        folder: A new folder for all of it.
        environment: Variables to set besides those of the test process.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """Where runs go."""
        return self.folder / "results"

    @property
    def state(self) -> Path:
        """Where the state of its planes is."""
        return self.folder / "state"

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"}
        return {
            **inherited,
            "DEVOPS_BENCH_STATE": str(self.state),
            "NO_COLOR": "1",
            **self.environment,
            **more,
        }

    def run(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Finished:
        """Run ``devops-bench`` to its end; its own failure is a result, not an exception."""
        with self.start(*arguments, env=env) as process:
            stdout, stderr = process.communicate(timeout=TIMEOUT_SEC)
        return self.finished(process.returncode, stdout, stderr)

    def finished(self, code: int, stdout: str, stderr: str) -> Finished:
        """Return what is known of a command that was started and has ended."""
        return Finished(code, stdout, stderr, self.results, self.state)

    @contextmanager
    def start(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """Start ``devops-bench``; kill it at the end of the block, should it still run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        words = [str(word) for word in arguments]
        if words[0] == "run":
            words[1:1] = ["--results-dir", str(self.results)]
        with subprocess.Popen(
            [str(PROGRAM), *words],
            cwd=self.folder,
            env=self._environment(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()


def new_namespace(prefix: str = "it") -> str:
    """Return a name for a namespace that no other test has."""
    return f"{prefix}-{secrets.token_hex(4)}"


def processes_that_mention(text: str) -> set[int]:
    """Return the pids whose command line, environment or working folder holds ``text``."""
    found = set()
    needle = text.encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked, or is another user's
            if (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                continue
            seen = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            if needle in seen or text in str((folder / "cwd").readlink()):
                found.add(int(folder.name))
    return found - {os.getpid()}


def deployment(name: str, namespace: str, **spec: JsonValue) -> JsonObject:
    """Return a small Deployment; ``spec`` adds to its spec."""
    labels: JsonObject = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            },
            **spec,
        },
    }


def namespace_object(name: str) -> JsonObject:
    """Return a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def property_check(kind: str, name: str, namespace: str, **rest: JsonValue) -> JsonObject:
    """Return a ``resource_property`` check of one object."""
    return {
        "type": "resource_property",
        "kind": kind,
        "resource_name": name,
        "namespace": namespace,
        **rest,
    }


def write_task(
    folder: Path,
    *,
    objects: Sequence[JsonObject] = (),
    entries: Sequence[JsonObject] = (),
    oracle: str = "true",
    access: JsonValue = None,
    **rest: JsonValue,
) -> Path:
    """Write a task with the id of its folder, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    setup: JsonObject = {"objects": list(objects)}
    if "ready" in rest:
        setup["ready"] = rest.pop("ready")
    task: JsonObject = {
        "id": folder.name,
        "name": folder.name,
        "prompt": "Do what the entries say.",
        "setup": setup,
        "controls": {"oracle": {"run": oracle}},
        "verification_spec": list(entries),
        **({} if access is None else {"access": access}),
        **rest,
    }
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump(task, sort_keys=False))
    return path
