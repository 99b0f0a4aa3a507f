from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.k8s.watch.events import (
    BookmarkEvent,
    ErrorEvent,
    Malformed,
    ObjectEvent,
    ObjectList,
    parse_line,
    parse_list,
    parse_version,
)
from tests.unit.k8s.watch.objects import line, thing


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_a_write_is_read_with_its_revision(kind: str) -> None:
    obj = thing("web", 41)
    assert parse_line(line(kind, obj.data)) == ObjectEvent(obj, 41, kind == "DELETED")


def test_a_bookmark_says_how_far_the_server_has_come() -> None:
    body = {"kind": "Pod", "metadata": {"resourceVersion": "7"}}
    assert parse_line(json.dumps({"type": "BOOKMARK", "object": body}).encode()) == BookmarkEvent(7)


def test_an_error_event_keeps_what_the_server_says() -> None:
    event = parse_line(line("ERROR", {"code": 410, "reason": "Expired", "message": "too old"}))
    assert event == ErrorEvent(410, "Expired", "too old")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"opaque"}}}',
        b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"4"}}}',
        b'{"type":"MOVED","object":{"metadata":{"name":"a","resourceVersion":"4"}}}',
    ],
)
def test_a_line_that_says_nothing_reliable_is_malformed(text: bytes) -> None:
    assert isinstance(parse_line(text), Malformed)


@given(st.binary())
def test_no_bytes_make_the_parser_raise(data: bytes) -> None:
    parse_line(data)
    parse_list(data)


@given(st.integers(min_value=1, max_value=len(line("ADDED", thing("web", 41).data)) - 2))
def test_no_truncated_line_passes_as_a_whole_one(length: int) -> None:
    assert isinstance(parse_line(line("ADDED", thing("web", 41).data)[:length]), Malformed)


@given(st.text())
def test_only_plain_positive_integers_order_writes(text: str) -> None:
    rv = parse_version(text)
    assert (rv is not None) == (text.isascii() and text.isdigit() and not text.startswith("0"))
    assert rv is None or str(rv) == text


def test_listed_objects_read_like_watched_ones() -> None:
    items = [{"metadata": {"name": "a"}}]
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    listed = parse_list(json.dumps({**body, "items": items}).encode())
    assert isinstance(listed, ObjectList)
    assert listed.rv == 9
    assert listed.objects[0].data == {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}


def test_a_part_of_a_list_is_not_taken_for_the_list() -> None:
    body = {"metadata": {"resourceVersion": "9", "continue": "abc"}, "items": []}
    assert isinstance(parse_list(json.dumps(body).encode()), Malformed)


def test_an_empty_list_may_say_null() -> None:
    body = b'{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":null}'
    assert parse_list(body) == ObjectList(9, ())
