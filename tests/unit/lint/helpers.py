"""What the tests of lint share: an example written to a folder, and what is found in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from devops_bench.core.diagnostics import Diagnostic
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.lint.engine import LintOptions, LintReport, lint_paths
from devops_bench.lint.model import Example
from devops_bench.verification.base import VERIFIERS, Probe, ProbeContext
from devops_bench.verification.result import VerificationResult


class ExampleProbe(Probe):
    """Stands for any check that looks for itself; none comes with the package."""

    type: Literal["example_probe"] = "example_probe"

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        del context, timeout_sec
        return VerificationResult.passed("it answers")


def register_example_probe() -> None:
    VERIFIERS.register("example_probe")(ExampleProbe)


def written(example: Example, folder: Path) -> Path:
    for name, text in {"task.yaml": example.spec, **example.files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def lint_text(text: str, folder: Path, **options: object) -> list[Diagnostic]:
    file = folder / "task.yaml"
    file.write_text(text)
    return list(report(file, **options).diagnostics)


def report(path: Path, **options: object) -> LintReport:
    return lint_paths([path], LintOptions(**options))  # type: ignore[arg-type]


def ids(found: list[Diagnostic]) -> list[str]:
    return [one.rule for one in found]


def prop(path: str | None, op: str, value: JsonValue = None, **more: JsonValue) -> JsonObject:
    check: JsonObject = {
        "type": "resource_property",
        "kind": "Deployment",
        "resource_name": "web",
        "namespace": "shop",
        "op": op,
        **more,
    }
    if path is not None:
        check["path"] = path
    if value is not None:
        check["value"] = value
    return {key: one for key, one in check.items() if one is not None}


def entry(name: str, check: JsonObject, role: str = "objective", **more: JsonValue) -> JsonObject:
    fields: JsonObject = {"name": name, "role": role, "check": check, **more}
    if role == "safeguard":
        fields.setdefault("severity", "recoverable")
        fields.setdefault("mode", "hold")
    return fields


def found_in(tmp_path: Path, *entries: JsonObject, **task: JsonValue) -> list[str]:
    text = json.dumps({"id": "web", "verification_spec": list(entries), **task})
    return ids(lint_text(text, tmp_path))


DEPLOYMENT: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "generation": 7},
    "spec": {
        "replicas": 4,
        "paused": False,
        "minReadySeconds": 0,
        "strategy": {"type": "Recreate"},
        "template": {
            "spec": {
                "containers": [{"image": "a", "resources": {"limits": {"memory": "1024Mi"}}}],
                "volumes": [{"name": "x"}],
            }
        },
    },
}
SECRET: JsonObject = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "shop"},
    "data": {"old": "b2\nxk", "both": "b2xk"},
    "stringData": {"token": "abc", "both": "new", "open": "{{OPEN}}"},
}
"""Read as data: old = "old", both = "new", token = "abc"."""
OTHERS: list[JsonValue] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "shop"},
        "data": {"empty": ""},
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "empty", "namespace": "shop"},
        "data": {},
    },
    {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "shop"},
        "spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 50},
    },
]
SHOP: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def with_setup(tmp_path: Path, *entries: JsonObject, objects: JsonValue = None) -> list[str]:
    made: JsonValue = objects if objects is not None else [SHOP, DEPLOYMENT, SECRET, *OTHERS]
    found = found_in(tmp_path, *entries, setup={"objects": made})
    return [one for one in found if one != "DB303"]  # {{OPEN}} of the Secret
