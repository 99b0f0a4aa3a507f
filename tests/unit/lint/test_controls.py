"""Variables that a control reads from its environment are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.lint.controls import shell_text
from devops_bench.tasks.model import ControlScript
from tests.unit.lint.helpers import entry, found_in, prop

READS = [
    "echo $APP",
    'kubectl delete deploy "${APP}"',
    "echo ${APP:-x}",
    "echo ${#APP}",
    "echo ${APP%%x}",
    "x=$((APP + 1))",
    "[[ APP -gt 3 ]] && kubectl get pods",
    "[[ -v APP ]]",
    "export APP",
    # What gives the environment to something that may read any of it.
    "printenv APP",
    "env | grep x",
    "python3 -c 'import os; print(os.environ)'",
    "envsubst < x.yaml | kubectl apply -f -",
    "kubectl get x -o json | jq '.x == env.APP'",
    "./helper",
    ". ./lib",
    "kubectl get pods && ./helper",
    '"$(dirname "$0")/helper"',
    "timeout 5 tools/helper.py",
    'x=APP; echo "${!x}"',
    "bash other",
    "set | grep x",
    "eval echo '$'$x",
    "#!/usr/bin/env python3\nimport os",
]
DOES_NOT = [
    "echo $APPLE ${APP_} ${MY_APP}",
    "# $APP\nkubectl get pods",
    'bash "$ORACLE"\nkubectl delete pod x',
    "set -eu\nkubectl apply -f ./web.yaml",
    "#!/usr/bin/env -S bash -eu\nkubectl get pods",
    "kubectl exec web -- true",
]


def found(folder: Path, controls: JsonObject) -> list[str]:
    check = entry("x", prop("spec.replicas", "eq", 4))
    return found_in(folder, check, variables={"APP": "web"}, controls=controls)


@pytest.mark.parametrize("text", READS)
@pytest.mark.parametrize("where", ["oracle", "partial", "mutant", "script"])
def test_what_a_control_may_read_is_used(tmp_path: Path, text: str, where: str) -> None:
    assert "DB302" not in found(tmp_path, _controls(tmp_path, text, where))


@pytest.mark.parametrize("text", DOES_NOT)
@pytest.mark.parametrize("where", ["oracle", "partial", "mutant", "script"])
def test_what_no_control_reads_is_not(tmp_path: Path, text: str, where: str) -> None:
    assert "DB302" in found(tmp_path, _controls(tmp_path, text, where))


def _controls(folder: Path, text: str, where: str) -> JsonObject:
    oracle: JsonValue = {"run": "kubectl get pods"}
    if where == "oracle":
        return {"oracle": {"run": text}}
    if where == "script":
        (folder / "solve.sh").write_text(text)
        return {"oracle": {"script": "solve.sh"}}
    if where == "partial":
        return {"oracle": oracle, "partial": {"run": text, "score": {"min": 0.1, "max": 0.9}}}
    return {"oracle": oracle, "mutants": [{"name": "m", "run": text, "caught_by": ["x"]}]}


@pytest.mark.parametrize("data", [b"\x7fELF\0", b"#!/usr/bin/perl\n", b"a" * 300_000])
def test_what_is_no_shell_script_has_no_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "solve").write_bytes(data)
    assert shell_text(ControlScript(script=tmp_path / "solve")) is None
    (tmp_path / "solve").unlink()
    assert shell_text(ControlScript(script=tmp_path / "solve")) is None
