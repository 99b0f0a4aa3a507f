"""What is recorded is read back as it was."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery, UnknownKind, Unreadable
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.results import FenceResult, StreamFence
from devops_bench.k8s.watch.tables import Update
from devops_bench.k8s.watch.types import Origin
from devops_bench.results.evidence import container
from devops_bench.results.evidence.reader import EVIDENCE_NAME, read_evidence
from devops_bench.results.evidence.records import (
    EvidenceRecord,
    Fenced,
    GapNoted,
    Judged,
    Marked,
    Missed,
    Sampled,
    Step,
    Subscribed,
)
from devops_bench.results.evidence.writer import open_evidence
from devops_bench.verification.result import VerificationResult, VerificationStatus

from .helpers import QUERY, entry, header, kube_objects, text_of

# Everything is kept of what this reads.
WHOLE = entry(
    {
        "type": "resource_property",
        "kind": "Widget",
        "namespace": "shop",
        "path": "$",
        "op": "exists",
    }
)
OTHER = entry(
    {"type": "resource_property", "kind": "Widget", "namespace": "shop", "op": "exists"}, "other"
)
SECONDS = st.floats(0, 1e6, allow_nan=False)
RESULTS = st.builds(
    lambda status, reason, elapsed, undecided: VerificationResult(
        success=status == "pass",
        status=status,
        reason=reason,
        elapsed_time=elapsed,
        undecided=undecided,
        children=[VerificationResult.passed("a child", raw={"values": [1, None]})],
    ),
    st.sampled_from(["pass", "fail", "error"]),
    st.text(max_size=20),
    SECONDS,
    st.booleans(),
)
GAPS = st.builds(
    Gap,
    st.text(max_size=8),
    st.integers(1, 9),
    st.text(max_size=20),
    st.integers(0, 99),
    st.none() | st.integers(0, 99),
    SECONDS,
    st.none() | SECONDS,
    st.booleans(),
    st.text(max_size=9),
)
FENCES = st.builds(
    FenceResult,
    st.dictionaries(
        st.text(max_size=5),
        st.builds(
            StreamFence,
            st.text(max_size=5),
            st.booleans(),
            st.none() | st.integers(0, 9),
            st.text(max_size=9),
            SECONDS,
            st.integers(0, 9),
        ),
        max_size=2,
    ),
    st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=3)).map(tuple), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=2),
    st.none() | st.text(max_size=9),
    SECONDS,
)
WATCHES = st.sampled_from(["turn", "post_run"])
ORIGINS = st.sampled_from(["baseline", "event", "repair", "relist", "again"])
UPDATES = st.lists(
    kube_objects().map(lambda obj: Update(QUERY, (obj.namespace, obj.name), obj))
    | st.just(Update(QUERY, ("shop", "web"), None)),
    max_size=3,
).map(tuple)
READINGS = (
    st.lists(kube_objects(), max_size=2).map(lambda found: Matched(tuple(found)))
    | st.text(max_size=9).map(UnknownKind)
    | st.text(max_size=9).map(Unreadable)
)
RECORDS: st.SearchStrategy[EvidenceRecord] = st.one_of(
    st.builds(
        Step, WATCHES, st.text(max_size=9), st.integers(1, 2**63 - 1), SECONDS, ORIGINS, UPDATES
    ),
    st.builds(
        Sampled,
        st.just("it"),
        SECONDS,
        SECONDS,
        st.none() | st.dictionaries(st.just(QUERY) | st.just(ResourceQuery("other")), READINGS),
        RESULTS,
    ),
    st.builds(
        Subscribed,
        WATCHES,
        st.just("it"),
        st.sampled_from(["watched", "sampled"]),
        st.lists(st.text(max_size=4), max_size=2).map(tuple),
        st.text(max_size=9),
        st.none() | SECONDS,
    ),
    st.builds(Missed, st.just("it"), st.integers(1, 9)),
    st.builds(GapNoted, WATCHES, st.just("it"), GAPS),
    st.builds(Fenced, WATCHES, st.none() | st.just("it"), SECONDS, FENCES),
    st.builds(
        Marked,
        st.sampled_from(["turn_begin", "phase", "closed"]),
        SECONDS,
        st.none() | st.just("it"),
        st.none() | st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.none()),
    ),
)


def without_other_objects(record: EvidenceRecord) -> bool:
    """Return whether a record holds only objects that are kept whole."""
    if not isinstance(record, Sampled) or record.readings is None:
        return True
    other = record.readings.get(ResourceQuery("other"))
    return not isinstance(other, Matched) or not other.objects


@settings(max_examples=60)
@given(st.lists(RECORDS.filter(without_other_objects), max_size=10))
def test_what_was_recorded_is_read_back(records: list[EvidenceRecord]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sink = open_evidence(folder, [WHOLE])
        for record in (header(), *records):
            sink.record(record)
        sink.close()
        assert sink.problem is None
        found = read_evidence(folder)
    assert found.header is not None
    assert found.header.run_id == "run"
    assert list(found.records) == records
    assert found.kept[QUERY] is None
    assert (found.closed, found.damage) == (True, "")


@given(st.data())
@settings(max_examples=60)
def test_no_damage_ever_raises(data: st.DataObject) -> None:
    records = data.draw(st.lists(RECORDS, max_size=5))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sink = open_evidence(folder, [WHOLE])
        for record in (header(), *records):
            sink.record(record)
        sink.close()
        whole = read_evidence(folder)
        damaged = bytearray((folder / EVIDENCE_NAME).read_bytes())
        place = data.draw(st.integers(0, len(damaged) - 1))
        if data.draw(st.booleans()):
            damaged[place] ^= data.draw(st.integers(1, 255))
        else:
            del damaged[place:]
        (folder / EVIDENCE_NAME).write_bytes(damaged)
        found = read_evidence(folder)
    assert found.records == whole.records[: len(found.records)]
    if found.records != whole.records:
        assert found.damage or not found.closed


def test_of_a_pure_check_only_the_status_is_kept(tmp_path: Path) -> None:
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    sink.record(Judged("turn", "it", 7, 0.5, "event", VerificationResult.failed("a long reason")))
    sink.close()
    assert "a long reason" not in text_of(tmp_path)
    (judged,) = read_evidence(tmp_path).records
    assert isinstance(judged, Judged)
    assert (judged.rv, judged.at_sec, judged.result.status) == (7, 0.5, "fail")


STATUSES = st.sampled_from(["pass", "fail", "error"])
NAMES = st.sampled_from(["it", "other", "unknown"])


@settings(max_examples=40)
@given(st.lists(st.tuples(NAMES, st.integers(1, 3), ORIGINS, STATUSES), max_size=12))
def test_judgements_of_one_state_share_a_line_and_lose_nothing(
    judged: list[tuple[str, int, Origin, VerificationStatus]],
) -> None:
    records = [
        Judged("turn", name, rv, 0.5, origin, VerificationResult(success=s == "pass", status=s))
        for name, rv, origin, s in judged
    ]
    with tempfile.TemporaryDirectory() as folder:
        sink = open_evidence(Path(folder), [WHOLE, OTHER])
        sink.record(header())
        for record in records:
            sink.record(record)
        sink.close()
        assert sink.problem is None
        found = read_evidence(Path(folder)).records
    for name in ("it", "other", "unknown"):
        # Of one state the entries may change places, of one entry the states may not.
        assert [_essence(r) for r in found if isinstance(r, Judged) and r.entry == name] == [
            _essence(r) for r in records if r.entry == name
        ]


def _essence(record: Judged) -> tuple[int, float, str, str]:
    return record.rv, record.at_sec, record.origin, record.result.status


def test_an_object_is_written_once(tmp_path: Path) -> None:
    obj = KubeObject(
        {"kind": "Widget", "metadata": {"name": "web", "namespace": "shop", "uid": "u1"}}
    )
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    for rv in range(1, 9):
        updates = (Update(QUERY, (obj.namespace, obj.name), obj),)
        sink.record(Step("turn", "widgets", rv, 0.0, "event", updates))
    sink.close()
    assert text_of(tmp_path).count('"uid":"u1"') == 1


def test_records_are_on_the_disk_without_a_close(tmp_path: Path) -> None:
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    sink.record(Missed("it", 1))
    pause = threading.Event()
    for _ in range(500):
        found = read_evidence(tmp_path)
        if found.records:
            break
        pause.wait(0.02)
    assert found.records == (Missed("it", 1),)
    assert (found.closed, found.damage) == (False, "")
    sink.close()


def test_a_full_disk_cuts_the_recording_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: object, lines: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.LineFile, "write", full)
    with caplog.at_level(logging.WARNING):
        sink = open_evidence(tmp_path, [WHOLE])
        sink.record(header())
        sink.close()
        sink.record(Missed("it", 1))
        sink.close()
    assert sink.problem is not None
    assert "No space left on device" in sink.problem
    assert caplog.text.count("evidence_cut") == 1


def test_a_record_that_is_no_json_cuts_the_recording(tmp_path: Path) -> None:
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    sink.record(Marked("phase", 0.0, detail={"what": object()}))  # type: ignore[dict-item]
    sink.close()
    assert sink.problem is not None
    assert read_evidence(tmp_path).damage == ""


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    sink = open_evidence(tmp_path / "nowhere", [WHOLE])
    sink.record(header())
    sink.close()
    assert "could not be begun" in (sink.problem or "")


def test_evidence_of_another_version_is_not_misread(tmp_path: Path) -> None:
    file = container.LineFile(tmp_path / EVIDENCE_NAME)
    file.write([b'{"k":"header","schema_version":99}'])
    file.close()
    found = read_evidence(tmp_path)
    assert found.header is None
    assert "version 99" in found.damage


def test_a_kind_of_record_that_is_not_known_ends_what_is_read(tmp_path: Path) -> None:
    file = container.LineFile(tmp_path / EVIDENCE_NAME)
    file.write([b'{"k":"missed","entry":"it","count":1}', b'{"k":"new","a":1}'])
    file.close()
    found = read_evidence(tmp_path)
    assert found.records == (Missed("it", 1),)
    assert "'new'" in found.damage


def test_the_end_of_a_phase_is_on_the_disk_before_the_next_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[list[str]] = []
    reached = threading.Event()

    def sync(self: container.LineFile) -> None:
        marks = [r for r in read_evidence(tmp_path).records if isinstance(r, Marked)]
        synced.append([mark.mark for mark in marks])
        reached.set()

    monkeypatch.setattr(container.LineFile, "sync", sync)
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    sink.record(Marked("turn_end", 1.0))
    sink.record(Marked("phase", 2.0, None, {"name": "turn"}))
    assert reached.wait(30)
    assert synced == [["turn_end", "phase"]]
    sink.close()
    assert len(synced) == 2


def test_a_disk_that_does_not_take_it_cuts_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    sink = open_evidence(tmp_path, [WHOLE])
    sink.record(header())
    sink.record(Marked("phase", 2.0))
    sink.close()
    assert "Input/output error" in (sink.problem or "")


def test_the_file_and_its_name_are_brought_to_the_disk(tmp_path: Path) -> None:
    file = container.LineFile(tmp_path / EVIDENCE_NAME)
    file.write([b'{"a":1}'])
    file.sync()
    file.sync()
    file.close()
    assert list(container.read_lines(tmp_path / EVIDENCE_NAME, container.Ending())) == [{"a": 1}]
