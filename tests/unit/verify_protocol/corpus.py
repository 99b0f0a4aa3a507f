"""The recorded outputs in ``shared/verify_protocol``, which lies beside the checkout.

Rows from 103 on are output of SaaS-Bench task scripts (tasks: CC BY 4.0, UniPat AI; unchanged).
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from devops_bench.core.json import JsonObject, JsonValue

VARIABLE: Final = "DEVOPS_BENCH_SHARED"
"""Names the folder ``shared`` where it does not lie beside the checkout."""


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded output.

    Attributes:
        id: Its number.
        stderr: What the script wrote.
        returncode: How it exited.
        ref_status: What the reference made of it; ``RAISES`` when it raised.
        doc_status: What a literal reading of the protocol makes of it.
        agrees: Whether both are the same.
        reference: The reference's whole result, ``None`` when it raised.
    """

    id: str
    stderr: bytes
    returncode: int
    ref_status: str
    doc_status: str
    agrees: bool
    reference: JsonObject | None


def corpus_dir() -> Path | None:
    """Where the corpus is, ``None`` when it is not there."""
    given = os.environ.get(VARIABLE)
    above = [parent / "shared" for parent in Path(__file__).resolve().parents]
    for shared in [Path(given)] if given else above:
        if (shared / "verify_protocol" / "index.tsv").is_file():
            return shared / "verify_protocol"
    return None


def load_rows() -> list[Row]:
    """Every row that is there."""
    folder = corpus_dir()
    if folder is None:
        return []
    with (folder / "index.tsv").open(encoding="utf-8", newline="") as file:
        index = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    for line in index:
        recorded = json.loads((folder / "corpus" / f"{line['id']}.reference.json").read_bytes())
        reference: JsonValue = recorded["run_verify"]
        assert reference is None or isinstance(reference, dict)
        rows.append(
            Row(
                id=line["id"],
                stderr=(folder / "corpus" / f"{line['id']}.stderr").read_bytes(),
                returncode=int(line["returncode"]),
                ref_status=line["ref_status"],
                doc_status=line["doc_status"],
                agrees=line["agrees"] == "yes",
                reference=reference,
            )
        )
    return rows


ROWS: Final = load_rows()

needs_corpus = pytest.mark.skipif(
    not ROWS, reason=f"no shared/verify_protocol beside the checkout (or in ${VARIABLE})"
)
