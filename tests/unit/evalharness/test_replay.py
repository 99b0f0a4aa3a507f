"""A recorded task, judged again: the same by the same spec, never better by another."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.agents.base import AgentResult, AgentTurn
from devops_bench.core.clock import Clock
from devops_bench.evalharness.default import DefaultEvalHarness
from devops_bench.evalharness.recordings import Recording, find_recordings
from devops_bench.evalharness.replay import Replayed, replay
from devops_bench.evalharness.sampler import Look
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Snapshot
from devops_bench.k8s.watch.tables import Step, Update
from devops_bench.k8s.watch.types import Listener, Origin, Recorder, StateInfo
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.model import ReportRow, RunResult, TaskResult
from devops_bench.results.writer import ResultWriter
from devops_bench.verification.combinators import judge, queries_of
from devops_bench.verification.spec import VerificationEntry, parse_entries
from tests.unit.evalharness.fakes import FakeAccess, FakeAgent, FakeProvider, make_task
from tests.unit.evalharness.fakewatch import STREAM, FakeWatch, reading, valued

FLOOR = valued("floor")
SAMPLED = valued("sampled", hold_poll_interval_sec=0.01)
FIXED = valued("fixed", "objective", "converge")
STEADY = valued("steady", "objective", "hold", hold_window_sec=0.05, hold_poll_interval_sec=0.01)
AT_END = valued("at end", "objective", "assert")


class RecordedWatch(FakeWatch):
    """A fake watcher that tells the recorder of every step, as the real one does."""

    def __call__(self, listener: Listener, recorder: Recorder, clock: Clock) -> RecordedWatch:
        made = RecordedWatch(self._value, self.sampled)
        made._listener, made._clock, made._steps = listener, clock, recorder.on_step
        made.rv = self.rv
        self.made.append(made)
        return made

    def __init__(self, value: str = "good", sampled: dict[str, str] | None = None) -> None:
        super().__init__(value, sampled)
        self.made: list[RecordedWatch] = []
        self._steps: Callable[[str, Step, StateInfo], None] = lambda *_: None

    def show(self, name: str, value: str | None, *, origin: Origin = "event") -> int:
        assert value is not None
        if origin != "again":
            query = self._subscriptions[name].queries[0]
            obj = KubeObject({"metadata": {"name": "it"}, "data": {"v": value}})
            step = Step(self.rv + 1, (Update(query, ("", "it"), obj),))
            state = StateInfo(self.rv + 1, self._clock.monotonic(), origin)
            self._steps(STREAM, step, state)
        return super().show(name, value, origin=origin)


class RecordedAccess(FakeAccess):
    """A cluster whose one ConfigMap says what the test says; looks at it say what they read."""

    def __init__(self, watch: RecordedWatch) -> None:
        super().__init__()
        self.value = "good"
        self.watch = watch

    def look(self, entry: VerificationEntry, timeout_sec: float) -> Look:
        readings = {query: reading(self.value) for query in queries_of(entry.check)}
        return Look(judge(entry.check, Snapshot(readings)), readings)


@pytest.fixture(autouse=True)
def _few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIFICATION_TIMEOUT_SEC", "0.3")


def run(
    folder: Path, turn: Sequence[str], after: str = "good", *, sampled: Sequence[str] = ("sampled",)
) -> TaskResult:
    """Run a task in whose turn the ConfigMap says one value after the other."""
    watch = RecordedWatch(sampled=dict.fromkeys(sampled, "the test says so"))
    access = RecordedAccess(watch)

    def act(_: AgentTurn) -> AgentResult | None:
        for value in turn:
            access.value = value
            for one in watch.made:
                for name in ("floor", "late"):
                    if name in one._subscriptions:
                        one.show(name, value)
        access.value = after
        watch._value = after
        return None

    harness = DefaultEvalHarness(
        FakeProvider(),
        lambda _: FakeAgent(act),
        run_id="run",
        connect=lambda _cluster, _folder: access,
    )
    entries = (FLOOR, SAMPLED, FIXED, STEADY, AT_END)
    result = harness.run_task(make_task(*entries), folder / "run")
    writer = ResultWriter(folder, "written")
    (folder / "written").rmdir()
    (folder / "run").rename(folder / "written")
    writer.write(RunResult(run_id="run", tasks=[result], planned=[result.id]))
    return result


def recording(folder: Path) -> Recording:
    (found,) = find_recordings(folder / "written")
    return found


def as_bytes(rows: Sequence[ReportRow]) -> bytes:
    return json.dumps(list(rows)).encode()


VALUES = st.lists(st.sampled_from(["good", "bad", "worse"]), max_size=5)


@settings(max_examples=15)
@given(VALUES, st.sampled_from(["good", "bad"]), st.sampled_from([(), ("sampled",), ("steady",)]))
def test_with_the_recorded_spec_every_row_is_byte_for_byte_the_same(
    turn: list[str], after: str, sampled: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = run(folder, turn, after, sampled=sampled)
        again = replay(recording(folder))
    assert as_bytes(again.rows) == as_bytes(result.verification_report)
    assert again.differences == ()
    assert again.notes == ()
    assert (again.conclusion.status, again.conclusion.outcome) == (result.status, result.outcome)
    assert (again.conclusion.reason, again.conclusion.scores) == (result.reason, result.scores)


def row(again: Replayed, name: str) -> ReportRow:
    return next(item for item in again.rows if item["name"] == name)


def changed(
    entry: VerificationEntry, check: dict[str, object] | None = None, **fields: object
) -> VerificationEntry:
    """Return an entry with other fields, or another check."""
    raw = entry.model_dump(mode="json", exclude_unset=True)
    raw["check"] = {**raw["check"], **(check or {})}
    entries, errors = parse_entries([{**raw, **fields}])
    assert errors == []
    return entries[0]


def test_a_mended_check_judges_every_recorded_state(tmp_path: Path) -> None:
    run(tmp_path, ["bad", "good"])
    found = recording(tmp_path)
    assert row(replay(found), "floor")["status"] == "fail"
    mended = changed(FLOOR, {"op": "matches", "value": "good|bad"})
    again = replay(found, [mended])
    assert row(again, "floor")["status"] == "pass"
    assert row(again, "floor")["hold_sample_count"] == 3
    assert {item.entry for item in again.differences or ()} == {
        "floor", "sampled", "fixed", "steady", "at end"
    }  # fmt: skip


def test_a_stricter_check_finds_what_was_recorded(tmp_path: Path) -> None:
    run(tmp_path, ["good", "worse", "good"])
    stricter = changed(FLOOR, {"op": "ne", "value": "worse"})
    assert row(replay(recording(tmp_path), [stricter]), "floor")["status"] == "fail"


def test_what_did_not_hold_from_the_start_is_not_the_agents_fault(tmp_path: Path) -> None:
    run(tmp_path, ["good"])
    other = changed(FLOOR, {"value": "something else"})
    found = row(replay(recording(tmp_path), [other]), "floor")
    assert found["status"] == "error"
    assert "before the agent's turn" in found["reason"]


@pytest.mark.parametrize(
    ("entry", "check", "lacks"),
    [
        (FLOOR, {"path": "data.other"}, "data.other"),
        (FLOOR, {"path": "$..v"}, "the whole object"),
        (FLOOR, {"resource_name": "another"}, "another"),
        (FIXED, {"kind": "Secret"}, "Secret"),
        (AT_END, {"namespace": "elsewhere"}, "elsewhere"),
        (STEADY, {"path": "spec.x"}, "spec.x"),
    ],
    ids=["field", "whole", "object", "kind", "namespace", "soak"],
)
def test_what_was_not_recorded_is_an_error_that_says_so(
    tmp_path: Path, entry: VerificationEntry, check: dict[str, object], lacks: str
) -> None:
    run(tmp_path, ["good"])
    other = changed(entry, check)
    again = replay(recording(tmp_path), [other])
    found = row(again, entry.name)
    assert found["status"] == "error"
    assert any(lacks in text for text in again.lacks[entry.name])


def test_a_new_entry_and_another_mode_are_errors(tmp_path: Path) -> None:
    run(tmp_path, ["good"])
    found = recording(tmp_path)
    new = valued("new", "objective", "converge")
    assert row(replay(found, [new]), "new")["status"] == "error"
    moved = valued("at end", "objective", "converge")
    assert "in assert mode" in row(replay(found, [moved]), "at end")["reason"]


def test_a_converge_entry_that_would_have_waited_on_is_an_error(tmp_path: Path) -> None:
    run(tmp_path, [])
    other = changed(FIXED, {"value": "later"})
    found = row(replay(recording(tmp_path), [other]), "fixed")
    assert found["status"] == "error"
    assert "stopped when the recorded check passed" in found["reason"]


def test_a_longer_soak_than_the_recorded_one_is_an_error(tmp_path: Path) -> None:
    run(tmp_path, [])
    longer = changed(STEADY, hold_window_sec=100.0)
    found = row(replay(recording(tmp_path), [longer]), "steady")
    assert found["status"] == "error"
    assert "stopped looking" in found["reason"]


def test_weights_and_severities_score_anew(tmp_path: Path) -> None:
    run(tmp_path, ["bad"], sampled=())
    found = recording(tmp_path)
    assert replay(found).conclusion.outcome == 0.0
    entries = [changed(FLOOR, severity="recoverable"), SAMPLED, FIXED, STEADY, AT_END]
    again = replay(found, entries)
    assert again.conclusion.outcome is not None
    assert again.conclusion.outcome > 0


@settings(max_examples=10)
@given(st.floats(0, 1, exclude_max=True))
def test_a_recording_that_ends_early_is_never_better(share: float) -> None:
    """Cut anywhere: what passes on a part would be a verdict on what nobody saw."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = run(folder, ["good", "bad", "good"])
        path = folder / "written" / "t1" / EVIDENCE_NAME
        whole = path.read_bytes()
        # Before that there is not even the header.
        path.write_bytes(whole[: 900 + int(share * (len(whole) - 900))])
        again = replay(recording(folder))
    was = {item["name"]: item["status"] for item in result.verification_report}
    for item in again.rows:
        assert item["status"] in (was[item["name"]], "error")
    if again.recording.evidence.damage or not again.recording.evidence.closed:
        assert again.notes


def test_an_interrupted_run_stays_interrupted(tmp_path: Path) -> None:
    def interrupt(_: AgentTurn) -> AgentResult | None:
        raise KeyboardInterrupt

    watch = RecordedWatch()
    access = RecordedAccess(watch)
    harness = DefaultEvalHarness(
        FakeProvider(),
        lambda _: FakeAgent(interrupt),
        run_id="run",
        connect=lambda _cluster, _folder: access,
    )
    result = harness.run_task(make_task(FLOOR, FIXED), tmp_path / "run")
    (found,) = find_recordings(tmp_path / "run")
    again = replay(found)
    assert result.status == again.conclusion.status == "interrupted"
    assert as_bytes(again.rows) == as_bytes(result.verification_report)
    assert again.differences is None
