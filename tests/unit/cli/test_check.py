"""``check`` without a cluster: what is printed, and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.results.evidence.records import EVIDENCE_VERSION, Header, Sampled
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import parse_entries

from .conftest import Run

OBJECTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {replicas: %s}
"""

MORE = """\
  - name: several
    role: safeguard
    severity: recoverable
    check:
      type: sequence
      checks:
        - {type: resource_property, name: first, kind: gizmos, op: exists}
        - {type: pod_healthy, selector: app=web}
"""


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    file = tmp_path / "objects.yaml"
    file.write_text(OBJECTS % 3)
    return file


def test_it_says_what_matched_what_was_found_and_what_was_asked(
    devops_bench: Run, spec: Path, objects: Path
) -> None:
    done = devops_bench("check", spec, "--objects", objects)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "PASS  three replicas"
    for line in (
        "reads:   Deployment web in namespace default",
        "matched: 1 (Deployment web in namespace default)",
        "found:   spec.replicas = 3",
        "asked:   spec.replicas eq 3",
        "came to: pass: spec.replicas is 3, which is eq 3 (Deployment web in namespace default)",
    ):
        assert f"      {line}\n" in done.stdout


def test_a_failure_is_one_and_an_error_is_three(
    devops_bench: Run, spec: Path, objects: Path
) -> None:
    objects.write_text(OBJECTS % 2)
    assert devops_bench("check", spec, "--objects", objects).returncode == 1
    spec.write_text(spec.read_text() + MORE)
    done = devops_bench("check", spec, "--objects", objects)
    assert done.returncode == 3
    assert "what 'gizmos' means cannot be told without a server" in done.stdout
    assert "not judged, since the sequence stopped before it" in done.stdout


def test_as_json(devops_bench: Run, spec: Path, objects: Path) -> None:
    done = devops_bench("check", spec, "--objects", objects, "--output", "json")
    parsed = json.loads(done.stdout)
    (entry,) = parsed["entries"]
    assert parsed["exit_code"] == 0
    assert (entry["task"], entry["name"], entry["status"]) == ("web", "three replicas", "pass")
    (leaf,) = entry["leaves"]
    assert leaf["values"] == ["3"]
    assert leaf["objects"] == ["Deployment web in namespace default"]
    assert entry["watch"]["watched"] is None


def test_one_entry_and_variables(devops_bench: Run, spec: Path, objects: Path) -> None:
    spec.write_text(spec.read_text() + MORE)
    done = devops_bench("check", spec, "--objects", objects, "--entry", "three replicas")
    assert done.returncode == 0
    assert "several" not in done.stdout
    done = devops_bench(
        "check", spec, "--objects", objects, "--entry", "three replicas", "--var", "NAMESPACE=x"
    )
    assert done.returncode == 1
    assert "there is no Deployment web in namespace x" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of --kubeconfig (with --context), --objects or --run"),
        (["--objects", "o.yaml", "--run", "r"], "one of --kubeconfig"),
        (["--objects", "o.yaml", "--watch"], "--watch needs a cluster"),
        (["--objects", "nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["--run", "nowhere"], "nowhere is not the folder of a run"),
        (["--objects", "objects.yaml", "--entry", "x"], "there is no such entry"),
        (["--kubeconfig", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_two(
    devops_bench: Run, spec: Path, objects: Path, words: list[str], said: str
) -> None:
    done = devops_bench("check", spec, *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_manifests_that_are_wrong_are_two(devops_bench: Run, spec: Path, objects: Path) -> None:
    objects.write_text("kind: [")
    assert devops_bench("check", spec, "--objects", objects).returncode == 2


SECRET = """\
id: web
prompt: x
verification_spec:
  - name: token
    role: objective
    check:
      {type: resource_property, kind: Secret, resource_name: t, path: data.x, op: eq, value: %s}
"""


def test_of_a_secret_the_recorded_result_is_shown(devops_bench: Run, tmp_path: Path) -> None:
    spec = tmp_path / "secret.yaml"
    spec.write_text(SECRET % "abc")
    raw = [
        {
            "name": "token",
            "role": "objective",
            "check": {
                "type": "resource_property",
                "kind": "Secret",
                "resource_name": "t",
                "path": "data.x",
                "op": "eq",
                "value": "abc",
            },
        }
    ]
    entries, errors = parse_entries(raw)
    assert errors == []
    folder = tmp_path / "run" / "web"
    folder.mkdir(parents=True)
    sink = open_evidence(folder, entries)
    sink.record(Header(EVIDENCE_VERSION, "run", "web", "1", "v1.36.3", "2026-01-01T00:00:00", ()))
    passed = VerificationResult.passed("data.x is <redacted>, as recorded")
    sink.record(Sampled("token", 0.1, 0.2, {}, passed))
    sink.close()
    done = devops_bench("check", spec, "--run", tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "matched: unknown" in done.stdout
    assert "came to: pass: data.x is <redacted>, as recorded" in done.stdout
    assert "keeps of what it reads only what it came to" in done.stdout
    spec.write_text(SECRET % "another")
    done = devops_bench("check", spec, "--run", tmp_path / "run")
    assert done.returncode == 3
    assert "was not judged like this" in done.stdout


def test_without_a_server_it_says_what_only_a_server_can_tell(
    devops_bench: Run, spec: Path, objects: Path
) -> None:
    done = devops_bench("check", spec, "--objects", objects)
    assert "only a server can tell whether it would be watched" in done.stdout
