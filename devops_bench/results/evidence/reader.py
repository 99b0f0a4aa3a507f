"""Reads the evidence of a task as far as it is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devops_bench.k8s.view import ResourceQuery
from devops_bench.results.evidence.container import Ending, read_lines
from devops_bench.results.evidence.decode import Decoder
from devops_bench.results.evidence.records import EvidenceRecord, Header
from devops_bench.verification.base import Fields

EVIDENCE_NAME: Final = "evidence.jsonl.gz"
"""The file in a task's folder."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was recorded of a task.

    Attributes:
        header: The first record, ``None`` when not even that is whole.
        records: All others, in their order.
        kept: What was kept of the objects of each query; what is not in it was not read.
        closed: Whether the recording was finished: it was not when the run was killed, still
            runs, or the disk was full.
        damage: What is wrong with the file beyond that, empty for nothing; ``records`` then ends
            before it.
    """

    header: Header | None
    records: tuple[EvidenceRecord, ...]
    kept: Mapping[ResourceQuery, Fields | None]
    closed: bool
    damage: str


def read_evidence(folder: Path) -> Evidence:
    """Return the evidence in a task's folder; damage never raises.

    Raises:
        OSError: There is none, or it could not be read.
    """
    ending, decoder = Ending(), Decoder()
    records: list[EvidenceRecord] = []
    damage = ""
    try:
        for line in read_lines(folder / EVIDENCE_NAME, ending):
            records += decoder.records(line)
    except ValueError as exc:
        damage = str(exc)
    header: Header | None = None
    if records and isinstance(records[0], Header):
        header = records.pop(0)  # type: ignore[assignment]
    return Evidence(header, tuple(records), decoder.kept, ending.closed, damage or ending.damage)
