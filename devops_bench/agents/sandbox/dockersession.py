"""The sandbox of Docker for one turn: every program of it in a container of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from devops_bench.agents.sandbox.bwrap import Layout, is_system_path, write_etc
from devops_bench.agents.sandbox.docker import (
    DEFAULT_PATH,
    EMPTY,
    Image,
    environment,
    locked_down,
    mounts,
    program,
    search_path,
)
from devops_bench.agents.sandbox.dockernetwork import DockerNetwork, open_network
from devops_bench.agents.sandbox.doors import Door, api_servers, hosts_file, make_doors
from devops_bench.agents.sandbox.options import SandboxOptions
from devops_bench.agents.sandbox.report import SandboxReport
from devops_bench.agents.sandbox.session import Launch
from devops_bench.core.containers import DockerClient
from devops_bench.core.errors import AgentError, ContainerError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.core.runtime import private_folder

_MOVED_VARIABLES = ("HOME", "TMPDIR", "KUBECONFIG")


@dataclass(slots=True)
class DockerSession:
    """The sandbox of a turn; programs may be started in it, also side by side.

    Attributes:
        options: What the user asked for.
        layout: Which folders are where.
        doors: What can be reached.
        client: The daemon's client.
        image: What the programs run in.
        network: Their network.
        sandbox: The value of the label of its containers.
        user: Who the agent is in there, ``UID:GID``.
    """

    options: SandboxOptions
    layout: Layout
    doors: tuple[Door, ...]
    client: DockerClient
    image: Image
    network: DockerNetwork
    sandbox: str
    user: str
    _started: int = 0
    _found: set[str] = field(default_factory=set)

    def launch(
        self, argv: Sequence[str], env: Mapping[str, str], *, terminal: bool = False
    ) -> Launch:
        """Return what starts a container for a program.

        Args:
            argv: The program and its arguments; a name is looked up on the ``PATH`` of the image.
            env: Its environment, with paths of ours.
            terminal: Whether its streams are a terminal.

        Raises:
            AgentError: The program is not in the image, or a variable cannot be given.
        """
        inside = {name: value for name, value in env.items() if name != "PWD"}
        for name in _MOVED_VARIABLES:
            if name in inside:
                inside[name] = self.layout.inside_word(inside[name])
        ours = env.get("PATH") or os.defpath
        inside["PATH"] = search_path(self.layout, ours, self.image.path)
        self._started += 1
        name = f"devops-bench-{self.sandbox}-{self._started}"
        variables, client_env = environment(inside, self.client.env)
        command, *arguments = program(argv, self.layout)
        self._require(argv[0], command, inside["PATH"])
        argv = [
            *(self.client.program, "run", *locked_down(name, self.sandbox)),
            *("--network", f"container:{self.network.container}", "--user", self.user),
            # A first process without a handler ignores SIGTERM: the engine's own comes before it.
            *("--init", "--interactive", *(("--tty",) if terminal else ())),
            # What it prints is kept by us, within bounds; the daemon keeps no copy.
            *("--log-driver", "none", *mounts(self.layout), *variables),
            *("--entrypoint", command, self.image.reference, *arguments),
        ]
        return Launch(argv, client_env, name)

    def finish(self, launch: Launch, *, asked: bool = False) -> int | None:
        """End a program's container, and all processes in it with it.

        Args:
            launch: What was started.
            asked: Whether it was us who ended it: then its container may never have started.

        Returns:
            The program's exit code as the daemon knows it, ``None`` when it never started.

        Raises:
            AgentError: The program never ran, or nobody knows whether it ended.
        """
        try:
            state = self._state(launch)
            if state.get("Running"):
                self.client.ask("stop", "--time", "0", launch.key)
                state = self._state(launch)
            if state:
                self.client.ask("rm", "--force", "--volumes", launch.key)
        except ContainerError as exc:
            raise AgentError(f"the end of the agent's container was not observed: {exc}") from exc
        if state.get("Status", "created") == "created":
            if asked:
                return None
            why = state.get("Error") or "its container did not start, see its error output"
            raise AgentError(f"the agent could not be started in {self.image.shown}: {why}")
        code = state.get("ExitCode")
        return code if isinstance(code, int) else None

    def _require(self, name: str, command: str, path: str) -> None:
        """Refuse a program that the image does not have: the engine's first process only fails.

        In an image without a shell nobody can look; there the program's own end says it.
        """
        if command in self._found:
            return
        said = ""
        with contextlib.suppress(ContainerError):
            said = self.client.ask(
                *("run", "--rm", *locked_down(f"devops-bench-{self.sandbox}-look", self.sandbox)),
                *("--network", "none", "--user", self.user, *mounts(self.layout)),
                *("--env", f"PATH={path}", "--entrypoint", "sh", self.image.reference),
                *("-c", 'command -v "$1" >/dev/null || echo missing', "sh", command),
            )
        if said == "missing":
            raise AgentError(
                f"the agent {name!r} could not be started: it is not in {self.image.shown}, nor "
                "on what --sandbox-read opens"
            )
        self._found.add(command)

    def _state(self, launch: Launch) -> JsonObject:
        """Return the state of a program's container, empty when there is no such container."""
        try:
            said = self.client.ask("container", "inspect", launch.key)
        except ContainerError as exc:
            if "no such" in str(exc).lower():
                return {}
            raise
        found: JsonValue = json.loads(said)
        first = found[0] if isinstance(found, list) and found else None
        state = first.get("State") if isinstance(first, dict) else None
        if not isinstance(state, dict):
            raise ContainerError(f"docker inspect said something else than a state: {said[:80]!r}")
        return state

    def report(self) -> SandboxReport:
        """Return what the result says about it.

        Raises:
            AgentError: The relay is not there any more.
        """
        names = [str(door.target) for door in self.doors]
        counts = self.network.connections()
        return SandboxReport(
            state=self.options.kind,
            reachable=tuple(names),
            connections=tuple((n, c) for n, c in zip(names, counts, strict=True) if c),
            readable=tuple(str(path) for path in self.layout.readable),
            image=self.image.shown,
        )


@contextlib.contextmanager
def open_docker_session(
    options: SandboxOptions,
    *,
    home: Path,
    work_dir: Path,
    path_prefix: Sequence[Path] = (),
    reads: Sequence[Path] = (),
) -> Iterator[DockerSession]:
    """Yield the sandbox of a turn, and remove every container of it; see ``open_session``.

    Raises:
        AgentError: The sandbox cannot be had, the kubeconfig cannot be read, or nobody knows
            whether its containers are gone.
    """
    client = DockerClient.find()
    image = find_image(client, options.image)
    user = container_user(client)
    kubeconfig = home / ".kube" / "config"
    servers = api_servers(kubeconfig if kubeconfig.exists() else None)
    doors = make_doors((*servers, *options.allowed))
    sandbox = secrets.token_hex(6)
    with contextlib.ExitStack() as stack:
        notes = client.notes(sandbox)
        folder = stack.enter_context(private_folder("the agent's sandbox", **notes))
        etc = folder / "etc"
        etc.mkdir()
        uid, gid = map(int, user.split(":"))
        write_etc(etc, hosts_file(doors), uid, gid)
        (etc / "resolv.conf").touch()  # no DNS, and nothing of this machine's
        for file in etc.iterdir():
            file.chmod(0o644)
        (etc / EMPTY).mkdir(mode=0o555)
        layout = _layout(options, home, work_dir, etc, path_prefix, reads)
        # Whatever was started, and however that went: nothing of it is there afterwards.
        stack.enter_context(client.removing(sandbox))
        network = stack.enter_context(open_network(client, sandbox, doors, folder))
        stack.enter_context(
            client.removing(sandbox)
        )  # while the network is there, and not in its end
        yield DockerSession(options, layout, doors, client, image, network, sandbox, user)


def find_image(client: DockerClient, name: str | None) -> Image:
    """Return an image that the daemon has; nothing is pulled.

    Raises:
        ContainerError: The daemon has none of that name, or it is not one for Linux.
    """
    if name is None:
        raise ContainerError("--sandbox docker needs an image: give --sandbox-image IMAGE")
    try:
        found = _object(client.ask("image", "inspect", "--format", "{{json .}}", name))
    except ContainerError as exc:
        raise ContainerError(
            f"there is no image {name!r} here ({exc}); `docker pull {name}` may bring it"
        ) from exc
    if found.get("Os") != "linux":
        raise ContainerError(f"the image {name!r} is for {found.get('Os')}, not for Linux")
    digests, config = found.get("RepoDigests"), found.get("Config")
    listed = [str(digest) for digest in digests] if isinstance(digests, list) else []
    shown = listed[0] if listed else f"{name} ({found.get('Id')})"
    variables = config.get("Env") if isinstance(config, dict) else None
    path = DEFAULT_PATH
    for variable in variables if isinstance(variables, list) else []:
        key, _, value = str(variable).partition("=")
        path = value if key == "PATH" else path
    return Image(str(found.get("Id")), shown, path)


def container_user(client: DockerClient) -> str:
    """Return who in a container is the user that we are, as ``UID:GID``.

    With a daemon of the user's own ("rootless") a container's root is that user.

    Raises:
        ContainerError: The daemon did not answer.
    """
    said: JsonValue = json.loads(client.ask("info", "--format", "{{json .SecurityOptions}}"))
    options = said if isinstance(said, list) else []
    if any("name=rootless" in str(option) for option in options):
        return "0:0"
    return f"{os.getuid()}:{os.getgid()}"


def _layout(
    options: SandboxOptions,
    home: Path,
    work_dir: Path,
    etc: Path,
    path_prefix: Sequence[Path],
    reads: Sequence[Path],
) -> Layout:
    # A program below /usr and the like is the image's; any other is a file of this machine.
    needed = [path for path in reads if not is_system_path(path)]
    layout = Layout(
        home=home,
        work_dir=work_dir,
        etc=etc,
        path_prefix=tuple(path_prefix),
        readable=tuple(dict.fromkeys((*options.readable, *needed))),
        hidden=options.hidden,
    )
    # The kubectl that it would have without a sandbox comes along, alone.
    path = [*map(str, path_prefix), os.environ.get("PATH") or os.defpath]
    kubectl = shutil.which("kubectl", path=os.pathsep.join(path))
    if kubectl is not None and Path(kubectl).parent not in path_prefix:
        layout = replace(layout, kubectl=Path(kubectl).resolve())
    return layout


def _object(text: str) -> JsonObject:
    try:
        said: JsonValue = json.loads(text)
    except ValueError as exc:
        raise ContainerError(f"docker said something that is no JSON: {text[:80]!r}") from exc
    if not isinstance(said, dict):
        raise ContainerError(f"docker said something that is no JSON object: {text[:80]!r}")
    return said
