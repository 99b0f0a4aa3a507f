"""The strict reader: total, indifferent to pieces, each line by itself, never better."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.verify_protocol import parser as parser_module
from devops_bench.verify_protocol.judge import judge
from devops_bench.verify_protocol.model import Check, Ending, FindingKind, Parsed, Status
from devops_bench.verify_protocol.parser import (
    MAX_CHECKS,
    MAX_FINDINGS,
    MAX_LINE_BYTES,
    Parser,
    parse,
)
from devops_bench.verify_protocol.redaction import Redactor
from devops_bench.verify_protocol.reference import read_as_reference

LINES = st.sampled_from(
    [
        b"[PASS] (1pt) a", b"[FAIL] (2pt) b  (no)", b"[PASS] (0pt) c", b"  [PASS] (3pt) d\r",
        b"SCORE: 1.000  PASS: True  (1/1)", b"SCORE: 0.5  PASS: False  (1/2)", b"noise", b"",
        b"[PASS](1pt) x", b"[FAIL] (1 pt) x", b"[PASS] (pt) x", b"[FAIL] (1pt)", b"SCORE: one",
        b"Traceback (most recent call last):", b"\xff\xfe[PASS] (1pt) y", b"\x1b[32m[PASS] (1pt) z",
        b"checking [FAIL] (9pt) x", b"[PASS] (1pt) y[FAIL] (9pt) x", b"score: 0 PASS: False",
        b"x [ failed ] y", b"a Traceback (most recent call last):", b"[PASS] (1pt) says [FAIL]",
        b"\xe2\x80\xa8[FAIL] (1pt) u", b"[PASS] (1pt) \xc3", b"[PASS] (\xd9\xa3pt) arabic",
    ]
)  # fmt: skip
OUTPUTS = st.one_of(
    st.binary(max_size=400),
    st.lists(LINES, max_size=20).map(b"\n".join),
    st.lists(st.one_of(LINES, st.binary(max_size=30)), max_size=20).map(b"\n".join),
)
MALFORMED = st.sampled_from(
    [
        b"[PASS](1pt) x", b"[PASS] (1 pt) x", b"[PASS] (pt) x", b"[PASS] (-1pt) x", b"[PASS] x",
        b"[PASS] (1pts) x", b"[PASS] (1pt)", b"[PASS] (0.5pt) x", b"[PASS", b"[PASS]",
        b"[FAIL] (1.5pt) x  (", b"SCORE:", b"SCORE: 1.0.0  PASS: True  (1/1)", b"SCORE: 1.000",
    ]
)  # fmt: skip


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(ends)]


@given(OUTPUTS)
def test_any_bytes_will_do(data: bytes) -> None:
    parsed = parse(data)
    assert parsed.total == sum(check.weight for check in parsed.checks)
    assert parsed.earned == sum(check.weight for check in parsed.checks if check.passed)
    assert 0.0 <= parsed.score <= 1.0


@given(OUTPUTS, st.lists(st.integers(min_value=0), max_size=8))
def test_how_it_is_cut_into_pieces_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    parser = Parser()
    for piece in pieces(data, cuts):
        parser.feed(piece)
    assert parser.finish() == parse(data)


@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=12))
def test_lines_are_read_one_by_one(first: list[bytes], second: list[bytes]) -> None:
    whole = parse(b"\n".join([*first, *second]))
    assert whole.checks == parse(b"\n".join(first)).checks + parse(b"\n".join(second)).checks


@given(st.lists(LINES, max_size=12), st.integers(0, 12), MALFORMED)
def test_a_malformed_line_touches_no_other_and_is_reported(
    lines: list[bytes], place: int, malformed: bytes
) -> None:
    place = min(place, len(lines))
    with_it = parse(b"\n".join([*lines[:place], malformed, *lines[place:]]))
    without = parse(b"\n".join(lines))
    assert with_it.checks == without.checks
    assert with_it.score_after_last_check == without.score_after_last_check
    if malformed != b"[PASS":  # which is only noise
        assert (place + 1, FindingKind.MALFORMED) in {(f.line, f.kind) for f in with_it.findings}


@given(st.lists(LINES, max_size=12), st.integers(-3, 3), LINES)
def test_a_line_that_is_no_passed_check_never_raises_the_status(
    lines: list[bytes], code: int, extra: bytes
) -> None:
    def status(output: list[bytes]) -> Status:
        return judge("t", parse(b"\n".join(output)), Ending(code)).status

    more = [*lines, extra]
    if status(more) is Status.PASS and not extra.lstrip().startswith(b"[PASS]"):
        # Only an honest SCORE line turns "gave up" into a verdict, as the protocol has it.
        assert status(lines) is Status.PASS or extra.startswith(b"SCORE:")


@given(st.lists(LINES, max_size=12), st.sampled_from([0, 1, -9, None]))
def test_a_pass_is_all_that_was_seen(lines: list[bytes], code: int | None) -> None:
    data = b"\n".join(lines)
    result = judge("t", parse(data), Ending(code))
    assert result.all_pass == (result.status is Status.PASS)
    if result.status is Status.PASS:
        assert result.total > 0
        assert result.earned == result.total
        assert all(check.passed for check in result.checks)
        assert b"PASS: False" not in data
        assert code is not None
        assert code >= 0


@given(OUTPUTS)
def test_the_reference_reader_takes_any_text_with_numbers(data: bytes) -> None:
    text = data.decode("utf-8", errors="replace").replace("SCORE:", "score:").encode()
    assert all(check.label for check in read_as_reference(text).checks)


@given(st.text(alphabet="ab ()\u00a0\t", min_size=1, max_size=30))
def test_label_and_detail_are_those_of_both_readers(text: str) -> None:
    line = f"[PASS] (1pt) {text}".encode()
    ours, theirs = parse(line).checks, read_as_reference(line).checks
    assert ours == theirs


@pytest.mark.parametrize(
    "blank", [c for c in map(chr, range(0x3001)) if c.isspace() and c != "\n"], ids=ascii
)
def test_every_blank_may_stand_before_a_tag(blank: str) -> None:
    assert len(parse(f"x\n{blank}{blank}[FAIL] (1pt) a\n".encode()).checks) == 1


@pytest.mark.parametrize(
    ("line", "check"),
    [
        ("[PASS] (2pt) a  (d)", Check("a", 2, True, "d")),
        ("[FAIL] (1pt) a (d)", Check("a (d)", 1, False)),
        ("[FAIL] (1pt) a (b)  (c (d) e)", Check("a (b)", 1, False, "c (d) e")),
        ("[PASS] (1pt) a  ()", Check("a  ()", 1, True)),
        ("[PASS] (1pt) a  (b", Check("a  (b", 1, True)),
        ("[PASS] (1pt) a  (b)  (c)", Check("a", 1, True, "b)  (c")),
        ("[PASS] (007pt) a", Check("a", 7, True)),
        ("[PASS] (1pt) a\u2028[FAIL] (9pt) b", Check("a\u2028[FAIL] (9pt) b", 1, True)),
        ("[PASS] (1pt) a\r", Check("a", 1, True)),
    ],
)
def test_a_check_line(line: str, check: Check) -> None:
    assert parse(line.encode()).checks == (check,)


def test_what_is_no_utf8_is_kept_with_replacements() -> None:
    assert parse(b"[PASS] (1pt) caf\xe9\n").checks == (Check("caf\ufffd", 1, True),)


@pytest.mark.parametrize(
    ("score", "agrees"),
    [
        ("0.333", True), ("0.33", True), ("0.3", True), ("0.334", False), ("3.33e-1", True),
        ("0.3333333333333333", True), ("1.000", False), ("nan", False), ("inf", False),
        ("1e999999999", False), ("1e-999999999", False), ("-0.333", False), ("9" * 3000, False),
    ],
)  # fmt: skip
def test_a_score_agrees_at_its_printed_digits(score: str, agrees: bool) -> None:
    output = f"[PASS] (1pt) a\n[FAIL] (2pt) b\nSCORE: {score}  PASS: False  (1/3)\n"
    assert (parse(output.encode()).findings == ()) == agrees


def test_a_score_line_lowers_and_never_raises() -> None:
    passed, failed = b"[PASS] (1pt) a\n", b"[FAIL] (1pt) a\n"
    true, false = b"SCORE: 1.000  PASS: True  (1/1)\n", b"SCORE: 0.000  PASS: False  (0/1)\n"

    def status(data: bytes) -> Status:
        return judge("t", parse(data), Ending(0)).status

    assert status(passed + true) is Status.PASS
    assert status(passed + false) is Status.FAIL
    assert status(passed + false + true) is Status.FAIL
    assert status(passed + b"SCORE: ?  PASS: False") is Status.FAIL
    assert status(failed + true) is Status.FAIL
    assert status(true) is Status.ERROR


@pytest.mark.parametrize(
    ("output", "code", "status"),
    [
        ("[PASS] (1pt) a\n", 1, Status.ERROR),  # gave up after its first passed check
        ("[PASS] (1pt) a\n[FAIL] (1pt) b\n", 1, Status.FAIL),
        ("[PASS] (1pt) a\n[FAIL] (1pt) b\nTraceback (most recent call last):\n", 1, Status.ERROR),
        ("[FAIL] (1pt) b\nTraceback (most recent call last):\n[PASS] (1pt) a\n", 1, Status.FAIL),
        ("[PASS] (1pt) a\nTraceback (most recent call last):\n", 0, Status.PASS),
        ("[PASS] (1pt) a\n", -11, Status.ERROR),
        ("[PASS] (1pt) a\n", None, Status.ERROR),
        ("[PASS] (0pt) a\n", 0, Status.ERROR),
        ("[PASS] (1pt) a\n[FAIL] (0pt) b\n", 0, Status.FAIL),
        ("[PASS] (1pt) a\n[FAIL] (0.5pt) b\n", 0, Status.FAIL),  # a failure was printed
        ("", 0, Status.ERROR),
    ],
)
def test_the_verdict(output: str, code: int | None, status: Status) -> None:
    assert judge("t", parse(output.encode()), Ending(code)).status is status


def test_an_ending_with_a_problem_keeps_the_checks() -> None:
    result = judge("t", parse(b"[PASS] (1pt) a\n"), Ending(None, "timeout after 300s"))
    assert (result.status, result.error) == (Status.ERROR, "timeout after 300s")
    assert result.checks == (Check("a", 1, True),)


def test_a_crash_is_told_with_the_last_line() -> None:
    output = b"[FAIL] (1pt) a\nTraceback (most recent call last):\n  x\nKeyError: 'y'\n\n"
    assert "KeyError: 'y'" in (judge("t", parse(output), Ending(1)).error or "")


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = parse(b"[PASS] (2pt) a\n" * (MAX_CHECKS + 5) + b"[FAIL] (1pt) b\n")
    assert (len(many.checks), many.checks_not_kept, many.failed) == (MAX_CHECKS, 6, 1)
    assert many.total == 2 * (MAX_CHECKS + 5) + 1
    assert judge("t", many, Ending(0)).status is Status.ERROR

    bad = parse(b"[PASS] (pt)\n" * (MAX_FINDINGS + 7))
    assert (len(bad.findings), bad.findings_not_kept) == (MAX_FINDINGS, 7)

    monkeypatch.setattr(parser_module, "MAX_TEXT_CHARACTERS", 10_000)
    texts = parse(b"[PASS] (1pt) " + b"x" * 6000 + b"\n[PASS] (1pt) " + b"y" * 6000)
    assert (len(texts.checks), texts.checks_not_kept) == (1, 1)


@pytest.mark.parametrize("ended", [b"", b"\n", b"\n[FAIL] (1pt) b\n"])
def test_a_line_that_is_too_long_is_cut_and_counts(ended: bytes) -> None:
    data = b"[PASS] (1pt) " + b"x" * (2 * MAX_LINE_BYTES) + ended
    whole = Parser()
    whole.feed(data)
    small = Parser()
    for start in range(0, len(data), 1000):
        small.feed(data[start : start + 1000])
    parsed = whole.finish()
    assert parsed == small.finish()
    assert parsed.checks[0].weight == 1
    assert FindingKind.CUT in {found.kind for found in parsed.findings}
    assert len(parsed.checks) == (2 if b"b" in ended else 1)


def test_the_lines_of_findings() -> None:
    parsed = parse(b"\n\n[PASS] x\nnoise\nSCORE: 0.5  PASS: True  (1/2)\n[FAIL] y")
    assert [found.line for found in parsed.findings] == [3, 5, 6]
    assert parsed == Parsed(unread_fail=True, score_after_last_check=True, findings=parsed.findings)


def test_suspects_are_bounded_and_in_order() -> None:
    parsed = parse(b"x [FAIL]\n[PASS] x\n" * (MAX_FINDINGS * 3))
    assert len(parsed.findings) == MAX_FINDINGS
    assert [found.line for found in parsed.findings] == list(range(1, MAX_FINDINGS + 1))


def test_a_cut_text_does_not_end_with_half_a_secret() -> None:
    secret = "sk-very-secret"
    line = b"[PASS] (1pt) " + b"x" * (MAX_LINE_BYTES - 20) + secret.encode() + b"\n"
    (check,) = parse(line, Redactor([secret])).checks
    assert check.label.endswith("xxx")
