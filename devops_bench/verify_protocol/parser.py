r"""Standard error, bytes in, checks out: pure, linear in time, bounded in memory.

Lines end at ``\n`` and nowhere else. Only a line that begins, after blanks, with ``[PASS]``,
``[FAIL]`` or ``SCORE:`` is of the protocol; any other line is for people, wherever it stands. Each
line is judged by itself, so that a malformed one cannot touch another.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from devops_bench.verify_protocol.lines import (
    agrees_at_its_digits,
    read_check,
    read_score,
    says_fail,
)
from devops_bench.verify_protocol.model import Check, Finding, FindingKind, Parsed, ScoreLine

MAX_LINE_BYTES: Final = 256 * 1024
"""How much of one line is read."""
MAX_CHECKS: Final = 10_000
"""How many checks are kept; the weight of the others still counts."""
MAX_TEXT_CHARACTERS: Final = 8 * 1024 * 1024
"""How much text all labels and details may take; a check beyond that is not kept."""
MAX_FINDINGS: Final = 100
"""How many findings are kept; the others are counted."""

_PIECE: Final = 1024 * 1024
_QUOTED: Final = 80
_LAST_LINE: Final = 300

# What str.isspace() says of the encoded characters, \n excepted.
_BLANKS: Final = (
    rb"(?:[\t\x0b-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80"
    rb"|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*+"
)
# It begins with a literal, so that the search goes from line to line, not from byte to byte; and
# it looks at the next byte before it does anything slow.
_OURS: Final = re.compile(
    rb"\n[^\S\n]*+(?=[\x1c-\x1f\[ST+\xc2\xe1\xe2\xe3])" + _BLANKS + rb"(?:\[PASS\]|\[FAIL\]|SCORE:"
    rb"|(?:\+ Exception Group )?Traceback \(most recent call last\))"
)


def parse(data: bytes) -> Parsed:
    """Return everything that counts in ``data``, the whole standard error of a script.

    Total: any bytes will do. What is not UTF-8 is kept with replacement characters.
    """
    parser = Parser()
    view = memoryview(data)
    for start in range(0, len(data), _PIECE):
        parser.feed(bytes(view[start : start + _PIECE]))
    return parser.finish()


class Parser:
    """Reads standard error piece by piece; how it is cut into pieces makes no difference."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._rest_size = 0
        self._line = 0
        self._checks: list[Check] = []
        self._text_room = MAX_TEXT_CHARACTERS
        self._count = 0
        self._earned = 0
        self._total = 0
        self._failed = 0
        self._scores: list[tuple[int, ScoreLine]] = []
        self._says_fail = False
        self._unread_fail = False
        self._score_after = False
        self._traceback_after = False
        self._findings: list[Finding] = []
        self._found = 0
        self._last_line = b""

    def feed(self, data: bytes) -> None:
        """Read the next piece, of any size; memory is bounded by a multiple of its size."""
        start = 0
        if self._rest_size:
            end = data.find(b"\n")
            self._keep_rest(data if end < 0 else data[:end])
            if end < 0:
                return
            self._end_rest()
            start = end + 1
        end = data.rfind(b"\n") + 1
        if end > start:
            self._read_lines(data[start:end])
        self._keep_rest(data[max(start, end) :])

    def finish(self) -> Parsed:
        """Read the last line, which may have no end, and return what was seen."""
        if self._rest_size:
            self._end_rest()
        self._compare_scores()
        return Parsed(
            checks=tuple(self._checks),
            earned=self._earned,
            total=self._total,
            failed=self._failed,
            checks_not_kept=self._count - len(self._checks),
            says_fail=self._says_fail,
            unread_fail=self._unread_fail,
            score_after_last_check=self._score_after,
            traceback_after_last_check=self._traceback_after,
            findings=tuple(sorted(self._findings, key=lambda found: found.line)),
            findings_not_kept=self._found - len(self._findings),
            last_line=_as_text(self._last_line)[:_LAST_LINE],
        )

    def _keep_rest(self, data: bytes) -> None:
        self._rest += data[: max(0, MAX_LINE_BYTES - len(self._rest))]
        self._rest_size += len(data)

    def _end_rest(self) -> None:
        """Read the line that was kept because its end was missing."""
        size, self._rest_size = self._rest_size, 0
        line = bytes(self._rest)
        self._rest.clear()
        self._read_lines(line, cut=size > len(line))

    def _read_lines(self, block: bytes, *, cut: bool = False) -> None:
        """Read whole lines.

        Args:
            block: Lines, each but the last with its end, and that one with or without.
            cut: It is one line, and longer than what is there of it.
        """
        searched = b"\n" + block
        counted = 0
        for match in _OURS.finditer(searched):
            start = match.start() + 1
            if match.end() - start > MAX_LINE_BYTES:
                continue  # as if the line had come in pieces: what is behind the limit is not read
            self._line += searched.count(b"\n", counted, start)
            counted = start
            end = searched.find(b"\n", start)
            end = len(searched) if end < 0 else end
            limit = min(end, start + MAX_LINE_BYTES)
            self._read_ours(_as_text(searched[start:limit]), cut or limit < end)
        self._line += searched.count(b"\n", counted) - block.endswith(b"\n")
        self._note_last_line(block)

    def _note_last_line(self, block: bytes) -> None:
        block = block.rstrip()
        while block:
            start = block.rfind(b"\n") + 1
            line = block[start : start + MAX_LINE_BYTES].strip()
            if line:
                self._last_line = b"" if _OURS.match(b"\n" + line) else line[: _LAST_LINE * 4]
                return
            block = block[:start].rstrip()  # blank as far as a line is read: a very long one

    def _read_ours(self, line: str, cut: bool) -> None:
        if line.startswith("["):
            self._read_check(line, cut)
        elif line.startswith("SCORE:"):
            self._read_score(line)
        else:
            self._traceback_after = True

    def _read_check(self, line: str, cut: bool) -> None:
        check = read_check(line)
        if check is None:
            self._unread_fail |= line.startswith("[FAIL]")
            self._report(
                FindingKind.MALFORMED, 'this is not "[PASS] (Npt) label" and was not counted', line
            )
            return
        self._score_after = self._traceback_after = False
        self._count += 1
        self._total += check.weight
        if check.passed:
            self._earned += check.weight
        else:
            self._failed += 1
        size = len(line)
        if len(self._checks) < MAX_CHECKS and size <= self._text_room:
            self._text_room -= size
            self._checks.append(check)
        else:
            self._text_room = 0  # what is kept is the beginning, without holes
        if cut:
            self._report(FindingKind.CUT, f"the line was cut to {MAX_LINE_BYTES} bytes", line)

    def _read_score(self, line: str) -> None:
        score = read_score(line)
        self._says_fail |= says_fail(line) if score is None else not score.all_pass
        if score is None:
            self._report(
                FindingKind.MALFORMED,
                'this is not "SCORE: float  PASS: True|False  (earned/total)" and was not counted',
                line,
            )
            return
        self._score_after = True
        # What it is compared with is known at the end; the last one is always among them.
        if len(self._scores) >= MAX_FINDINGS:
            self._scores.pop()
        self._scores.append((self._line, score))

    def _compare_scores(self) -> None:
        all_pass = self._count > 0 and self._failed == 0
        exact = Fraction(self._earned, self._total) if self._total else Fraction(0)
        for line, said in self._scores:
            differences = []
            if not agrees_at_its_digits(said.score, exact):
                differences.append(
                    f"the score {said.score[:_QUOTED]}, the checks {float(exact):.6g}"
                )
            if (said.earned, said.total) != (self._earned, self._total):
                said_points = _points(said.earned, said.total)
                points = _points(self._earned, self._total)
                differences.append(f"{said_points}, the checks {points}")
            if said.all_pass != all_pass:
                differences.append(
                    f"PASS: {said.all_pass}, and {self._failed} of {self._count} checks failed"
                )
            if differences:
                message = f"the SCORE line says {'; '.join(differences)}"
                self._add(Finding(line, FindingKind.DISAGREEMENT, message))

    def _report(self, kind: FindingKind, what: str, line: str) -> None:
        if len(self._findings) < MAX_FINDINGS:
            quoted = line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"
            self._add(Finding(self._line, kind, f"{what}: {quoted!r}"))
        else:
            self._found += 1

    def _add(self, finding: Finding) -> None:
        self._found += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(finding)


def _as_text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").strip()


def _points(earned: int, total: int) -> str:
    text = f"{earned}/{total}"
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
