"""Runs on a real API server, judged again offline: byte for byte what the run wrote."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Literal

import pytest

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.evalharness.recordings import Recording, find_recordings
from devops_bench.evalharness.replay import Replayed, replay
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import GapNoted, Judged, Sampled
from devops_bench.results.model import ReportRow, RunResult, TaskResult
from devops_bench.results.writer import RESULT_NAME
from devops_bench.verification.base import VERIFIERS, Probe, ProbeContext
from devops_bench.verification.result import VerificationResult
from devops_bench.verification.spec import parse_entries
from tests.integration.harness import wait_until
from tests.integration.watch.faultproxy import Answer, Request
from tests.integration.watch_run.arena import TASK, Arena

SECRET = "correct-horse-battery-staple"


@VERIFIERS.register("counts-its-calls")
class CountsItsCalls(Probe):
    """Passes with another reason each time it is asked."""

    type: Literal["counts-its-calls"] = "counts-its-calls"

    def probe(self, context: ProbeContext, timeout_sec: float) -> VerificationResult:
        CALLS.append(1)
        return VerificationResult.passed(f"call {len(CALLS)}")


CALLS: list[int] = []


def recorded(arena: Arena) -> Recording:
    """Return the recording of the arena's run."""
    (found,) = find_recordings(arena.folder / "results" / TASK)
    return found


def again(arena: Arena, result: TaskResult) -> Replayed:
    """Judge the arena's run again; everything must be as the run wrote it."""
    found = replay(recorded(arena))
    assert _bytes(found.rows) == _bytes(result.verification_report)
    assert found.conclusion.status == result.status
    assert found.conclusion.outcome == result.outcome
    assert found.conclusion.reason == result.reason
    assert found.notes == ()
    return found


def _bytes(rows: object) -> bytes:
    dumped = TaskResult.model_validate({"id": "t", "status": "error", "verification_report": rows})
    return dumped.model_dump_json().encode()


def text_of(arena: Arena) -> str:
    return gzip.decompress((arena.folder / "results" / TASK / EVIDENCE_NAME).read_bytes()).decode()


def of_kind(arena: Arena, role: str, mode: str, **rest: JsonValue) -> JsonObject:
    entry = arena.entry(f"{role} {mode}")
    if role == "objective":
        del entry["severity"]
    return {**entry, "role": role, "mode": mode, **rest}


def every_mode(arena: Arena) -> list[JsonObject]:
    return [
        arena.entry("watched"),
        arena.entry("whole run", hold_scope="run"),
        of_kind(arena, "safeguard", "assert"),
        of_kind(arena, "objective", "converge"),
        of_kind(arena, "objective", "assert"),
        of_kind(arena, "objective", "hold", hold_window_sec=0.4, hold_settle_sec=0.2),
    ]


@pytest.mark.parametrize("values", [["good"], ["bad", "good"], ["good", "bad"]], ids="-".join)
def test_every_mode_comes_to_the_same(arena: Arena, values: list[str]) -> None:
    arena.at.put("good")

    def act() -> None:
        for value in values:
            arena.at.put(value)

    entries = every_mode(arena)
    if values[-1] == "bad":
        # Nothing waits two minutes for what will not come.
        entries = [entry for entry in entries if entry["mode"] != "converge"]
    result = arena.run(act, *entries)
    found = again(arena, result)
    statuses = {row["name"]: row["status"] for row in found.rows}
    assert statuses["watched"] == ("fail" if "bad" in values else "pass")


def test_probes_and_what_reads_secrets_replay_what_they_came_to(arena: Arena) -> None:
    arena.at.put("good")
    arena.at.put(SECRET, kind="secrets")
    encoded = base64.b64encode(SECRET.encode()).decode()
    check: JsonObject = {
        "type": "resource_property",
        "kind": "secrets",
        "namespace": arena.at.namespace,
        "resource_name": "it",
        "path": "data.v",
        "op": "eq",
        "value": encoded,
    }
    both: JsonObject = {"type": "all", "checks": [check, {"type": "counts-its-calls"}]}
    secret: JsonObject = {
        "name": "secret",
        "role": "safeguard",
        "severity": "catastrophic",
        "mode": "hold",
        "check": check,
    }
    result = arena.run(
        lambda: arena.at.put("other", kind="secrets"),
        secret,
        {**secret, "name": "mixed", "check": both, "hold_poll_interval_sec": 0.1},
        {"name": "probe", "role": "objective", "check": {"type": "counts-its-calls"}},
    )
    assert {row["name"]: row["status"] for row in result.verification_report} == {
        "secret": "fail",
        "mixed": "fail",
        "probe": "pass",
    }
    asked = len(CALLS)
    again(arena, result)
    assert len(CALLS) == asked
    text = text_of(arena)
    assert SECRET not in text
    assert encoded not in text
    assert base64.b64encode(b"other").decode() not in text


def test_the_same_spec_given_again_is_the_same_also_about_secrets(arena: Arena) -> None:
    arena.at.put(SECRET, kind="secrets")
    entry = arena.entry("secret", kind="secrets")
    assert isinstance(entry["check"], dict)
    entry["check"]["value"] = base64.b64encode(SECRET.encode()).decode()
    result = arena.run(lambda: None, entry)
    entries, _ = parse_entries([entry])
    assert _bytes(replay(recorded(arena), entries).rows) == _bytes(result.verification_report)
    entry["check"]["value"] = "another"
    entries, _ = parse_entries([entry])
    (row,) = replay(recorded(arena), entries).rows
    assert row["status"] == "error"
    assert "never recorded" in row["reason"]


def test_states_over_two_kinds_are_judged_again_as_they_were_merged(arena: Arena) -> None:
    arena.at.put("good")
    arena.at.put("x", kind="secrets")
    one, other = arena.entry("one"), arena.entry("other", kind="secrets")
    assert isinstance(other["check"], dict)
    other["check"] = {**other["check"], "path": "metadata.labels.v", "op": "absent"}
    del other["check"]["value"]
    either: JsonObject = {"type": "any", "checks": [one["check"], other["check"]]}

    def act() -> None:
        for number in range(10):
            arena.at.put("bad" if number % 2 else "good")
            arena.at.put(str(number), kind="secrets")

    result = arena.run(act, {**one, "name": "either", "check": either})
    found = again(arena, result)
    (row,) = found.rows
    assert row["status"] == "pass"
    assert row["coverage"]["streams"] == sorted(row["coverage"]["streams"])
    judged = [r for r in found.recording.evidence.records if isinstance(r, Judged)]
    assert len(judged) > 10


def test_gaps_that_were_mended_and_that_were_not(arena: Arena) -> None:
    arena.at.put("good")

    def act() -> None:
        for relay in arena.at.proxy.open_watches("configmaps"):
            relay.cut()
        arena.at.put("good again")
        arena.at.put("good")

    result = arena.run(act, arena.entry("it"), arena.entry("best", coverage="best_effort"))
    found = again(arena, result)
    assert [r for r in found.recording.evidence.records if isinstance(r, GapNoted)]
    assert found.rows[0]["coverage"]["gaps"]


def test_what_can_only_be_sampled(arena: Arena) -> None:
    arena.at.put("good")

    def refuse(request: Request) -> Answer | None:
        return (
            Answer(403, {}, b'{"kind":"Status","code":403,"message":"no"}')
            if request.watch
            else None
        )

    arena.at.proxy.on_request = refuse
    result = arena.run(lambda: None, arena.entry("it", hold_poll_interval_sec=0.05))
    found = again(arena, result)
    assert found.rows[0]["coverage"]["mode"] == "sampled"
    assert [r for r in found.recording.evidence.records if isinstance(r, Sampled)]


def test_a_mended_check_scores_an_old_run_anew(arena: Arena) -> None:
    arena.at.put("good")
    result = arena.run(lambda: (arena.at.put("fine"), arena.at.put("good")), arena.entry("it"))
    assert result.verification_report[0]["status"] == "fail"
    mended = arena.entry("it")
    assert isinstance(mended["check"], dict)
    mended["check"].update(op="matches", value="^(good|fine)$")
    entries, errors = parse_entries([mended])
    assert errors == []
    row: ReportRow = replay(recorded(arena), entries).rows[0]
    assert (row["status"], row["hold_sample_count"]) == ("pass", 3)


RUN = """
import sys
from pathlib import Path
from tests.integration.replay.test_replay import killed_run
killed_run(*map(Path, sys.argv[1:]))
"""


def killed_run(kubeconfig: Path, folder: Path, spec: Path) -> None:
    """Run in a process of its own, whose agent never ends."""
    from devops_bench.clusters.kubeconfig import KubeconfigProvider
    from devops_bench.evalharness.default import DefaultEvalHarness
    from devops_bench.tasks.model import Setup, Task
    from tests.integration.watch_run.arena import Agent

    entries, _ = parse_entries(json.loads(spec.read_text()))
    task = Task(
        id=TASK,
        prompt="do it",
        source=spec,
        setup=Setup(ready=()),
        entries=tuple(entries),
    )

    def act() -> None:
        print("turn", flush=True)
        threading.Event().wait()

    agent = Agent(act)
    harness = DefaultEvalHarness(KubeconfigProvider(kubeconfig), lambda _: agent, run_id="run")
    result = harness.run_task(task, folder)
    written = RunResult(run_id="run", tasks=[result], planned=[TASK])
    (folder / RESULT_NAME).write_text(written.model_dump_json())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_run_that_was_ended_from_outside(arena: Arena, how: signal.Signals) -> None:
    at = arena.at
    at.put("good")
    config = at.plane.kubeconfig(arena.folder / "killed.kubeconfig", at.proxy.url)
    spec = arena.folder / "entries.json"
    broken = arena.entry("broken")
    fixed = of_kind(arena, "objective", "converge")
    other = arena.entry("other")
    assert isinstance(other["check"], dict)
    other["check"].update(path="metadata.name", value="it")
    spec.write_text(json.dumps([broken, other, fixed]))
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(config), str(arena.folder / "results"), str(spec)],
        stdout=subprocess.PIPE,
        env={**os.environ},
        text=True,
    )
    try:
        assert process.stdout is not None
        # What the run before left behind may be told of first.
        assert "turn\n" in iter(process.stdout.readline, "")
        at.put("bad")
        wait_until(lambda: _violation_recorded(arena), "the violation is recorded")
        process.send_signal(how)
        process.wait(60)
    finally:
        process.kill()
        process.communicate()
    found = replay(recorded(arena))
    statuses = {row["name"]: row["status"] for row in found.rows}
    assert statuses["broken"] == "fail"
    assert statuses["objective converge"] == "error"
    if how is signal.SIGKILL:
        # What was seen stays seen; what was not seen to its end is an error.
        assert statuses["other"] == "error"
        assert found.differences is None
        assert "was not finished" in found.notes[0]
    else:
        assert found.differences == ()
        assert found.notes == ()
        assert found.conclusion.status == "interrupted"


def _violation_recorded(arena: Arena) -> bool:
    return any(
        isinstance(record, Judged) and record.entry == "broken" and record.result.status == "fail"
        for record in recorded(arena).evidence.records
    )
