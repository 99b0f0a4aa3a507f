from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from devops_bench.tasks.scalars import ScalarFault, quoted, read_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("0x1F", 31),
        ("1.0", 1.0),
        ("0.1667", 0.1667),
        ("-0.5", -0.5),
        ("web", "web"),
        ("1.2.3", "1.2.3"),
        ("192Mi", "192Mi"),
        ("500m", "500m"),
        ("1:99", "1:99"),
        ("nginx:1.27", "nginx:1.27"),
        ("nope", "nope"),
        ("onward", "onward"),
        ("-", "-"),
        (".", "."),
        ("^v1\\.35\\.", "^v1\\.35\\."),
    ],
)
def test_what_every_reader_reads_alike_is_read(text: str, value: object) -> None:
    found = read_plain(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("on", "true for the boolean"),
        ("Off", "false for the boolean"),
        ("y", "'y' in quotes"),
        ("NO", "'NO' in quotes"),
        ("0017", "15 for the number, or 17 for the number"),
        ("0o17", "15 for the number"),
        ("007", "7 for the number"),
        ("08", "'08' in quotes"),
        ("0b11", "3 for the number"),
        ("-0x1F", "-31 for the number"),
        ("1_000", "1000 for the number"),
        ("1:30", "90 for the number"),
        ("-1:30", "-90 for the number"),
        ("1:30.5", "90.5 for the number"),
        ("1e3", "1000.0 for the number"),
        ("1.20", "1.2 for the number"),
        ("1.", "1.0 for the number"),
        (".5", "0.5 for the number"),
        ("+1.5", "1.5 for the number"),
        ("1.5e+3", "1500.0 for the number"),
        ("1.5e+400", "for the text"),
        (".inf", "a finite number"),
        ("-.INF", "a finite number"),
        (".nan", "a finite number"),
        ("2024-01-01", "'2024-01-01' in quotes"),
        ("2024-01-01T10:00:00Z", "in quotes"),
        ("<<", "write the fields out"),
        ("=", "'=' in quotes"),
        ("9223372036854775808", "for the text"),
        ("1" * 5000, "in quotes"),
        ("1" + ":1" * 5000, "in quotes"),
        ("1" + ":1" * 190 + ".5", "in quotes"),
    ],
)
def test_what_readers_may_read_differently_is_refused_with_what_is_right(
    text: str, right: str
) -> None:
    found = read_plain(text)
    assert isinstance(found, ScalarFault)
    assert right in found.hint


@given(st.text(alphabet="0123456789abefox_:.-+~<=yYnNtT/ ", max_size=12))
@example("0x_")
@example("0b_")
@example("_1")
def test_no_text_breaks_it_and_a_number_keeps_its_text(text: str) -> None:
    found = read_plain(text)
    if isinstance(found, float):
        assert repr(found) == text
        assert math.isfinite(found)
    if isinstance(found, str):
        assert found == text


@given(st.text(alphabet="0123456789abefox_:.-+~yYnNtT", min_size=1, max_size=8))
def test_what_is_accepted_is_what_another_reader_reads(text: str) -> None:
    found = read_plain(text)
    if isinstance(found, ScalarFault) or text.startswith(("-", ":")) or text.endswith(":"):
        return
    assert yaml.safe_load(text) == found


@given(st.text(max_size=20))
def test_quoted_is_one_line_of_yaml_for_the_same_text(text: str) -> None:
    line = quoted(text)
    assert "\n" not in line
    assert yaml.safe_load(line) == text
