"""The sandbox of bubblewrap for one turn: every program of it in namespaces of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devops_bench.agents.sandbox import jail
from devops_bench.agents.sandbox.bwrap import (
    Layout,
    bwrap_options,
    is_visible,
    visible_folders,
    write_etc,
)
from devops_bench.agents.sandbox.doors import Door, api_servers, hosts_file, make_doors
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.report import SandboxReport
from devops_bench.agents.sandbox.session import Launch
from devops_bench.core.errors import AgentError
from devops_bench.core.json import JsonObject, JsonValue

_MOVED_VARIABLES = ("HOME", "TMPDIR", "KUBECONFIG")


@dataclass(slots=True)
class BwrapSession:
    """The sandbox of a turn; programs may be started in it one after the other.

    Attributes:
        options: What the user asked for.
        layout: Which folders are where.
        doors: What can be reached.
        bwrap: The path of bubblewrap.
        state_dir: A folder of ours for what the sandbox needs, which the agent does not see.
    """

    options: SandboxOptions
    layout: Layout
    doors: tuple[Door, ...]
    bwrap: str
    state_dir: Path
    _started: int = 0
    _counts: list[int] = field(default_factory=list)

    def launch(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        terminal: bool = False,  # noqa: ARG002 - its streams are passed on, whatever they are
    ) -> Launch:
        """Return what to start so that a program runs in the sandbox.

        Args:
            argv: The program and its arguments; a name is looked up on the ``PATH`` of ``env``.
            env: Its environment, with paths of ours.
            terminal: Of no meaning here.

        Raises:
            AgentError: The program is not in the sandbox.
        """
        moved = {name: value for name, value in env.items() if name != "PWD"}
        for name in _MOVED_VARIABLES:
            if name in moved:
                moved[name] = self.layout.inside_word(moved[name])
        folders = visible_folders(self.layout, env.get("PATH") or os.defpath)
        there = [str(self.layout.inside(folder)) for folder in folders]
        if self.layout.kubectl is not None:
            there.insert(0, str(self.layout.inside(self.layout.kubectl).parent))
        moved["PATH"] = os.pathsep.join(there)
        program = self._program(argv[0], folders, env)
        words = [self.layout.inside_word(word) for word in argv[1:]]
        self._started += 1
        report = self.state_dir / f"report-{self._started}.json"
        order: JsonObject = {
            "doors": [door.as_json() for door in self.doors],
            "report": str(report),
            "bwrap": self.bwrap,
            "options": list(bwrap_options(self.layout)),
        }
        command = [sys.executable, "-I", "-S", jail.__file__, json.dumps(order)]
        return Launch([*command, program, *words], moved, str(report))

    def finish(
        self,
        launch: Launch,
        *,
        asked: bool = False,  # noqa: ARG002 - it makes no difference here
    ) -> int | None:
        """Read how a program's network went; to be called when it has ended.

        Args:
            launch: What was started.
            asked: Of no meaning here.

        Raises:
            AgentError: The sandbox could not be made, so that the program never ran.
        """
        with contextlib.suppress(FileNotFoundError, ValueError):  # it was killed before it wrote
            said: JsonValue = json.loads(Path(launch.key).read_text(encoding="utf-8"))
            if not isinstance(said, dict):
                return None
            if "error" in said:
                raise AgentError(f"the sandbox could not be made: {said['error']}")
            counts = said.get("connections")
            if isinstance(counts, list):
                numbers = [count if isinstance(count, int) else 0 for count in counts]
                before = self._counts or [0] * len(numbers)
                self._counts = [a + b for a, b in zip(before, numbers, strict=True)]
        return None

    def report(self) -> SandboxReport:
        """Return what the result says about it."""
        names = [str(door.target) for door in self.doors]
        counts = self._counts or [0] * len(names)
        return SandboxReport(
            state=self.options.kind,
            reachable=tuple(names),
            connections=tuple((n, c) for n, c in zip(names, counts, strict=True) if c),
            readable=tuple(str(path) for path in self.layout.readable),
        )

    def _program(self, name: str, folders: Sequence[Path], env: Mapping[str, str]) -> str:
        """Return the program's path in the sandbox, or refuse what is not there."""
        if name == "kubectl" and self.layout.kubectl is not None:
            return str(self.layout.inside(self.layout.kubectl))
        found = shutil.which(name, path=os.pathsep.join(map(str, folders)))
        if found is not None and is_visible(self.layout, Path(found)):
            return str(self.layout.inside(Path(found)))
        outside = shutil.which(name, path=env.get("PATH"))
        why = (
            "it is not on its PATH"
            if outside is None
            else f"{outside} is not in the sandbox (--sandbox-read {Path(outside).parent} opens it)"
        )
        raise AgentError(f"the agent {name!r} could not be started: {why}")


@contextlib.contextmanager
def open_bwrap_session(
    options: SandboxOptions,
    *,
    home: Path,
    work_dir: Path,
    path_prefix: Sequence[Path] = (),
    reads: Sequence[Path] = (),
) -> Iterator[BwrapSession]:
    """Yield the sandbox of a turn; see ``open_session``.

    Raises:
        AgentError: The sandbox cannot be had, or the kubeconfig cannot be read.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise AgentError(
            "--sandbox bwrap needs bubblewrap (Debian, Ubuntu: apt install bubblewrap)"
        )
    kubeconfig = home / ".kube" / "config"
    servers = api_servers(kubeconfig if kubeconfig.exists() else None)
    doors = make_doors((*servers, *options.allowed))
    with tempfile.TemporaryDirectory(prefix="devops-bench-sandbox-") as name:
        state_dir = Path(name)
        etc = state_dir / "etc"
        etc.mkdir()
        write_etc(etc, hosts_file(doors))
        layout = Layout(
            home=home,
            work_dir=work_dir,
            etc=etc,
            path_prefix=tuple(path_prefix),
            readable=tuple(dict.fromkeys((*options.readable, *reads))),
            hidden=options.hidden,
        )
        # The kubectl that it would have without a sandbox comes along, alone.
        path = [*map(str, path_prefix), os.environ.get("PATH") or os.defpath]
        kubectl = shutil.which("kubectl", path=os.pathsep.join(path))
        if kubectl is not None and not is_visible(layout, Path(kubectl)):
            layout = replace(layout, kubectl=Path(kubectl).resolve())
        yield BwrapSession(options, layout, doors, bwrap, state_dir)
