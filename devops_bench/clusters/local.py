"""The default provider: a control plane of our own on this machine, for one run."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import structlog

from devops_bench.clusters import binaries, plane, state
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.build import Say
from devops_bench.clusters.components import PlaneOptions
from devops_bench.clusters.names import cluster_name
from devops_bench.clusters.plane import Plane
from devops_bench.clusters.state import Kind

log = structlog.get_logger(__name__)

LOGS_FOLDER: Final = "cluster-logs"


def log_progress(line: str) -> None:
    """Log a progress line: what a provider does with them unless it is told otherwise."""
    log.info("cluster.progress", line=line)


class LocalProvider:
    """Starts a plane per run and ends it with the run, also when the run is killed.

    Args:
        why: Why this provider was chosen, for the description.
        say: Gets a line for what takes long and for leftovers that were removed.
        keep: Let the plane live on after the run, as if ``cluster up`` had started it.
        options: What differs from the usual plane.
    """

    name = "local"

    def __init__(
        self,
        why: str = "the default provider",
        *,
        say: Say = log_progress,
        keep: bool = False,
        options: PlaneOptions | None = None,
    ) -> None:
        self.why = why
        self._say = say
        self._keep = keep
        self._options = options

    @contextlib.contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:
        """Yield a ready plane. Its logs are kept in ``run_dir`` when something went wrong.

        Args:
            run_id: Part of the plane's name.
            run_dir: An existing folder.

        Raises:
            BinariesNotFoundError: There are no binaries and none can be built.
            ClusterError: The plane did not start.
        """
        for line in state.sweep():
            self._say(line)
        found = binaries.find_or_build(self._say)
        logs = run_dir / LOGS_FOLDER
        running = plane.start(
            state.free_name(cluster_name(run_id)), Kind.RUN, found, self._options, keep_logs_in=logs
        )
        failed = True
        try:
            yield self._cluster(running)
            failed = False
        finally:
            self._end(running, logs, failed=failed)

    def _cluster(self, running: Plane) -> Cluster:
        return Cluster(
            name=running.state.name,
            provider=self.name,
            kubeconfig=running.kubeconfig,
            description=f"local control plane {running.state.version} ({self.why})",
            server_version=running.state.version,
            bin_dir=running.bin_dir,
            disposable=True,
            audit_log=running.audit_log,
            credentials=running.credentials,
            private_folders=(running.folder,),
        )

    def _end(self, running: Plane, logs: Path, *, failed: bool) -> None:
        dead = running.dead_components()
        if dead:
            log.warning("cluster.component_died", components=dead, logs=str(logs))
        if failed or dead:
            with contextlib.suppress(OSError):  # what went wrong is on its way to the reader
                shutil.copytree(running.logs_dir, logs, dirs_exist_ok=True)
        if not self._keep:
            running.stop()
            return
        state.write(replace(running.state, kind=Kind.UP))
        running.detach()
        name = running.state.name
        self._say(
            f"kept the cluster {name}: kubeconfig {running.kubeconfig}, "
            f"`devops-bench cluster down {name}` ends it"
        )
