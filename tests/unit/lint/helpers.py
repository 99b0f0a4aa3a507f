"""What the tests of lint share: an example written to a folder, and what is found in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from devops_bench.core.diagnostics import Diagnostic
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
