"""An existing cluster, named by a kubeconfig; nothing of it is ever started or ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from devops_bench.clusters.base import Cluster
from devops_bench.core.files import write_atomic
from devops_bench.k8s.client import connect, minimal_kubeconfig

ISOLATED_FILE: Final = "kubeconfig"
_ANSWER_TIMEOUT_SEC: Final = 10.0


class KubeconfigProvider:
    """Uses the cluster of one context.

    Args:
        path: The kubeconfig; ``None`` for the default files, which is only right when the user
            named a context.
        context: The context; ``None`` for the file's current one.
        why: Why this provider was chosen; made from the arguments when empty.
    """

    name = "kubeconfig"

    def __init__(self, path: Path | None, context: str | None = None, *, why: str = "") -> None:
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

        A kubeconfig with the one context and nothing else is written into ``run_dir`` (mode
        0600), so that nobody who is given it can reach another cluster, and it is removed at the
        end: it holds credentials.

        Args:
            run_id: Of no meaning here.
            run_dir: An existing folder.

        Raises:
            InvalidInputError: The file or the context is wrong; nothing was touched.
            ClusterError: The server does not answer, or not to these credentials.
        """
        isolated = run_dir / ISOLATED_FILE
        write_atomic(isolated, minimal_kubeconfig(self._path, self._context), mode=0o600)
        try:
            yield self._cluster(isolated)
        finally:
            isolated.unlink(missing_ok=True)

    def _cluster(self, isolated: Path) -> Cluster:
        # By the isolated file: what is checked is what everybody else will use.
        client = connect(isolated, timeout_sec=_ANSWER_TIMEOUT_SEC)
        try:
            version = client.server_version(_ANSWER_TIMEOUT_SEC)
            server = client.config.server
        finally:
            client.close()
        context = str(yaml.safe_load(isolated.read_text())["current-context"])
        return Cluster(
            name=context,
            provider=self.name,
            kubeconfig=isolated,
            description=f"the cluster of context {context!r}, {server} {version} ({self.why})",
            server_version=version,
        )
