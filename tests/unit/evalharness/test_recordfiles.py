from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from devops_bench.agents.transcript import Transcript
from devops_bench.core.files import AppendOnlyLog
from devops_bench.evalharness.recordfiles import RecordFiles
from devops_bench.results.evidence.reader import EVIDENCE_NAME
from devops_bench.results.evidence.records import Marked
from devops_bench.results.evidence.writer import open_evidence


@pytest.fixture
def marked(tmp_path: Path) -> tuple[RecordFiles, Path]:
    path = tmp_path / "task" / "journal.jsonl"
    path.parent.mkdir()
    path.write_text("one line\n")
    records = RecordFiles()
    records.mark(path)
    return records, path


def test_a_record_may_grow(marked: tuple[RecordFiles, Path]) -> None:
    records, path = marked
    with path.open("a") as file:
        file.write("more\n")
    assert records.lost() == {}


def test_what_was_deleted_replaced_or_cut_is_told(marked: tuple[RecordFiles, Path]) -> None:
    records, path = marked
    path.write_text("")
    assert records.lost() == {path: "was cut"}
    kept = path.with_name("kept")  # so that its inode is not given out again
    path.rename(kept)
    assert records.lost() == {path: "was deleted"}
    path.write_text("one line\none more\n")
    assert records.lost() == {path: "was replaced"}
    path.unlink()
    path.symlink_to(kept)
    assert records.lost() == {path: "was replaced"}
    shutil.rmtree(path.parent)
    assert records.lost() == {path: "was deleted"}


def test_of_what_is_only_expected_being_there_is_enough(tmp_path: Path) -> None:
    there, gone = tmp_path / "agent.stdout", tmp_path / "agent.stderr"
    there.touch()
    records = RecordFiles()
    records.expect([there, gone])
    records.mark(tmp_path / "never")
    assert records.lost() == {gone: "was deleted"}


def test_what_others_wrote_into_a_record_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    records = RecordFiles()
    with AppendOnlyLog(path) as log:
        records.mark(path)
        records.written(path, log.difference)
        log.append({"event": "turn_started"})
        written = path.read_bytes()
        assert records.lost() == {}
        with path.open("ab") as file:  # it does not become shorter, nor another file
            file.write(b'{"event":"forged"}\n')
        log.append({"event": "turn_ended"})
        assert records.lost() == {path: "was changed"}
    path.write_bytes(written + b'{"event":"turn_ended"}\n')
    assert records.lost() == {}
    with path.open("ab") as file:
        file.write(b"\n")
    assert records.lost() == {path: "holds what the harness did not write"}
    path.write_bytes(written.replace(b"started", b"skipped") + b'{"event":"turn_ended"}\n')
    assert records.lost() == {path: "was changed"}
    path.unlink()
    assert records.lost() == {path: "was deleted"}


def test_what_an_earlier_writer_left_is_not_taken_for_foreign(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"event":"one"}\n{"event":')
    with AppendOnlyLog(path) as log:
        log.append({"event": "two"})
        assert log.difference() == ""


def test_the_evidence_knows_what_was_written_to_it(tmp_path: Path) -> None:
    sink = open_evidence(tmp_path, [])
    sink.record(Marked("window_begin", 0.0))
    sink.close()
    assert (sink.problem, sink.difference()) == (None, "")
    path = tmp_path / EVIDENCE_NAME
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert sink.difference() == "was changed"


def test_the_transcript_knows_what_was_written_to_it(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    transcript = Transcript(path)
    transcript.message("assistant", "I scaled it.")
    transcript.close()
    assert transcript.difference() == ""
    path.write_bytes(path.read_bytes().replace(b"scaled", b"mended"))
    assert transcript.difference() == "was changed"
    assert Transcript().difference() == ""
