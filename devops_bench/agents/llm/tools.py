"""What the model can do: run kubectl and bash, read and write files of its own folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devops_bench.agents.base import AgentTurn
from devops_bench.agents.llm.excerpt import MAX_ANSWER, Excerpted, shown
from devops_bench.agents.process import agent_environment
from devops_bench.agents.sandbox.bwrap import WORK_DIR
from devops_bench.agents.sandbox.session import Launch, SandboxSession
from devops_bench.core.boundedfile import BoundedFile
from devops_bench.core.errors import InvalidInputError
from devops_bench.core.paths import resolve_below
from devops_bench.core.process import EndedBy, ProcessResult, Program, run_program
from devops_bench.core.secretforms import RedactedOutput

MAX_FILE_BYTES = 1024 * 1024
"""The most that a file is written with."""

KEPT_BYTES = 4 * 1024 * 1024
"""The first ones of each stream of a program are kept among the results."""
_GRACE_SEC = 2.0
_LEAST_TIMEOUT_SEC = 0.1


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool came to.

    Attributes:
        text: What the model is told.
        exit_code: Of the program, ``None`` without one.
        is_error: Whether it failed.
    """

    text: str
    exit_code: int | None = None
    is_error: bool = False


class Workbench:
    """The tools of one turn. Every program ends, with all that it started, before it is answered.

    Args:
        turn: The turn.
        home: The agent's home.
        session: The sandbox that programs run in, ``None`` for none.
        deadline: When the turn ends, as ``time.monotonic`` counts.
        timeout_sec: Seconds that one program may take, > 0.

    Attributes:
        stop: Set to end a program that runs.
        leftovers: Processes that programs had left behind and that were ended; ``None`` where
            nobody could look for them.
        unobserved: Why the end of a program was not observed; empty when all were.
    """

    def __init__(
        self,
        turn: AgentTurn,
        home: Path,
        session: SandboxSession | None,
        *,
        deadline: float,
        timeout_sec: float,
    ) -> None:
        self._turn = turn
        self._env = agent_environment(turn, home)
        self._session = session
        self._deadline = deadline
        self._timeout_sec = timeout_sec
        self._numbers = itertools.count(1)
        self._folder = turn.output_dir / "tools"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._one_at_a_time = threading.Lock()
        self.stop = threading.Event()
        self.leftovers: int | None = 0
        self.unobserved = ""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of its programs."""
        return self._env

    def kubectl(self, arguments: str, stdin: str | None = None) -> ToolAnswer:
        """Run kubectl.

        Args:
            arguments: Its arguments, quoted as for a shell; no shell reads them.
            stdin: What it reads, for ``-f -``.
        """
        try:
            words = shlex.split(arguments)
        except ValueError as exc:
            return ToolAnswer(f"the arguments cannot be split: {exc}", is_error=True)
        if words[:1] == ["kubectl"]:
            del words[0]
        return self._run(["kubectl", *words], stdin)

    def bash(self, command: str) -> ToolAnswer:
        """Run a command line with bash in the working folder."""
        return self._run(["bash", "-c", command], None)

    def read_file(self, path: str) -> ToolAnswer:
        """Return a text file of the working folder."""
        try:
            file = self._below(path)
            with file.open("rb") as stream:
                head = stream.read(MAX_ANSWER)
                total = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, total - MAX_ANSWER))
                tail = stream.read(MAX_ANSWER)
        except (OSError, InvalidInputError) as exc:
            return ToolAnswer(f"{path} cannot be read: {self._why(exc)}", is_error=True)
        return ToolAnswer(shown(head, tail, max(total, len(head))))

    def write_file(self, path: str, content: str) -> ToolAnswer:
        """Write a text file of the working folder, and the folders that it is in."""
        data = content.encode("utf-8", errors="replace")
        if len(data) > MAX_FILE_BYTES:
            return ToolAnswer(f"{path} is larger than {MAX_FILE_BYTES} bytes", is_error=True)
        try:
            file = self._below(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        except (OSError, InvalidInputError) as exc:
            return ToolAnswer(f"{path} cannot be written: {self._why(exc)}", is_error=True)
        return ToolAnswer(f"wrote {len(data)} bytes")

    def _below(self, path: str) -> Path:
        """Return a path in the working folder; symlinks that a program made lead nowhere else."""
        for root in (str(WORK_DIR), str(self._turn.work_dir)):
            if path == root or path.startswith(f"{root}/"):
                path = path[len(root) :].lstrip("/") or "."
        file = resolve_below(self._turn.work_dir, path)
        if file.exists() and not file.is_file():
            raise InvalidInputError("it is not a file")
        return file

    def _run(self, argv: Sequence[str], stdin: str | None) -> ToolAnswer:
        # One after the other: what a program left behind is told from what another one runs.
        with self._one_at_a_time:
            return self._run_alone(argv, stdin)

    def _run_alone(self, argv: Sequence[str], stdin: str | None) -> ToolAnswer:
        number = next(self._numbers)
        files = [self._folder / f"{number}.{name}" for name in ("stdout", "stderr")]
        left = self._deadline - time.monotonic()
        launch = None if self._session is None else self._session.launch(argv, self._env)
        with contextlib.ExitStack() as stack:
            try:
                # The model is told what was printed; the files are among the results, without
                # secrets.
                said = [self._sink(file, stack) for file in files]
                done = self._run_to_its_end(argv, stdin, left, launch, said)
            except (OSError, ValueError) as exc:
                return ToolAnswer(f"{argv[0]} could not be started: {_why(exc)}", is_error=True)
        if self._session is not None and launch is not None:
            asked = done.ended_by is not EndedBy.ITSELF
            code = self._session.finish(launch, asked=asked)
            done = done if code is None else replace(done, exit_code=code)
        # What could not be counted once is not known in all.
        if self.leftovers is not None:
            self.leftovers = None if done.leftovers is None else self.leftovers + done.leftovers
        if done.lost or done.unkillable:
            self.unobserved = "a program of a tool was not seen to its end"
        text = said[0].excerpt.followed_by(said[1].excerpt).shown()
        if done.ended_by is not EndedBy.ITSELF:
            text += f"\n[ended after {done.elapsed_sec:.0f} s: its time was over]"
        failed = done.exit_code != 0 or done.ended_by is not EndedBy.ITSELF
        return ToolAnswer(text, done.exit_code, failed)

    def _run_to_its_end(
        self,
        argv: Sequence[str],
        stdin: str | None,
        left_sec: float,
        launch: Launch | None,
        said: Sequence[Excerpted],
    ) -> ProcessResult:
        return run_program(
            Program(
                argv=argv if launch is None else launch.argv,
                cwd=self._turn.work_dir,
                env=self._env if launch is None else launch.env,
                stdout=said[0],
                stderr=said[1],
                stdin=None if stdin is None else stdin.encode(),
                grace_sec=_GRACE_SEC,
            ),
            timeout_sec=max(_LEAST_TIMEOUT_SEC, min(self._timeout_sec, left_sec)),
            cancel=self.stop,
        )

    def _sink(self, path: Path, stack: contextlib.ExitStack) -> Excerpted:
        kept = RedactedOutput(BoundedFile(path, KEPT_BYTES), self._turn.transcript.secrets)
        return stack.enter_context(contextlib.closing(Excerpted(kept)))

    def _why(self, exc: Exception) -> str:
        """Return why something was refused, in a sandbox by the paths that it has there."""
        text = _why(exc)
        if self._session is not None:
            for folder in (self._turn.work_dir, self._turn.work_dir.resolve()):
                text = text.replace(str(folder), str(WORK_DIR))
        return text


def _why(exc: Exception) -> str:
    return exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
