r"""Standard error, bytes in, checks out: pure, linear in time, bounded in memory.

Lines end at ``\n`` and nowhere else. Only a line that begins, after blanks, with ``[PASS]``,
``[FAIL]`` or ``SCORE:`` is of the protocol; any other line is for people, wherever it stands. Each
line is judged by itself, so that a malformed one cannot touch another. What says in any other place
that a check failed (:mod:`suspects`) is reported, and keeps the output from being all well.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from devops_bench.verify_protocol.lines import (
    agrees_at_its_digits,
    read_check,
    read_score,
)
from devops_bench.verify_protocol.model import Check, Finding, FindingKind, Parsed, ScoreLine
from devops_bench.verify_protocol.redaction import Redactor
from devops_bench.verify_protocol.suspects import (
    NOTHING,
    TRACEBACK,
    Suspicion,
    Tail,
    says_false,
    suspect_lines,
    suspicion,
)

MAX_LINE_BYTES: Final = 256 * 1024
"""How much of one line is read; what follows is only searched for suspects."""
MAX_CHECKS: Final = 10_000
"""How many checks are kept; the weight of the others still counts."""
MAX_TEXT_CHARACTERS: Final = 8 * 1024 * 1024
"""How much text all labels and details may take; a check beyond that is not kept."""
MAX_FINDINGS: Final = 100
"""How many findings are kept; the others are counted."""

_QUOTED: Final = 80
_LAST_LINE: Final = 300
_SUSPECT: Final = "this reads as if a check had failed, and is no check of its own"

# What str.isspace() says of the encoded characters, \n excepted.
_BLANKS: Final = (
    rb"(?:[\t\x0b-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80"
    rb"|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*+"
)
# It begins with a literal, so that the search goes from line to line, not from byte to byte; and
# it looks at the next byte before it does anything slow.
_OURS: Final = re.compile(
    rb"\n[^\S\n]*+(?=[\x1c-\x1f\[S\xc2\xe1\xe2\xe3])" + _BLANKS + rb"(?:\[PASS\]|\[FAIL\]|SCORE:)"
)


def parse(data: bytes, redactor: Redactor | None = None) -> Parsed:
    """Return everything that counts in ``data``, the whole standard error of a script.

    Total: any bytes will do. What is not UTF-8 is kept with replacement characters.

    Args:
        data: The output.
        redactor: Takes secrets out of what is quoted.
    """
    parser = Parser(redactor)
    parser.feed(data)
    return parser.finish()


class Parser:
    """Reads standard error piece by piece; how it is cut into pieces makes no difference.

    Args:
        redactor: Takes secrets out of what is quoted.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._rest = bytearray()
        self._pending = False
        self._tail: Tail | None = None
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
        self._too_long: int | None = None
        self._score_after = False
        self._traceback_after = False
        self._findings: list[Finding] = []
        self._suspects: list[Finding] = []
        self._found = 0
        self._last_line = b""

    def feed(self, data: bytes) -> None:
        """Read the next piece, of any size; memory is bounded by a multiple of the longest line."""
        # So every line that is longer than what is read of it comes in several pieces.
        view = memoryview(data)
        for start in range(0, len(data), MAX_LINE_BYTES):
            self._feed(bytes(view[start : start + MAX_LINE_BYTES]))

    def finish(self) -> Parsed:
        """Read the last line, which may have no end, and return what was seen."""
        if self._pending:
            self._end_rest()
        self._compare_scores()
        findings = sorted(self._findings + self._suspects, key=lambda found: found.line)
        findings = findings[:MAX_FINDINGS]
        return Parsed(
            checks=tuple(self._checks),
            earned=self._earned,
            total=self._total,
            failed=self._failed,
            checks_not_kept=self._count - len(self._checks),
            says_fail=self._says_fail,
            unread_fail=self._unread_fail,
            too_long=self._too_long,
            score_after_last_check=self._score_after,
            traceback_after_last_check=self._traceback_after,
            findings=tuple(findings),
            findings_not_kept=self._found + len(self._suspects) - len(findings),
            last_line=self._redactor.clean(_as_text(self._last_line))[:_LAST_LINE],
        )

    def _feed(self, data: bytes) -> None:
        start = 0
        if self._pending:
            end = data.find(b"\n")
            self._keep_rest(data if end < 0 else data[:end])
            if end < 0:
                return
            self._end_rest()
            start = end + 1
        end = data.rfind(b"\n") + 1
        if end > start:
            self._read_lines(data[start:end], None)
        self._keep_rest(data[max(start, end) :])

    def _keep_rest(self, data: bytes) -> None:
        if not data:
            return
        self._pending = True
        room = MAX_LINE_BYTES - len(self._rest)
        self._rest += data[:room]
        if len(data) > room:
            if self._tail is None:
                self._tail = Tail(bytes(self._rest))
            self._tail.feed(data[room:])

    def _end_rest(self) -> None:
        """Read the line that was kept because its end was missing."""
        line, tail = bytes(self._rest), self._tail
        self._rest.clear()
        self._pending, self._tail = False, None
        if tail is not None:
            tail.end()
        self._read_lines(line, tail)

    def _read_lines(self, block: bytes, tail: Tail | None) -> None:
        """Read whole lines.

        Args:
            block: Lines, each but the last with its end, and that one with or without.
            tail: What follows, when it is one line and longer than what is there of it.
        """
        searched = b"\n" + block
        first = self._line + 1
        counted = after_check = end = 0
        others: list[bytes] = []
        for match in _OURS.finditer(searched):
            start = match.start() + 1
            self._line += searched.count(b"\n", counted, start)
            counted = start
            others.append(searched[end:start])
            end = searched.find(b"\n", start)
            end = len(searched) if end < 0 else end
            if self._read_ours(searched[start:end], tail):
                after_check = end
        self._line += searched.count(b"\n", counted) - block.endswith(b"\n")
        if searched.find(TRACEBACK, after_check) >= 0:
            self._traceback_after = True
        if tail is not None and not others:
            self._read_long(block, tail)
        # An empty line stays for each of the protocol's, so that the others keep their numbers.
        others.append(searched[end:])
        self._suspect_lines(b"".join(others)[1:], first)
        self._note_last_line(block)

    def _read_long(self, line: bytes, tail: Tail) -> None:
        """Look at the end of a line of which the beginning is none of the protocol's."""
        if tail.traceback:
            self._traceback_after = True
        # The cut may be within a blank of several bytes.
        if not tail.blank and not line.decode("utf-8", errors="ignore").strip():
            self._leave_unread("")
        if tail.suspicion:
            self._suspect(self._line, _as_text(line))

    def _suspect_lines(self, block: bytes, first: int) -> None:
        """Look for suspects in lines that are none of the protocol's.

        Args:
            block: The lines.
            first: The number of the first one.
        """
        if len(self._suspects) >= MAX_FINDINGS:
            return  # nothing can get worse
        suspects = suspect_lines(block)
        if suspects:
            lines = block.split(b"\n")
            for line in sorted(suspects):
                self._suspect(first + line, _as_text(lines[line]))

    def _note_last_line(self, block: bytes) -> None:
        block = block.rstrip()
        if block:
            line = block[block.rfind(b"\n") + 1 :]
            self._last_line = b"" if _OURS.match(b"\n" + line) else line

    def _read_ours(self, raw: bytes, tail: Tail | None) -> bool:
        """Read a line of the protocol; return whether it is a check."""
        more = NOTHING if tail is None else tail.suspicion
        line = _as_text(raw)
        if line.startswith("["):
            behind = raw.partition(b"pt)")[2]
            check = read_check(line, lambda text: self._clean(text, tail))
            if check is not None:
                self._count_check(check, line, tail)
                found = suspicion(behind + b"\n") | more
                self._suspect_text(found, line, prevents=found.lost)
                return True
            fail = line.startswith("[FAIL]") or bool(suspicion(raw + b"\n") | more)
            self._unread_fail |= fail
            what = '"[PASS] (Npt) label"'
        else:
            score = read_score(line)
            if score is not None:
                self._note_score(score)
                if score.all_pass:
                    found = suspicion(raw + b"\n") | more
                    self._suspect_text(found, line, prevents=bool(found))
                return False
            found = suspicion(raw + b"\n") | more
            self._says_fail |= found.lost or says_false(raw)
            self._unread_fail |= bool(found)
            what = '"SCORE: float  PASS: True|False  (earned/total)"'
        self._report(FindingKind.MALFORMED, f"this is not {what} and was not counted", line, tail)
        if tail is not None and not tail.blank:
            self._leave_unread(line)
        return False

    def _suspect_text(self, found: Suspicion, line: str, *, prevents: bool) -> None:
        """Note what stands in a check or a SCORE line besides."""
        self._unread_fail |= prevents
        if found:
            self._report(FindingKind.SUSPECT, _SUSPECT, line)

    def _suspect(self, number: int, line: str) -> None:
        """Note a line that is none of the protocol's; in the order of the lines."""
        self._unread_fail = True
        noted = self._suspects and self._suspects[-1].line == number
        if not noted and len(self._suspects) < MAX_FINDINGS:
            message = f"{_SUSPECT}: {self._quoted(line)}"
            self._suspects.append(Finding(number, FindingKind.SUSPECT, message))

    def _leave_unread(self, line: str) -> None:
        if self._too_long is None:
            self._too_long = self._line
        what = f"the line is longer than {MAX_LINE_BYTES} bytes, and what it says is not known"
        self._report(FindingKind.CUT, what, line)

    def _clean(self, text: str, tail: Tail | None) -> str:
        return self._redactor.clean(text, cut=tail is not None)

    def _count_check(self, check: Check, line: str, tail: Tail | None) -> None:
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
        if tail is not None:
            self._report(FindingKind.CUT, f"the line was cut to {MAX_LINE_BYTES} bytes", line, tail)

    def _note_score(self, score: ScoreLine) -> None:
        self._says_fail |= not score.all_pass
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
                    f"the score {self._redactor.clean(said.score)[:_QUOTED]}, "
                    f"the checks {float(exact):.6g}"
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

    def _report(self, kind: FindingKind, what: str, line: str, tail: Tail | None = None) -> None:
        if len(self._findings) < MAX_FINDINGS:
            self._add(Finding(self._line, kind, f"{what}: {self._quoted(line, tail)}"))
        else:
            self._found += 1

    def _quoted(self, line: str, tail: Tail | None = None) -> str:
        line = self._clean(line, tail)
        return repr(line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…")

    def _add(self, finding: Finding) -> None:
        self._found += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(finding)


def _as_text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").strip()


def _points(earned: int, total: int) -> str:
    text = f"{earned}/{total}"
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
