from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonValue
from devops_bench.tasks.yaml import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_VALUES,
    Document,
    Place,
    decode,
    format_path,
    parse,
    read_text,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=15,
)


def read(text: str) -> JsonValue:
    document, diagnostics = parse(text)
    assert diagnostics == []
    assert document is not None
    return document.value


def faults(text: str) -> list[str]:
    return [
        f"{found.line}:{found.column}: {found.path}: {found.message}" for found in parse(text)[1]
    ]


def paths_of(value: JsonValue, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below: list[tuple[str | int, ...]] = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            below += paths_of(item, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            below += paths_of(item, (*path, index))
    return below


def test_every_fault_is_found_at_once_with_its_place() -> None:
    text = "a: on\nb:\n  - 0017\n  - {c: 1.20, c: 2}\n1: x\nd: !foo x\ne: .inf\n"
    found = faults(text)
    assert [line.split(": ")[:2] for line in found] == [
        ["1:4", "a"],
        ["3:5", "b[0]"],
        ["4:9", "b[1].c"],
        ["4:15", "b[1].c"],
        ["5:1", ""],
        ["6:4", "d"],
        ["7:4", "e"],
    ]


def test_a_key_that_is_there_twice_names_the_first() -> None:
    assert faults("a: 1\nb: 2\na: 3\n") == ["3:1: a: the key 'a' is there twice (first on line 1)"]


def test_the_same_key_in_two_mappings_is_fine() -> None:
    assert read("a: {x: 1}\nb: {x: 1}\n") == {"a": {"x": 1}, "b": {"x": 1}}


@pytest.mark.parametrize("key", ["1", "true", "~", "1.5", "[a]", "{a: b}", "on", "2024-01-01"])
def test_a_key_must_be_text(key: str) -> None:
    assert len(faults(f"? {key}\n: x\n")) == 1


@pytest.mark.parametrize("text", ["'on'", '"0017"', "'1.20'", "|\n  on", "!!str 1.20"])
def test_quotes_make_it_text(text: str) -> None:
    assert isinstance(read(f"a: {text}\n"), dict)


def test_an_alias_is_the_value_again() -> None:
    assert read("a: &x [1]\nb: *x\n") == {"a": [1], "b": [1]}


def test_a_fault_in_an_alias_is_said_once() -> None:
    assert len(faults("a: &x [on]\nb: *x\nc: *x\n")) == 1


def test_an_alias_of_itself_is_refused() -> None:
    assert "inside of its own anchor" in faults("a: &x [*x]\n")[0]


def test_aliases_that_explode_are_refused_once() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    found = faults("\n".join(lines))
    assert len(found) == 1
    assert str(MAX_VALUES) in found[0]


def test_too_many_values_are_refused() -> None:
    assert str(MAX_VALUES) in faults("[" + "a," * (MAX_VALUES + 1) + "]")[0]


def test_aliases_count_in_the_depth() -> None:
    lines = ["a0: &a0 [1]"]
    lines += [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, MAX_DEPTH + 5)]
    assert any("deep" in line for line in faults("\n".join(lines)))


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ("{a: ", "}")])
def test_the_depth_is_bounded(open_: str, close: str) -> None:
    deepest = open_ * MAX_DEPTH + "1" + close * MAX_DEPTH
    assert faults(deepest) == []
    assert "deep" in faults(open_ + deepest + close)[0]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "? " * 100_000])
def test_a_very_deep_document_is_refused_not_crashed_on(text: str) -> None:
    assert len(faults(text)) == 1


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "no YAML document"),
        ("# only a comment\n", "1:1", "no YAML document"),
        ("a: 1\n---\nb: 2\n", "3:1", "second YAML document"),
        ("a: 1\nb: c: d\n", "2:5", "mapping values are not allowed"),
        ("a:\n\t- 1\n", "2:1", "cannot start any token"),
        ("é: 'x\n", "2:1", "unexpected end of stream"),
        ("a: *nope\n", "1:4", "undefined alias"),
        ("é\x00", "1:2", "U+0000"),
        ("a: 1\nb: \x07\n", "2:4", "U+0007"),
        ("a: \ud800\n", "1:4", "U+D800"),
        ('a: "\\ud800"\n', "1:7", "escape"),
    ],
)
def test_what_is_no_document_has_a_place(text: str, place: str, said: str) -> None:
    found = faults(text)
    assert len(found) == 1
    assert found[0].startswith(place)
    assert said in found[0]


def test_a_trailing_end_marker_is_no_second_document() -> None:
    assert read("---\na: 1\n...\n") == {"a": 1}


def test_columns_count_characters() -> None:
    assert faults("日本: on\n") == [
        "1:5: ['日本']: on is the boolean true in YAML 1.1 and text in YAML 1.2"
    ]


def test_places_of_keys_and_values() -> None:
    document, _ = parse("a:\n  - b: x\n    c:   y\n")
    assert isinstance(document, Document)
    assert document.place(("a", 0, "c")) == Place(3, 10)
    assert document.place(("a", 0, "c"), key=True) == Place(3, 5)
    assert document.place(("a", 0, "missing", "deeper")) == Place(2, 5)
    assert document.place(("a", 7)) == Place(2, 3)
    assert document.place(("a", 0), key=True) == Place(2, 5)
    assert document.place(()) == Place(1, 1)


def test_bytes_that_are_not_utf8_have_a_place() -> None:
    text, found = decode("a: é\nb: ".encode() + b"\xff\n")
    assert text == ""
    assert [(one.line, one.column) for one in found] == [(2, 4)]


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode("\ufeffa: 1".encode()) == ("a: 1", [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_refused(encoding: str) -> None:
    text, found = decode("a: 1".encode(encoding))
    assert found or parse(text)[1]


def test_a_file_over_the_bound_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_bytes(b"a: " + b"x" * (MAX_FILE_BYTES - 3))
    assert read_text(file)[1] == []
    file.write_bytes(b"a: " + b"x" * (MAX_FILE_BYTES - 2))
    assert [found.message for found in read_text(file)[1]] == [
        f"the file is larger than {MAX_FILE_BYTES} bytes"
    ]


def test_what_is_no_file_raises(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(OSError):
            read_text(path)


def test_format_path_quotes_what_is_no_name() -> None:
    path = ("verification_spec", 2, "check", "data", "a.b", 0, "op")
    assert format_path(path) == "verification_spec[2].check.data['a.b'][0].op"
    assert format_path(("a.b",)) == "['a.b']"


@given(documents)
def test_a_document_written_without_doubt_is_read_as_the_reference_reads_it(
    value: JsonValue,
) -> None:
    text = pyyaml.safe_dump(value, allow_unicode=True)
    document, diagnostics = parse(text)
    assert document is not None
    if not diagnostics:
        assert document.value == pyyaml.safe_load(text)
    else:  # what PyYAML writes without quotes, and other readers read differently
        assert all("YAML 1.1" in one.message or "the number" in one.message for one in diagnostics)


@given(documents, st.sampled_from([None, True]))
def test_a_document_in_quotes_is_read_and_every_place_points_at_its_text(
    value: JsonValue, flow: bool | None
) -> None:
    quoted = _only_text(value)
    text = pyyaml.safe_dump(quoted, default_style='"', default_flow_style=flow, width=10_000)
    document, diagnostics = parse(text)
    assert diagnostics == []
    assert document is not None
    assert document.value == quoted
    lines = re.split("\r\n|[\n\r]", text)
    for path in paths_of(document.value):
        place = document.place(path)
        rest = lines[place.line - 1][place.column - 1 :]
        assert rest.startswith(BEGINNINGS[type(_at(document.value, path))])
        if path and isinstance(path[-1], str):
            key = document.place(path, key=True)
            assert lines[key.line - 1][key.column - 1] == '"'


BEGINNINGS: dict[type, tuple[str, ...]] = {str: ('"',), list: ("-", "["), dict: ("{", '"', "? ")}


def _at(value: JsonValue, path: tuple[str | int, ...]) -> JsonValue:
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part]
        elif isinstance(value, dict):
            value = value[str(part)]
    return value


def _only_text(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _only_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_only_text(item) for item in value]
    return str(value)


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_editors(odd: str, end: str) -> None:
    text = end.join([f"prompt: 'do{odd}it {odd} x'", "a: 1", "b: !x 2", "a: 3", "c: {"])
    document, _ = parse(text[:-5])
    assert document is not None
    assert document.place(("a",), key=True) == Place(2, 1)
    _, faults = parse(text.removesuffix("c: {"))
    assert [(one.line, one.column) for one in faults] == [(3, 4), (4, 1)]
    assert "first on line 2" in faults[1].message
    _, (syntax,) = parse(text)
    assert (syntax.line, syntax.column) == (5, 5)
    _, (forbidden,) = parse(f"{text}\x07")
    assert (forbidden.line, forbidden.column) == (5, 5)
    _, (not_utf8,) = decode(f"{text}".encode() + b"\xff")
    assert (not_utf8.line, not_utf8.column) == (5, 5)


@given(st.text(max_size=60) | st.text(alphabet="a1:-?[]{},&*!|>'\"#%@ \n\t", max_size=60))
def test_no_text_raises(text: str) -> None:
    document, diagnostics = parse(text, Path("f.yaml"))
    assert document is not None or diagnostics
    assert all(found.file == Path("f.yaml") for found in diagnostics)


@given(st.binary(max_size=60))
def test_no_bytes_raise(data: bytes) -> None:
    text, diagnostics = decode(data)
    assert text == "" or diagnostics == []
