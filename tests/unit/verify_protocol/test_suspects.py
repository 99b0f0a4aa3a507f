"""What says that a check failed is found in whatever spelling, and the word "fail" is not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.verify_protocol.judge import judge
from devops_bench.verify_protocol.model import Ending, FindingKind, Status
from devops_bench.verify_protocol.parser import MAX_LINE_BYTES, Parser, parse
from devops_bench.verify_protocol.suspects import Tail, suspicion


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(ends)]


BLANKS = b" " * (MAX_LINE_BYTES + 9)


@pytest.mark.parametrize(
    "line",
    [
        b"\r[FAIL] (9pt) x", b"checking\r[FAIL] (9pt) x", b"checking ...[FAIL] (9pt) x",
        b"[PASS] (1pt) z[FAIL] (9pt) x", b"\0[FAIL] (9pt) x", b"\xef\xbb\xbf[FAIL] (2pt) z",
        b"\x1b[31m[FAIL] (2pt) q\x1b[0m", b"[\x1b[31mFAIL\x1b[0m] (2pt) q", b"[FAIL (5pt) x",
        b"[FAILED] (5pt) x", b"[fail] (2pt) x", b"[ FAIL] (2pt) x", b"[FAIL ] (1pt) x",
        b"FAIL (1pt) x", b"[fail]", b"SCORE 0.0 PASS: False", b"SCORE : 0.0  PASS: False  (0/1)",
        b"score: 0 PASS: False (0/1)", b"SCORE: 0.0  PASS: FALSE  (0/1)", b"SCORE: 0 PASS = false",
        b"SCORE: 1.0  PASS: True  (1/1)[FAIL] (9pt) x", b"[PASS] (x) [FAIL]",
        BLANKS + b"[FAIL] (5pt) x", BLANKS + b"[PASS] (5pt) x", b"SCORE:" + BLANKS + b"PASS: False",
        b"SCORE:" + BLANKS + b"x", b"[PASS]" + BLANKS + b"(1pt) x", b"x" + BLANKS + b"[FAIL]",
        b"[PASS] (1pt) " + b"x" * MAX_LINE_BYTES + b"[FAIL] (9pt) x",
        b"x" * (MAX_LINE_BYTES - 3) + b"[FAIL] (9pt) x",
        b"[FAIL     ] (1pt) b", b"FAIL     (1pt) b", b"FAIL [5pt] b", b"FAIL: 5pt b",
        b"FAIL .......... (5 points) b", b"[FAIL:xx] (1pt) b", b"[FAIL: no page]", b"[FAIL #2] b",
        b"[FAIL - timeout] b", b"[FAIL the page] (2pt) b", b"FAILS (5pts) b", b"[FAILURE!] b",
        b"SCORE: 0.0  PASS: \x1b[31mFalse\x1b[0m  (0/1)", b"SCORE: 0.0  PASS False  (0/1)",
        b"SCORE: 0.0  \x1b[1mPASS:\x1b[0m False  (0/1)", b"SCORE: 0.0  PASS:  'False'",
        b"PASS: \x1b[31mFalse\x1b[0m", b"PASS:         False",
        b"checkingPASS: False", b"PASS         : False",
        b"PASS: " + b" \x1b[0m" * 9 + b" False.", b'{"all_pass": false}', b"**PASS**: `False`",
        b"[F\x1b[0mAIL] (1pt) b", b"[F\x00AIL] b", b"[FA\x7fIL] b", b"[FA\xe2\x80\x8bIL] b",
        b"[F\rAIL] b", b"[F\xffAIL] b", b"\x1b[FAIL] (1pt) b", b"\x1b[PASS: False",
        "\u3010FAIL\u3011 b".encode(), "FAIL\uff085pt\uff09 b".encode(),
        "PASS\uff1aFalse".encode(),
        b"x" * MAX_LINE_BYTES + b"[" + b" " * 300 + b"F\x1b[1mAIL" + b" " * 999 + b"] (5pt) x",
    ],
)  # fmt: skip
def test_what_nearly_says_that_something_failed_is_found_and_prevents_a_pass(line: bytes) -> None:
    for data in (line, line + b"\n", b"a\n" + line + b"\n[PASS] (1pt) b\n"):
        data = b"[PASS] (1pt) a\n" + data
        parsed = parse(data)
        assert judge("t", parsed, Ending(0)).status is not Status.PASS
        assert parsed.findings or parsed.failed
        parser = Parser()
        for start in range(0, len(data), 1001):
            parser.feed(data[start : start + 1001])
        assert parser.finish() == parsed


@pytest.mark.parametrize(
    "line",
    [
        b"[!] failed to connect, trying again", b"[fail2ban] up", b"no failures",
        b"PASS: falsework",
        b"[PASS] (1pt) no line says [FAIL]", BLANKS, b"x" * (MAX_LINE_BYTES + 9), b"bypass: falsy",
        b"bypass: false", b"compass=false", b"pass: falsehood", b"pass: true, not false",
        b"pass: false-positive rate",
        b"[PASS] (1pt) requests may fail (3 pods)", b"[PASS] (1pt) did not fail  (0 failed)",
        b"[PASS] (1pt) fail (2 of 5) is no failure  (fails: 0, failed [3])",
        b"[failed: 0, passed: 4]",
        b"[PASS] (1pt) the build did FAIL: expected  (FAIL)", b"2 failed (5 passed)", b"FAIL",
        b"FAIL: x",
        b"[failover] done", b"[fail-fast] on", b"[unfail]", b"[failing tests: none]",
        b"fail 5 people",
        b"[PASS] (5pt) fail  (pt)", b"the score is false", b"pass by false pretences",
        b"f ail (5pt)",
        b"[FA", b"IL] (5pt)", b"x" * (MAX_LINE_BYTES - 6) + b"PASS: " + b"falsehood",
    ],
)  # fmt: skip
def test_what_does_not_prevents_no_pass(line: bytes) -> None:
    parsed = parse(b"[PASS] (1pt) a\n" + line + b"\n")
    assert judge("t", parsed, Ending(0)).status is Status.PASS


NOISE = st.lists(
    st.sampled_from(
        [b"\0", b"\r", b"\x7f", b"\x1b[31m", b"\x1b[0;1m", b"\x1b[K", b"\xff", b"\xe2\x80\x8b",
         b"\x08"]
    ),
    max_size=3,
).map(b"".join)  # fmt: skip
GAP = st.lists(st.sampled_from([b" ", b"\t", b"\0", b"\x1b[2m", b"\xc2\xa0"]), max_size=40)
FAILURES = (
    (b"[", b"FAIL", b"]"), (b"[", b"Failed", b"] (", b"1", b"pt", b") b"), (b"FAIL", b"(", b"5",
    b"pt", b")"),
    (b"PASS", b":", b"False", b""), (b"pass", b"=", b"false", b""), (b"[", b"fail", b":", b"x]"),
)  # fmt: skip


@given(st.data())
def test_neither_colours_nor_gaps_nor_invisible_bytes_hide_a_failure(data: st.DataObject) -> None:
    parts = data.draw(st.sampled_from(FAILURES))
    line = b""
    for part in parts:
        letters = [bytes([letter]) for letter in part]
        line += letters[0] if letters else b""
        for letter in letters[1:]:
            line += data.draw(NOISE) + letter
        line += b"".join(data.draw(GAP))
    for before in (b"", b"checking ", b"SCORE: "):
        parsed = parse(b"[PASS] (1pt) a\n" + before + line + b"\n")
        assert judge("t", parsed, Ending(0)).status is Status.FAIL
        assert parsed.findings or parsed.failed


PROSE = st.lists(
    st.sampled_from(
        ["fail", "Failed", "FAILURE", "fails", "pass", "false", "3", "pods", "(2 of 5)",
         "points", "and",
         "PASS", "True", "score", "(", ")", ",", ".", "...", "-", "no", "it did", "\u2717", "  "]
    )
).map(" ".join)  # fmt: skip


@given(PROSE, PROSE)
def test_fail_as_a_word_of_a_sentence_lowers_nothing(label: str, noise: str) -> None:
    output = f"[PASS] (1pt) a {label}  (x {label})\nx {noise}\n"
    assert judge("t", parse(output.encode()), Ending(0)).status is Status.PASS


@given(
    st.lists(
        st.sampled_from(
            [b"[", b"F", b"fail", b"A", b"IL", b"]", b" ", b"  ", b"(5", b"pt", b")", b"PASS", b":",
             b"False", b"-", b"..", b"\x1b", b"[1", b"m", b"\0", b"\xef", b"\xbc", b"\x9a", b"x",
             b"0"]
        ),
        max_size=30,
    ).map(b"".join),
    st.lists(st.integers(min_value=0), max_size=8),
)  # fmt: skip
def test_the_end_of_a_line_is_searched_however_it_comes(line: bytes, cuts: list[int]) -> None:
    tail = Tail(b"")
    for piece in pieces(line, cuts):
        tail.feed(piece)
    tail.end()
    assert tail.suspicion == suspicion(line + b"\n")


def test_a_tag_in_a_label_is_a_finding() -> None:
    (found,) = parse(b"[PASS] (1pt) no line says [FAIL]\n").findings
    assert found.kind is FindingKind.SUSPECT
