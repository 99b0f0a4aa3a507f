"""Bringing up one control plane in its folder, until it is ready for work."""

from __future__ import annotations

import contextlib
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from devops_bench.clusters import components, kubefiles, pki, stages, state
from devops_bench.clusters.base import PROGRAMS_FOLDER
from devops_bench.clusters.binaries import Binaries
from devops_bench.clusters.components import PlaneOptions, Ports
from devops_bench.clusters.dirs import private_dir
from devops_bench.clusters.names import PREFIX
from devops_bench.clusters.rest import Answer, Loopback
from devops_bench.clusters.state import Kind, PlaneState
from devops_bench.clusters.supervision import Program, Supervised
from devops_bench.core.errors import ClusterError
from devops_bench.core.files import write_atomic
from devops_bench.core.json import JsonObject, JsonValue

START_TIMEOUT_SEC: Final = 90.0
_ATTEMPTS: Final = 5
_POLL_SEC: Final = 0.05
_TAIL_LINES: Final = 12
_PORT_TAKEN: Final = "address already in use"


class PortTakenError(ClusterError):
    """A port that was free when it was chosen was taken by somebody else since."""


class Plane:
    """A running control plane, owned by this process until it is detached.

    Made by :func:`start`.
    """

    def __init__(
        self,
        known: PlaneState,
        supervised: Supervised,
        running: dict[str, Program],
        api: Loopback,
    ) -> None:
        self.state = known
        self._supervised = supervised
        self._programs = running
        self._api = api

    @property
    def folder(self) -> Path:
        """The folder of the plane."""
        return self.state.folder

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, mode 0600."""
        return self.state.kubeconfig

    @property
    def credentials(self) -> tuple[Path, ...]:
        """The keys and kubeconfigs of its components, which nobody else has any use for."""
        return components.credentials(self.folder)

    @property
    def bin_dir(self) -> Path:
        """A folder that holds the plane's kubectl and nothing else."""
        return self.folder / PROGRAMS_FOLDER

    @property
    def audit_log(self) -> Path:
        """The API server's audit log: JSON lines, written through."""
        return components.audit_log(self.folder)

    @property
    def logs_dir(self) -> Path:
        """The folder of every component's log."""
        return self.folder / "logs"

    def dead_components(self) -> list[str]:
        """Return the names of the components that have ended by themselves, sorted."""
        # The news of an end may still be on its way; the process itself tells at once.
        return sorted({*self._supervised.exited(), *self.state.dead_components()})

    def restart(self, name: str) -> None:
        """Kill a component if it runs and start it again with the same flags.

        Args:
            name: One of the five, e.g. ``kube-apiserver``.

        Raises:
            ClusterError: It could not be started.
        """
        old = self.state.components.get(name)
        if old is not None and not old.end(signal.SIGKILL, START_TIMEOUT_SEC):
            raise ClusterError(f"{name} (pid {old.pid}) would not end")
        identity = self._supervised.start(self._programs[name])
        self.state = state.with_component(self.state, name, identity)
        state.write(self.state)

    def wait_until_ready(self, timeout_sec: float = START_TIMEOUT_SEC) -> None:
        """Wait until the API server says that it is ready.

        Args:
            timeout_sec: Seconds that this may take, > 0.

        Raises:
            ClusterError: It is not ready in time, or a component has died.
        """
        waiting = _Waiting(self._supervised, self.folder, time.monotonic() + timeout_sec)
        waiting.until("the API server is ready", lambda: _ok(self._api.get("/readyz")))

    def command_line(self, name: str) -> list[str]:
        """Return the command line of one of the five components."""
        return list(self._programs[name].command)

    def detach(self) -> None:
        """Let the plane live on when this process ends."""
        self._supervised.detach()

    def stop(self) -> None:
        """End everything of the plane and remove its folder; safe to call twice."""
        self._supervised.stop()
        # What the supervisor could not end, on a system without parent death signals.
        state.remove(self.state)


def start(
    name: str,
    kind: Kind,
    binaries: Binaries,
    options: PlaneOptions | None = None,
    *,
    keep_logs_in: Path | None = None,
    timeout_sec: float = START_TIMEOUT_SEC,
) -> Plane:
    """Start a plane and wait until it is ready: about five seconds.

    Args:
        name: Its name; must be free.
        kind: Whether it is a run's or ``cluster up``'s.
        binaries: What to run.
        options: What differs from the usual.
        keep_logs_in: Where the logs go when it does not start; ``None`` drops them.
        timeout_sec: Seconds until it must be ready, > 0.

    Raises:
        ClusterError: It did not become ready; the message quotes the last log lines of the
            component that is to blame, and nothing of it is left running.
    """
    deadline = time.monotonic() + timeout_sec
    for attempt in range(1, _ATTEMPTS + 1):
        claimed = state.claim(name, kind)
        starter = _Starter(claimed, binaries, options or PlaneOptions(), deadline)
        try:
            return starter.run()
        except PortTakenError:
            # Between choosing a port and using it another process may take it: choose again.
            starter.give_up(keep_logs_in)
            if attempt == _ATTEMPTS:
                raise
        except BaseException:
            starter.give_up(keep_logs_in)
            raise
    raise AssertionError("the last attempt returns or raises")


class _Starter:
    """One attempt to start a plane."""

    def __init__(
        self, claimed: PlaneState, binaries: Binaries, options: PlaneOptions, deadline: float
    ) -> None:
        self._state = claimed
        self._folder = claimed.folder
        self._binaries = binaries
        self._options = options
        self._deadline = deadline
        self._ports: Ports = components.free_ports()
        self._supervised: Supervised | None = None

    def run(self) -> Plane:
        private_dir(self._folder / "logs")
        keys = pki.create(private_dir(self._folder / "pki"), components.SERVICE_IP)
        self._write_files(keys)
        programs = components.programs(
            self._folder, self._binaries, keys, self._ports, self._options
        )
        supervised = Supervised(self._folder / "logs" / "supervisor.log")
        self._supervised = supervised
        waiting = _Waiting(supervised, self._folder, self._deadline)
        self._remember(
            replace(
                self._state,
                supervisor=supervised.identity,
                server=f"https://127.0.0.1:{self._ports.api}",
                version=self._binaries.kubernetes_version,
                binaries=str(self._binaries.bin_dir),
            )
        )
        api = Loopback(self._ports.api, keys.ca, keys.admin_token)
        self._start(programs[components.ETCD], programs[components.API_SERVER])
        waiting.until("the API server is ready", lambda: _ok(api.get("/readyz")))
        self._create_node(api)
        self._start(*(programs[name] for name in _AFTER_API_SERVER))
        self._wait_for_machinery(waiting, api, keys)
        self._remember(replace(self._state, ready=True))
        return Plane(self._state, supervised, programs, api)

    def give_up(self, keep_logs_in: Path | None) -> None:
        """End what was started and remove the folder; its logs may be kept."""
        if self._supervised is not None:
            self._supervised.stop()
        if keep_logs_in is not None:
            with contextlib.suppress(OSError):  # the error that is on its way says more
                shutil.copytree(self._folder / "logs", keep_logs_in, dirs_exist_ok=True)
        state.remove(self._state)

    def _write_files(self, keys: pki.Pki) -> None:
        folder, server = self._folder, f"https://127.0.0.1:{self._ports.api}"
        name = f"{PREFIX}{self._state.name.removeprefix(PREFIX)}"
        admin = kubefiles.token_user(keys.admin_token)
        kubefiles.write(
            folder / state.KUBECONFIG_FILE, kubefiles.document(name, server, keys.ca, admin)
        )
        for component in pki.COMPONENT_USERS:
            user = kubefiles.certificate_user(keys.cert(component), keys.key(component))
            kubefiles.write(
                components.kubeconfig_of(folder, component),
                kubefiles.document(name, server, keys.ca, user),
            )
        write_atomic(folder / "audit-policy.yaml", yaml.safe_dump(components.audit_policy()))
        write_atomic(folder / "kwok.yaml", stages.configuration(self._binaries.stages_dir))
        private_dir(folder / PROGRAMS_FOLDER)
        (folder / PROGRAMS_FOLDER / "kubectl").symlink_to(self._binaries.kubectl.absolute())

    def _start(self, *programs: Program) -> None:
        assert self._supervised is not None  # noqa: S101 - set before the first start
        for program in programs:
            identity = self._supervised.start(program)
            self._remember(state.with_component(self._state, program.name, identity))

    def _remember(self, known: PlaneState) -> None:
        self._state = known
        state.write(known)

    def _create_node(self, api: Loopback) -> None:
        answer = api.post("/api/v1/nodes", components.node())
        if not answer.ok:
            raise ClusterError(f"the Node could not be created: {answer.body}")

    def _wait_for_machinery(self, waiting: _Waiting, api: Loopback, keys: pki.Pki) -> None:
        controllers = Loopback(self._ports.controllers, keys.ca)
        scheduler = Loopback(self._ports.scheduler, keys.ca)
        node = f"/api/v1/nodes/{components.NODE_NAME}"
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        waiting.until("the controllers are up", lambda: _ok(controllers.get("/healthz")))
        waiting.until("the scheduler is up", lambda: _ok(scheduler.get("/readyz")))
        waiting.until("the Node is ready", lambda: _node_fault(api.get(node)))
        # Without it the first pod of a task would be refused.
        waiting.until("there is a service account", lambda: _ok(api.get(account)))


class _Waiting:
    """Waits for the plane; a component that died meanwhile is the better answer."""

    def __init__(self, supervised: Supervised, folder: Path, deadline: float) -> None:
        self._supervised = supervised
        self._folder = folder
        self._deadline = deadline

    def until(self, what: str, fault: Callable[[], str]) -> None:
        """Ask until ``fault`` returns an empty text."""
        pause = threading.Event()
        while True:
            self._check_components()
            last = fault()
            if not last:
                return
            if time.monotonic() >= self._deadline:
                raise ClusterError(
                    f"the control plane is not ready in time: still waiting until {what}: {last}"
                )
            pause.wait(_POLL_SEC)

    def _check_components(self) -> None:
        for name, code in self._supervised.exited().items():
            lines = tail(components.log_file(self._folder, name))
            if any(_PORT_TAKEN in line for line in lines):
                raise PortTakenError(f"{name} found its port taken: {lines[-1]}")
            quoted = "\n  ".join(lines) or "its log is empty"
            raise ClusterError(f"{name} died at the start (exit code {code}):\n  {quoted}")


_AFTER_API_SERVER: Final = (components.CONTROLLER_MANAGER, components.SCHEDULER, components.KWOK)


def tail(path: Path) -> list[str]:
    """Return the last lines of a log, none when there is no such file."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.strip()][-_TAIL_LINES:]


def _ok(answer: Answer) -> str:
    return "" if answer.ok else answer.body.strip() or f"HTTP status {answer.status}"


def _node_fault(answer: Answer) -> str:
    """Return why the Node takes no pods yet, empty when it does."""
    if not answer.ok:
        return _ok(answer)
    node = answer.json()
    status, spec = _object(node.get("status")), _object(node.get("spec"))
    conditions = status.get("conditions")
    ready = isinstance(conditions, list) and any(
        _object(item).get("type") == "Ready" and _object(item).get("status") == "True"
        for item in conditions
    )
    if not ready:
        return "its Ready condition is not True"
    return f"it is still tainted: {spec['taints']}" if spec.get("taints") else ""


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
