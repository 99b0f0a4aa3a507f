"""What the containers of a sandbox are made with: the words for ``docker create``.

Nothing here asks a daemon. Values of the agent's variables are never among the words, which every
user of the machine can read: ``--env NAME`` takes the value from the client's own environment.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.agents.sandbox.bwrap import HOME, WORK_DIR, Layout, is_system_path
from devops_bench.core.containers import LABEL
from devops_bench.core.errors import AgentError

PIDS = 4096
"""Processes and threads of a container, together."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The ``PATH`` of an image that names none, as the engine has it."""

OWN_FILES = ("group", "hosts", "nsswitch.conf", "passwd", "resolv.conf")
"""The files of ``/etc`` that are ours and not the image's."""

EMPTY = "empty"
"""The folder beside them that is put over what must not be seen."""

# The client adds those of its configuration file unless they are named; named and not set they do
# not exist in the container, https://docs.docker.com/engine/cli/proxy/
_PROXIES = tuple(
    name
    for upper in ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
    for name in (upper, upper.lower())
)
_PATHS = frozenset({"HOME", "PATH"})
"""Variables whose values are paths in the sandbox; the client needs its own of these names."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of the daemon.

    Attributes:
        reference: What to start it by: its id, so that it is the one that was looked at.
        shown: Its name with the digest, for the result.
        path: Its ``PATH``.
    """

    reference: str
    shown: str
    path: str


def mount(source: Path, target: Path | str, *, writable: bool = False) -> list[str]:
    """Return the words for a file or folder of this machine in a container."""
    fields = ["type=bind", f"source={source}", f"target={target}"]
    if not writable:
        fields.append("readonly")
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)  # a path may hold a comma or a quote
    return ["--mount", line.getvalue()]


def locked_down(name: str, sandbox: str) -> list[str]:
    """Return the words that every container of a sandbox begins with.

    Args:
        name: The container's name.
        sandbox: The value of its label.
    """
    return [
        *("--name", name, "--label", f"{LABEL}={sandbox}", "--pull", "never"),
        *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--pids-limit", str(PIDS), "--no-healthcheck", "--restart", "no"),
    ]


def mounts(layout: Layout) -> list[str]:
    """Return the words for what the agent sees besides the image.

    Args:
        layout: What is where.
    """
    words: list[str] = []
    for name in OWN_FILES:
        words += mount(layout.etc / name, f"/etc/{name}")
    for readable in layout.readable:
        if readable not in layout.hidden:  # two mounts at one place are refused
            words += mount(readable, readable)
    for folder in layout.hidden:
        if any(folder.is_relative_to(opened) for opened in layout.readable):
            # No tmpfs: Podman 4.3 puts it below what it shall cover.
            words += mount(layout.etc / EMPTY, folder)
    for folder in layout.path_prefix:
        words += mount(folder, layout.inside(folder))
    if layout.kubectl is not None:
        words += mount(layout.kubectl, layout.inside(layout.kubectl))
    words += mount(layout.home, HOME, writable=True)
    words += mount(layout.work_dir, WORK_DIR, writable=True)
    # What is mounted there without options has noexec, which a script in TMPDIR would not expect.
    words += ("--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777")  # noqa: S108 - its own
    words += ("--tmpfs", "/run:rw,nosuid,nodev,mode=1777", "--workdir", str(WORK_DIR))
    return words


def search_path(layout: Layout, ours: str, image: str) -> str:
    """Return the ``PATH`` in the sandbox: our folders that are in it, then those of the image.

    Args:
        layout: What is where.
        ours: The ``PATH`` that the agent would have without a sandbox.
        image: The image's.
    """
    folders: list[str] = []
    if layout.kubectl is not None:
        folders.append(str(layout.inside(layout.kubectl).parent))
    for text in ours.split(os.pathsep):
        folder = Path(text)
        opened = any(folder.is_relative_to(root) for root in layout.readable)
        if layout.inside(folder) != folder or (opened and not is_system_path(folder)):
            folders.append(str(layout.inside(folder)))
    return os.pathsep.join([*folders, image])


def environment(
    inside: Mapping[str, str], client: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return the words for the agent's variables, and the environment of the client with them.

    Args:
        inside: The agent's whole environment, as it is in the sandbox.
        client: What the client needs for itself.

    Raises:
        AgentError: The client has another value for a variable than the agent shall have.
    """
    words: list[str] = []
    env = dict(client)
    for name, value in inside.items():
        if name in _PATHS:
            words += ("--env", f"{name}={value}")
            continue
        if client.get(name, value) != value:
            raise AgentError(
                f"--sandbox docker cannot give the agent a {name} that is not our own: the "
                "docker client needs it"
            )
        words += ("--env", name)
        env[name] = value
    for name in _PROXIES:
        if name not in inside:
            words += ("--env", name)
            env.pop(name, None)
    return words, env


def program(argv: Sequence[str], layout: Layout) -> list[str]:
    """Return an agent's command line as it is in the sandbox.

    Args:
        argv: The program, a name or a path of ours or of the image, and its arguments.
        layout: What is where.
    """
    if argv[0] == "kubectl" and layout.kubectl is not None:
        return [str(layout.inside(layout.kubectl)), *map(layout.inside_word, argv[1:])]
    return [layout.inside_word(word) for word in argv]
