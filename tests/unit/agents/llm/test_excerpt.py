"""What the model is shown of much output: its true beginning and end, and the true rest."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.llm.excerpt import MAX_ANSWER, Excerpt, Excerpted
from devops_bench.core.boundedfile import OutputSink

LEFT_OUT = re.compile(r"\n\[(\d+) bytes left out\]\n")


def excerpt(data: bytes, size: int = 1000) -> Excerpt:
    made = Excerpt()
    for at in range(0, len(data), size):
        made.feed(data[at : at + size])
    return made


def test_what_is_short_is_shown_as_it_is() -> None:
    whole = excerpt(b"out\n").followed_by(excerpt(b"err\n"))
    assert whole.shown() == "out\nerr\n"
    assert excerpt(b"x" * MAX_ANSWER).shown() == "x" * MAX_ANSWER
    assert excerpt(b"\xff").shown() == "\ufffd"


streams = st.builds(
    lambda text, times: text.encode() * times, st.text(max_size=40), st.integers(0, 3000)
)


@given(streams, streams, st.integers(1, 70_000))
def test_whatever_comes_it_is_the_true_beginning_and_end(out: bytes, err: bytes, size: int) -> None:
    both = out + err
    shown = excerpt(out, size).followed_by(excerpt(err, size)).shown()
    if len(both) <= MAX_ANSWER:
        assert shown == both.decode()
        return
    match = LEFT_OUT.search(shown)
    assert match is not None
    first, last = shown[: match.start()].encode(), shown[match.end() :].encode()
    assert both.startswith(first)
    assert both.endswith(last)
    assert len(first) + int(match[1]) + len(last) == len(both)
    # At the cuts at most one character is lost.
    assert min(len(first), len(last)) > MAX_ANSWER // 2 - 4


def test_it_goes_on_where_the_file_is_full_and_stays_small() -> None:
    class Full:
        dropped = 0
        fault = ""

        def write(self, data: bytes) -> None:
            self.dropped += len(data)

        def close(self) -> None:
            pass

    full: OutputSink = Full()
    sink = Excerpted(full)
    for number in range(3000):
        sink.write(b"%07d\n" % number * 128)
    sink.close()
    assert sink.dropped == sink.excerpt.total == 3000 * 128 * 8
    shown = sink.excerpt.shown()
    assert shown.startswith("0000000\n")
    assert shown.endswith("0002999\n")
    assert f"[{sink.dropped - MAX_ANSWER} bytes left out]" in shown
    assert len(sink.excerpt.head) + len(sink.excerpt._tail) <= 3 * MAX_ANSWER
