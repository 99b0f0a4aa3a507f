"""Over TLS, without the proxy in between."""

from __future__ import annotations

from pathlib import Path

from devops_bench.k8s.client import ApiClient, load_connection
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.watch.types import Subscription
from devops_bench.k8s.watch.watcher import Watcher
from tests.integration.watch.observing import Bench, Notes


def test_a_tls_connection_is_watched_fenced_and_ended(at: Bench, tmp_path: Path) -> None:
    at.put("0")
    path = at.plane.kubeconfig(tmp_path / "kubeconfig", at.plane.url)
    client = ApiClient(load_connection(path))
    it = Subscription("it", (at.query(),))
    notes = Notes([it])
    watcher = Watcher(client, Discovery(client), notes)
    try:
        started = watcher.start([it], 30)
        assert list(started.watched) == ["it"]
        at.put("1")
        assert watcher.fence(20).why_not("it") is None
        assert notes.values("it") == ["0", "1"]
        watcher.again("it")
        notes.wait("the state once more", lambda: len(notes.values("it")) == 3)
        assert notes.values("it")[-1:] == ["1"]
    finally:
        assert watcher.stop(10)


def test_a_server_that_dies_for_good_is_a_gap_and_the_watcher_still_ends(
    at: Bench, tmp_path: Path
) -> None:
    path = at.plane.kubeconfig(tmp_path / "kubeconfig", at.plane.url)
    client = ApiClient(load_connection(path))
    it = Subscription("it", (at.query(),))
    notes = Notes([it])
    watcher = Watcher(client, Discovery(client), notes)
    watcher.start([it], 30)
    at.plane.kill_api()
    try:
        fence = watcher.fence(2)
        assert fence.why_not("it") is not None
        assert fence.end_rv("it") is None
        assert notes.open_gaps("it")
        assert watcher.stop(10)
    finally:
        at.plane.start_api()
