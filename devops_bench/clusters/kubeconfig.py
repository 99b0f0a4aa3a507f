"""An existing cluster, named by a kubeconfig; nothing of it is ever started or ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from devops_bench.clusters import components, leftovers, state
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.build import Say
from devops_bench.clusters.local import log_progress
from devops_bench.core.files import write_atomic
from devops_bench.core.runtime import private_folder
from devops_bench.k8s.client import connect, minimal_kubeconfig
from devops_bench.k8s.kubeconfig import kubeconfig_files

ISOLATED_FILE: Final = "kubeconfig"
_ANSWER_TIMEOUT_SEC: Final = 10.0


class KubeconfigProvider:
    """Uses the cluster of one context.

    Args:
        path: The kubeconfig; ``None`` for the default files, which is only right when the user
            named a context.
        context: The context; ``None`` for the file's current one.
        why: Why this provider was chosen; made from the arguments when empty.
        say: Gets a line for each thing that a killed run left behind.
    """

    name = "kubeconfig"

    def __init__(
        self,
        path: Path | None,
        context: str | None = None,
        *,
        why: str = "",
        say: Say = log_progress,
    ) -> None:
        self._say = say
        self._path = path
        self._context = context
        given = [
            flag
            for flag, value in (("--kubeconfig", path), ("--context", context))
            if value is not None
        ]
        self.why = why or f"{' and '.join(given) or 'a kubeconfig'} given"

    @contextlib.contextmanager
    def provide(self, run_id: str, run_dir: Path) -> Iterator[Cluster]:  # noqa: ARG002 - the protocol's
        """Yield the cluster once it has answered.

        A kubeconfig with the one context and nothing else is written into a private folder, so
        that nobody who is given it can reach another cluster, and it is removed at the end: it
        holds credentials. What killed runs left behind is told and removed first.

        Args:
            run_id: Of no meaning here.
            run_dir: Of no meaning here: results are uploaded, and hold no credentials.

        Raises:
            InvalidInputError: The file or the context is wrong; nothing was touched.
            ClusterError: The server does not answer, or not to these credentials.
        """
        text = minimal_kubeconfig(self._path, self._context)
        context = str(yaml.safe_load(text)["current-context"])
        given = "" if self._path is None else str(self._path.expanduser().absolute())
        for line in leftovers.sweep():
            self._say(line)
        notes = {leftovers.CONTEXT: context, leftovers.KUBECONFIG: given}
        with private_folder("the kubeconfig", **notes) as folder:
            isolated = folder / ISOLATED_FILE
            write_atomic(isolated, text, mode=0o600)
            yield self._cluster(isolated, context)

    def _cluster(self, isolated: Path, context: str) -> Cluster:
        # By the isolated file: what is checked is what everybody else will use.
        files = kubeconfig_files(self._path)
        shown = ", ".join(map(str, files))
        client = connect(isolated, timeout_sec=_ANSWER_TIMEOUT_SEC, shown_as=shown)
        try:
            version = client.server_version(_ANSWER_TIMEOUT_SEC)
            server = client.config.server
        finally:
            client.close()
        cluster = Cluster(
            name=context,
            provider=self.name,
            kubeconfig=isolated,
            description=f"the cluster of context {context!r}, {server} {version} ({self.why})",
            server_version=version,
            kubeconfig_files=files,
            objects_in=isolated.parent,
        )
        plane = state.plane_at(server)
        if plane is None:
            return cluster
        # One of ours, whatever named it: what it writes down can be read here.
        log = components.audit_log(plane.folder)
        return replace(
            cluster,
            audit_log=log if log.is_file() else None,
            credentials=components.credentials(plane.folder),
            private_folders=(plane.folder,),
        )
