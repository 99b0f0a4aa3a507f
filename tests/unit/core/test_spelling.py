"""Text that no encoding can hold."""

from __future__ import annotations

import json
import os

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.spelling import encodable, encodable_json

ANY = st.text(st.characters(exclude_categories=()))


@given(ANY)
def test_what_utf8_holds_is_left_alone_and_the_rest_is_made_such(text: str) -> None:
    made = encodable(text)
    made.encode("utf-8")
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert made == text


def test_a_byte_of_a_name_is_spelled_as_that_byte() -> None:
    assert encodable(os.fsdecode(b"b\xe4d\x80.yaml")) == "b\\xe4d\\x80.yaml"
    assert encodable("\ud83d!") == "\\ud83d!"


@given(
    st.dictionaries(ANY, st.lists(ANY, max_size=3) | ANY | st.none() | st.booleans(), max_size=3)
)
def test_json_has_no_half_of_a_pair_anywhere(value: dict[str, object]) -> None:
    text = json.dumps(encodable_json(value))  # type: ignore[arg-type]
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
