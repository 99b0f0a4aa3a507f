"""What is watched over a turn; that it is told on a real cluster is tested in tests/integration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from devops_bench.clusters.base import Cluster
from devops_bench.core.json import JsonObject
from devops_bench.evalharness.accounts import Accounts
from devops_bench.evalharness.integrity import PROBES
from devops_bench.tasks.model import Task
from devops_bench.verification.probes.verify_script import VerifyScript
from devops_bench.verification.spec import parse_entries

PROBE: JsonObject = {"type": "verify_script", "task_dir": "media"}
PURE: JsonObject = {
    "type": "resource_property",
    "kind": "pods",
    "namespace": "shop",
    "op": "exists",
}


def accounts(folder: Path, check: JsonObject, *, mode: str) -> Accounts:
    for name in ("kubeconfig", "ca.key", "audit.log", "task.yaml"):
        (folder / name).touch()
    cluster = Cluster(
        "c",
        "local",
        folder / "kubeconfig",
        "",
        "",
        audit_log=folder / "audit.log",
        credentials=(folder / "ca.key",),
    )
    entry: JsonObject = {"name": "e", "role": "safeguard", "severity": "recoverable"}
    entries, errors = parse_entries([{**entry, "mode": mode, "check": check}])
    assert errors == []
    task = Task(id="t", prompt="", source=folder / "task.yaml", entries=tuple(entries))
    run = SimpleNamespace(task=task, folder=folder, agent=None)
    return Accounts(run, cluster, knows_the_answer=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "mode", "told_apart"),
    [(PURE, "hold", True), (PROBE, "assert", True), (PROBE, "hold", False)],
)
def test_a_probe_in_the_turn_opens_the_kubeconfig_as_well_as_the_agent(
    check: JsonObject,
    mode: str,
    told_apart: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # None of ours may hold; one of somebody else's may.
    monkeypatch.setattr(VerifyScript, "hold_refusal", "")
    kept = accounts(tmp_path, check, mode=mode)
    watched = {file.name for file in kept._files()}
    assert watched - {"kubeconfig"} == {"ca.key", "audit.log", "task.yaml"}
    assert ("kubeconfig" in watched) is told_apart
    # What is not watched is never called clean.
    assert kept._why_not_opened() == ("" if told_apart else PROBES)
