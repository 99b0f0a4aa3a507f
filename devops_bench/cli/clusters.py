"""From the options that choose a cluster to its provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from devops_bench.clusters.base import ClusterProvider


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Which cluster was chosen.

    Attributes:
        provider: Returns the provider.
        cluster_name: Returns the value of ``CLUSTER_NAME`` for a run.
    """

    provider: Callable[[], ClusterProvider]
    cluster_name: Callable[[str], str]


def choose_provider(
    provider: str | None,
    kubeconfig: Path | None,
    context: str | None,
    *,
    keep: bool,
    say: Callable[[str], None],
) -> ClusterChoice:
    """Return the choice that the options make; ``$KUBECONFIG`` alone chooses nothing.

    Args:
        provider: ``local``, ``kind``, or ``None`` when it was not given.
        kubeconfig: An existing cluster's; not together with ``provider``.
        context: As ``kubeconfig``.
        keep: Whether a cluster that is started stays.
        say: Gets a line for what takes long.

    Raises:
        InvalidInputError: The kubeconfig or its context is wrong.
        ClusterError: kind cannot be used here.
    """
    if kubeconfig is not None or context is not None:
        return _existing(kubeconfig, context, say)
    why = f"--provider {provider}" if provider else "the default provider"
    if provider == "kind":
        from devops_bench.clusters.kind import KindProvider, require_kind

        require_kind()
        return ClusterChoice(lambda: KindProvider(why, say=say, keep=keep), _name_of_a_new_one)
    from devops_bench.clusters.local import LocalProvider

    return ClusterChoice(lambda: LocalProvider(why, say=say, keep=keep), _name_of_a_new_one)


def _existing(
    kubeconfig: Path | None, context: str | None, say: Callable[[str], None]
) -> ClusterChoice:
    from devops_bench.clusters.kubeconfig import KubeconfigProvider
    from devops_bench.k8s.kubeconfig import minimal_kubeconfig

    loaded = yaml.safe_load(minimal_kubeconfig(kubeconfig, context))
    name = str(loaded["current-context"])
    return ClusterChoice(lambda: KubeconfigProvider(kubeconfig, context, say=say), lambda _: name)


def _name_of_a_new_one(run_id: str) -> str:
    return f"devops-bench-{run_id}"
