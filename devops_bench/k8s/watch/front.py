"""Between the judge and the listener: what is internal stays here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from devops_bench.k8s.view import View
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.types import Listener, StateInfo

CRD_SUBSCRIPTION: Final = "\0customresourcedefinitions"
"""The id of the internal subscription; no text of a spec can hold it."""


class Front:
    """Keeps the states and gaps of CustomResourceDefinitions from the listener.

    Args:
        listener: Who is told of everything else.
        crds_moved: Looks at their next state.
        crd_gap: Looks at a gap of theirs.
    """

    def __init__(
        self,
        listener: Listener,
        crds_moved: Callable[[View, StateInfo], None],
        crd_gap: Callable[[Gap], None],
    ) -> None:
        self._listener = listener
        self._crds_moved = crds_moved
        self._crd_gap = crd_gap

    def on_state(self, subscription: str, view: View, state: StateInfo) -> None:
        """Show a state to whom it concerns."""
        if subscription == CRD_SUBSCRIPTION:
            self._crds_moved(view, state)
        else:
            self._listener.on_state(subscription, view, state)

    def on_gap(self, subscription: str, gap: Gap) -> None:
        """Tell of a gap to whom it concerns."""
        if subscription == CRD_SUBSCRIPTION:
            self._crd_gap(gap)
        else:
            self._listener.on_gap(subscription, gap)
