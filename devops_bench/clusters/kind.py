"""A kind cluster per run, through the ``kind`` binary and Docker (https://kind.sigs.k8s.io)."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from devops_bench.clusters import leftovers
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.build import Say
from devops_bench.clusters.local import log_progress
from devops_bench.clusters.names import cluster_name
from devops_bench.core.errors import ClusterError
from devops_bench.core.runtime import private_folder
from devops_bench.k8s.client import connect

_ASK_TIMEOUT_SEC: Final = 30.0
_CREATE_TIMEOUT_SEC: Final = 600.0
_DELETE_TIMEOUT_SEC: Final = 120.0
_NODE_WAIT: Final = "180s"
_QUOTED_LINES: Final = 5


class KindProvider:
    """Creates a kind cluster with a name and a kubeconfig of its own, and deletes it at the end.

    A run that is ended by ``kill -9`` leaves its cluster behind; the next command says so.

    Args:
        why: Why this provider was chosen, for the description.
        say: Gets a line for what takes long.
        keep: Do not delete the cluster.
    """

    name = "kind"

    def __init__(
        self, why: str = "--provider kind", *, say: Say = log_progress, keep: bool = False
    ) -> None:
        self.why = why
        self._say = say
        self._keep = keep
        self._kept = 0

    @contextlib.contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:  # noqa: ARG002 - the protocol's
        """Yield a new kind cluster.

        Args:
            run_id: Part of the cluster's name.
            run_dir: Of no meaning here: the kubeconfig is a credential, and results are uploaded.

        Raises:
            ClusterError: ``kind`` or ``docker`` is missing, the daemon does not answer, or kind
                could not create the cluster.
        """
        kind = require_kind()
        name = cluster_name(run_id)
        if self._kept:
            name += f"-{self._kept + 1}"
        for line in leftovers.sweep():
            self._say(line)
        with private_folder("the kubeconfig", **{leftovers.KIND_CLUSTER: name}) as folder:
            yield from self._provide(kind, name, folder / "kubeconfig")

    def _provide(self, kind: str, name: str, kubeconfig: Path) -> Iterator[Cluster]:
        self._say(f"creating the kind cluster {name}, about a minute")
        command = [kind, "create", "cluster", f"--name={name}", f"--kubeconfig={kubeconfig}"]
        try:
            _run([*command, f"--wait={_NODE_WAIT}"], _CREATE_TIMEOUT_SEC)
        except BaseException:
            # What it made until then goes; why it failed is what the reader needs.
            with contextlib.suppress(ClusterError):
                _delete(kind, name, kubeconfig)
            raise
        try:
            kubeconfig.chmod(0o600)
            yield self._cluster(name, kubeconfig)
        finally:
            self._end(kind, name, kubeconfig)

    def _cluster(self, name: str, kubeconfig: Path) -> Cluster:
        client = connect(kubeconfig)
        try:
            version = client.server_version(_ASK_TIMEOUT_SEC)
        finally:
            client.close()
        return Cluster(
            name=name,
            provider=self.name,
            kubeconfig=kubeconfig,
            description=f"kind cluster {name} {version} ({self.why})",
            server_version=version,
            disposable=True,
        )

    def _end(self, kind: str, name: str, kubeconfig: Path) -> None:
        if self._keep:
            self._kept += 1
            self._say(
                f"kept the kind cluster {name}: `kind export kubeconfig --name {name}` lets you "
                f"in, `kind delete cluster --name {name}` ends it"
            )
            return
        _delete(kind, name, kubeconfig)


def require_kind() -> str:
    """Return the ``kind`` executable once the Docker daemon has answered.

    The daemon is asked, not the ``PATH``: a ``docker`` without one is no help.

    Raises:
        ClusterError: Something is missing; the message says what and what else there is.
    """
    otherwise = "or use `--provider local`, which needs no Docker"
    docker = shutil.which("docker")
    if docker is None:
        raise ClusterError(
            f"kind needs Docker: there is no `docker` on PATH; install it {otherwise}"
        )
    try:
        _ask_daemon(docker)
    except ClusterError as exc:
        raise ClusterError(
            f"kind needs a Docker daemon that answers: {exc}; start it {otherwise}"
        ) from exc
    kind = shutil.which("kind")
    if kind is None:
        raise ClusterError(
            "there is no `kind` on PATH; install it (https://kind.sigs.k8s.io) " + otherwise
        )
    return kind


def _ask_daemon(docker: str) -> None:
    version = _run([docker, "info", "--format", "{{.ServerVersion}}"], _ASK_TIMEOUT_SEC)
    if not version.strip():
        # Some versions of the client exit with 0 although no daemon answered.
        raise ClusterError("`docker info` names no server")


def _delete(kind: str, name: str, kubeconfig: Path) -> None:
    _run(
        [kind, "delete", "cluster", f"--name={name}", f"--kubeconfig={kubeconfig}"],
        _DELETE_TIMEOUT_SEC,
    )


def _run(command: Sequence[str], timeout_sec: float) -> str:
    shown = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_sec,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as exc:
        raise ClusterError(f"`{shown}` did not end within {timeout_sec:.0f} s") from exc
    except OSError as exc:
        raise ClusterError(f"`{shown}` could not be run: {exc}") from exc
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        said = "; ".join(lines[-_QUOTED_LINES:]) or "it said nothing"
        raise ClusterError(f"`{shown}` failed (exit code {done.returncode}): {said}")
    return done.stdout
