"""What a provider of clusters gives: a cluster that is ready, for as long as it is needed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

PROGRAMS_FOLDER: Final = "bin"
"""The folder, in a private one of a cluster, whose programs are for everybody."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that answers.

    Attributes:
        name: For the ``CLUSTER_NAME`` variable and the report.
        provider: ``local``, ``kind`` or ``kubeconfig``.
        kubeconfig: A file for this cluster alone, its current context the right one.
        description: Which cluster and why, one line, e.g.
            ``local control plane v1.36.3 (the default provider)``.
        server_version: As the server says it, e.g. ``v1.36.3``.
        bin_dir: A folder whose ``kubectl`` fits the server, ``None`` to use the one on ``PATH``.
        disposable: Whether the whole cluster ends with the run, so that nothing needs deleting.
        audit_log: The API server's audit log, ``None`` where there is none.
        kubeconfig_files: The files of the user that ``kubeconfig`` is a copy of; none when it is of
            our own making.
        credentials: Files with other credentials of the cluster, which nobody but its own processes
            opens while it runs.
        private_folders: Folders that nobody but the cluster's own processes has any business in,
            save for :data:`PROGRAMS_FOLDER` in each.
        objects_in: The private folder that takes the record of what is created on the cluster;
            ``None`` when that ends with it.
    """

    name: str
    provider: str
    kubeconfig: Path
    description: str
    server_version: str
    bin_dir: Path | None = None
    disposable: bool = False
    audit_log: Path | None = None
    kubeconfig_files: tuple[Path, ...] = ()
    credentials: tuple[Path, ...] = ()
    private_folders: tuple[Path, ...] = ()
    objects_in: Path | None = None


class ClusterProvider(Protocol):
    """Where clusters come from."""

    name: str
    why: str
    """Why this provider was chosen, e.g. ``the default provider`` or ``--kubeconfig was given``."""

    def provide(self, run_id: str, run_dir: Path) -> AbstractContextManager[Cluster]:
        """Return a context that yields a ready cluster and ends what it started.

        Args:
            run_id: Part of the names of what is started.
            run_dir: Where logs and the kubeconfig go.

        Raises:
            ClusterError: It could not be provided; the message says why and what would help.
        """
        ...
