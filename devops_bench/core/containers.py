"""The Docker daemon, asked through its own client, and the containers that a killed command left.

All containers of one sandbox carry one label, and a private folder of the command says which
(:data:`NOTE`), so that whoever finds the folder abandoned can remove them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from devops_bench.core.errors import ContainerError

LABEL: Final = "devops-bench.sandbox"
"""The label of every container of ours; its value names the sandbox."""

NOTE: Final = "docker_sandbox"
"""The note of a private folder with the value of the label."""

_PLACES: Final = ("DOCKER_HOST", "DOCKER_CONTEXT")
"""What says which daemon is meant; noted too, for the next command may mean another one."""

_VARIABLES: Final = (
    *_PLACES,
    *("DOCKER_API_VERSION", "DOCKER_CERT_PATH", "DOCKER_CONFIG", "DOCKER_TLS", "DOCKER_TLS_VERIFY"),
    *("HOME", "PATH", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"),
)

_TIMEOUT_SEC: Final = 60.0
_REMOVALS: Final = 3
_HINTS: Final = ("See 'docker ", "Run 'docker ")
"""How the client's lines begin that come after what is wrong, in older and in newer versions."""


@dataclass(frozen=True, slots=True)
class DockerClient:
    """The client and how it finds its daemon.

    Attributes:
        program: Its path.
        env: The whole environment that it needs for itself.
    """

    program: str
    env: Mapping[str, str]

    @classmethod
    def find(cls, ours: Mapping[str, str] | None = None) -> DockerClient:
        """Return the client on the ``PATH``; whether a daemon answers is not asked.

        Args:
            ours: The environment to look in; that of this process when it is ``None``.

        Raises:
            ContainerError: There is none.
        """
        ours = os.environ if ours is None else ours
        program = shutil.which("docker", path=ours.get("PATH") or os.defpath)
        if program is None:
            raise ContainerError("docker is not installed: there is no `docker` on PATH")
        return cls(program, {name: ours[name] for name in _VARIABLES if name in ours})

    def ask(
        self,
        *words: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout_sec: float = _TIMEOUT_SEC,
    ) -> str:
        """Run a command of the client, and return what it printed, without the last newline.

        Args:
            words: The command and its arguments.
            stdin: What it reads; ``None`` for nothing.
            env: Its environment instead of :attr:`env`.
            timeout_sec: Seconds after which the daemon counts as gone, > 0.

        Raises:
            ContainerError: It failed, or did not answer in time; the message is its own last line.
        """
        try:
            done = subprocess.run(
                [self.program, *words],
                env=dict(self.env if env is None else env),
                input=b"" if stdin is None else stdin,
                capture_output=True,
                timeout=timeout_sec,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise ContainerError(
                f"docker {words[0]} did not answer within {timeout_sec:g} s"
            ) from exc
        except (OSError, ValueError) as exc:
            raise ContainerError(f"docker could not be started: {exc}") from exc
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            said = [line for line in said if line and not line.startswith(_HINTS)]
            why = said[-1] if said else f"exit code {done.returncode}"
            raise ContainerError(f"docker {words[0]}: {why}")
        return done.stdout.decode(errors="replace").rstrip("\n")

    def notes(self, sandbox: str) -> dict[str, str]:
        """Return what a private folder must say so that :func:`remove_abandoned` can do its work.

        Args:
            sandbox: The value of the label.
        """
        return {NOTE: sandbox, **{name: self.env[name] for name in _PLACES if name in self.env}}

    def remove(self, sandbox: str) -> int:
        """Remove all containers of a sandbox, running or not, and return how many there were.

        Args:
            sandbox: The value of the label.

        Raises:
            ContainerError: The daemon did not answer, or one of them is still there.
        """
        found = left = self._containers(sandbox)
        refused = ""
        # An engine may refuse what ends just now, or what another one still depends on.
        for _ in range(_REMOVALS):
            # The newest first and one after the other: the first one lends the others its network.
            for container in left:
                try:
                    self.ask("rm", "--force", "--volumes", container)
                except ContainerError as exc:  # it may be gone already: what counts is what is left
                    refused = f" ({exc})"
            left = self._containers(sandbox)
            if not left:
                return len(found)
        raise ContainerError(
            f"the containers with the label {LABEL}={sandbox} could not be removed{refused}"
        )

    @contextlib.contextmanager
    def removing(self, sandbox: str) -> Iterator[None]:
        """Remove all containers of a sandbox at the end of a block, however it ends.

        Args:
            sandbox: The value of the label.

        Raises:
            ContainerError: As :meth:`remove`; what went wrong in the block goes before it.
        """
        try:
            yield
        except BaseException:
            with contextlib.suppress(ContainerError):
                self.remove(sandbox)
            raise
        self.remove(sandbox)

    def _containers(self, sandbox: str) -> Sequence[str]:
        listed = self.ask("ps", "-aq", "--no-trunc", "--filter", f"label={LABEL}={sandbox}")
        return listed.split()


def remove_abandoned(notes: Mapping[str, str]) -> list[str]:
    """Remove the containers of a killed command.

    Args:
        notes: The notes of its private folder.

    Returns:
        Lines for the reader: what was removed, or what could not be and how to do it by hand.
    """
    sandbox = notes.get(NOTE)
    if not sandbox:
        return []
    places = {name: notes[name] for name in _PLACES if name in notes}
    ours = {name: value for name, value in os.environ.items() if name not in _PLACES}
    try:
        count = DockerClient.find({**ours, **places}).remove(sandbox)
    except ContainerError as exc:
        where = "".join(f"{name}={value} " for name, value in places.items())
        return [
            f"the agent's containers of that run may still be there ({exc}); this removes them:",
            f"  {where}docker ps -aq --filter label={LABEL}={sandbox} | xargs {where and 'env '}"
            f"{where}docker rm -fv",
        ]
    return [f"{count} container(s) of that run were removed"] if count else []
