"""Which sandboxes this machine has."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from devops_bench.agents.sandbox.options import SandboxKind, SandboxOptions
from devops_bench.agents.sandbox.session import open_session
from devops_bench.core.errors import AgentError, InvalidInputError

_TIMEOUT_SEC = 20.0


@dataclass(frozen=True, slots=True)
class SandboxAvailability:
    """Whether a sandbox can be had here.

    Attributes:
        kind: Which.
        available: Whether one was made and a program ran in it.
        detail: Its version, or what is missing and what would help.
    """

    kind: SandboxKind
    available: bool
    detail: str


def availability() -> tuple[SandboxAvailability, ...]:
    """Return what can be had here; each is tried for real. Takes at most some seconds."""
    return (bwrap_availability(), docker_availability())


def bwrap_availability() -> SandboxAvailability:
    """Return whether bubblewrap can be used: it is there, and a program runs in its sandbox."""
    if not sys.platform.startswith("linux"):
        return SandboxAvailability("bwrap", False, "bubblewrap is for Linux")
    if shutil.which("bwrap") is None:
        return SandboxAvailability(
            "bwrap", False, "bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap)"
        )
    try:
        with tempfile.TemporaryDirectory() as name:
            home, work_dir = Path(name) / "home", Path(name) / "work"
            home.mkdir()
            work_dir.mkdir()
            with open_session(SandboxOptions("bwrap"), home=home, work_dir=work_dir) as session:
                launch = session.launch(["true"], {"PATH": "/usr/bin:/bin"})
                tried = _run(launch.argv, launch.env)
                session.finish(launch)
    except (AgentError, OSError, subprocess.SubprocessError) as exc:
        return SandboxAvailability("bwrap", False, f"{exc} (are user namespaces allowed here?)")
    if tried.returncode != 0:
        said = tried.stderr.strip() or f"exit code {tried.returncode}"
        return SandboxAvailability(
            "bwrap", False, f"bubblewrap does not work here: {said} (user namespaces?)"
        )
    version = _run(["bwrap", "--version"], {"PATH": "/usr/bin:/bin:/usr/local/bin"})
    return SandboxAvailability("bwrap", True, version.stdout.strip())


def docker_availability() -> SandboxAvailability:
    """Return that there is none with Docker, and whether that is for want of a daemon too."""
    docker = shutil.which("docker")
    if docker is None:
        return SandboxAvailability("docker", False, "docker is not installed")
    try:
        tried = _run([docker, "version", "--format", "{{.Server.Version}}"], None)
    except (OSError, subprocess.SubprocessError) as exc:
        return SandboxAvailability("docker", False, f"docker does not answer: {exc}")
    if tried.returncode != 0:
        said = tried.stderr.strip().splitlines()
        return SandboxAvailability("docker", False, said[-1] if said else "docker does not answer")
    # A container without the doors would reach nothing, and one with a network everything.
    version = tried.stdout.strip()
    return SandboxAvailability(
        "docker", False, f"docker {version} is there, but devops-bench has no sandbox with it yet"
    )


def require(kind: SandboxKind) -> None:
    """Refuse a sandbox that cannot be had here.

    Raises:
        InvalidInputError: It cannot; the message says what is missing.
    """
    found = bwrap_availability() if kind == "bwrap" else docker_availability()
    if not found.available:
        raise InvalidInputError(f"--sandbox {kind} is not available: {found.detail}")


def _run(argv: list[str], env: dict[str, str] | None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SEC,
        check=False,
    )
