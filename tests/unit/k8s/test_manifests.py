from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s import go_yaml
from devops_bench.k8s.go_yaml import DocumentError, read_documents
from devops_bench.k8s.manifests import read_manifests


def value_of(text: str) -> JsonValue:
    (document,) = read_documents(f"x: {text}\n")
    assert isinstance(document.value, dict)
    return document.value["x"]


# What `kubectl create --dry-run=client -o json` of 1.36 makes of a plain scalar.
MEASURED: list[tuple[str, JsonValue]] = [
    ("yes", True),
    ("on", True),
    ("y", True),
    ("N", False),
    ("oN", "oN"),
    ("tRue", "tRue"),
    ("~", None),
    ("Null", None),
    ("0017", 15),
    ("-017", -15),
    ("018", 18),
    ("0o17", 15),
    ("0o18", "0o18"),
    ("0x1F", 31),
    ("-0x1f", -31),
    ("0b11", 3),
    ("0b12", "0b12"),
    ("1_000", 1000),
    ("_1", "_1"),
    ("+1", 1),
    ("-0", 0),
    ("1:30", "1:30"),
    ("2020-01-01", "2020-01-01"),
    ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    ("1.20", 1.2),
    ("1.0", 1),
    ("1.", 1),
    (".5", 0.5),
    ("+.5", 0.5),
    (".", "."),
    ("1e3", 1000),
    ("1e-2", 0.01),
    ("1e400", "1e400"),
    ("1e21", 1e21),
    ("nan", "nan"),
    ("=", "="),
    ("0x1p4", "0x1p4"),
    ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9223372036854775808.0),
    ("99999999999999999999", 1e20),
    ("'on'", "on"),
    ('"1"', "1"),
    ("!!str 010", "010"),
    ("!!int '3'", 3),
    ("!!float 1.5", 1.5),
    ("!!bool yes", True),
    ("!!binary aGk=", "hi"),
    ("!custom 1", "1"),
    ("!custom [1]", [1]),
]


@pytest.mark.parametrize(("text", "value"), MEASURED)
def test_scalars_are_what_kubectl_makes_of_them(text: str, value: JsonValue) -> None:
    read = value_of(text)
    assert read == value
    assert type(read) is type(value)


def test_keys_are_what_kubectl_makes_of_them() -> None:
    text = "{1: a, 0x10: b, 1.50: c, yes: d, 1e3: e, 1234567.5: f, 1.23456789: g, 0.00001: h}"
    keys = ["1", "16", "1.5", "true", "1000", "1.2345675e+06", "1.2345679", "1e-05"]
    value = value_of(text)
    assert isinstance(value, dict)
    assert list(value) == keys
    infinite = value_of("{.inf: a, -.inf: b, .nan: c, 1.0e300: d}")
    assert infinite == {".inf": "d", "-.inf": "b", ".nan": "c"}


def test_merges_overwrite_what_stands_before_them() -> None:
    text = (
        "a: &a {k: 1, a: 1}\nb: &b {k: 2, b: 2}\n"
        "before: {k: 0, <<: *a}\nafter: {<<: *a, k: 0}\nboth: {<<: [*a, *b]}\n"
    )
    (document,) = read_documents(text)
    assert isinstance(document.value, dict)
    assert document.value["before"] == {"k": 1, "a": 1}
    assert document.value["after"] == {"k": 0, "a": 1}
    assert document.value["both"] == {"k": 1, "a": 1, "b": 2}


def test_the_last_of_duplicate_keys_stays() -> None:
    assert value_of("{a: 1, a: 2}") == {"a": 2}


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: a}\ndata: {v: b}\n",
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "name": "b"}}',
    ],
)
def test_a_key_that_stands_twice_can_be_refused(text: str) -> None:
    assert len(read_manifests(text)) == 1
    with pytest.raises(InvalidInputError, match=r"the key '(data|name)' is there twice") as caught:
        read_manifests(text, unique=True)
    assert caught.value.diagnostics[0].line in (1, 5)


def test_what_a_merge_overwrites_does_not_stand_twice() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        "x: &x {k: a, l: a}\ndata: {<<: *x, k: b}\n"
    )
    (found,) = read_manifests(text, unique=True)
    assert found["data"] == {"k": "b", "l": "a"}


JSON_TREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON_TREE), st.integers(0, 2))
def test_json_is_read_as_it_stands(value: dict[str, JsonValue], indent: int) -> None:
    (document,) = read_documents(json.dumps(value, indent=indent or None))
    assert document.value == value


@given(st.dictionaries(st.text(), JSON_TREE))
def test_what_a_yaml_writer_writes_is_read_as_it_was(value: dict[str, JsonValue]) -> None:
    """Strings are quoted, so that no reader takes them for something else."""
    text = yaml.safe_dump(value, default_style='"', allow_unicode=False)
    (document,) = read_documents(text)
    assert document.value == value


@given(st.text(alphabet="0123456789+-._:eExobnyNOaf~<=", min_size=1, max_size=12))
def test_every_plain_scalar_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(DocumentError):
        json.dumps(read_documents(f"- {text}")[0].value, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "says", "line", "column"),
    [
        ("a: 1\nb: .inf", "JSON does not have", 2, 4),
        ("a: 1\n? [1]\n: b", "a key that is null", 2, 3),
        ("~: b", "a key that is null", 1, 1),
        ("a: !!int x", "'x' is not a int", 1, 4),
        ("a: !!binary '*'", "needs base64", 1, 4),
        ("a: {<<: 1}", "a merge", 1, 9),
        ("a: b: c", "mapping values are not allowed", 1, 5),
        ("a: *nope", "undefined alias", 1, 4),
        ("a: &a [*a]", "nested deeper", 1, 4),
        ("a: \x01", "not YAML", 0, 0),
        ('{"a": NaN', "did not find expected", 1, 10),
    ],
)
def test_what_go_would_refuse(text: str, says: str, line: int, column: int) -> None:
    with pytest.raises(DocumentError, match=says) as caught:
        read_documents(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_aliases_do_not_explode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_yaml, "MAX_NODES", 10_000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="more than 10000 values"):
        read_documents("\n".join(lines))


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    for text in ("[" * 100_000, "{a: " * 300 + "1" + "}" * 300):
        with pytest.raises(DocumentError):
            read_documents(text)


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"


def names(text: str) -> list[JsonValue]:
    result = []
    for obj in read_manifests(text):
        assert obj["kind"] == "ConfigMap"
        assert obj["apiVersion"] == "v1"
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        result.append(metadata["name"])
    return result


def config_map(name: str) -> str:
    return CONFIG_MAP.replace("NAME", name)


def test_documents_and_empty_documents() -> None:
    text = f"# only words\n---\n---\n{config_map('a')}---\n# nothing\n---\n{config_map('b')}"
    assert names(text) == ["a", "b"]
    assert names("") == []


def test_json_documents() -> None:
    one: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    two: JsonObject = {**one, "metadata": {"name": "b"}}
    assert names(json.dumps(one) + "\n" + json.dumps(two, indent="\t")) == ["a", "b"]
    assert names(f"{json.dumps(one)}\n---\n{json.dumps(two)}") == ["a", "b"]


def test_lists_are_flattened() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]
---
{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: c}}]}
---
{apiVersion: v1, kind: List, items: }
"""
    assert names(text) == ["a", "b", "c"]


def test_every_fault_at_once_with_its_place() -> None:
    text = """
- a list
---
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}
- {apiVersion: v1, kind: ConfigMap}
- {apiVersion: v1, kind: ConfigMap, metadata: {generateName: g-}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: " "}}
"""
    with pytest.raises(InvalidInputError, match="and 5 more") as caught:
        read_manifests(text, Path("setup.yaml"))
    shown = [str(found) for found in caught.value.diagnostics]
    assert [line.partition(" (")[0] for line in shown] == [
        "setup.yaml:2:1: error: a manifest must be a mapping",
        "setup.yaml:4:1: error: the object has no apiVersion",
        "setup.yaml:7:1: error: items[0]: the ConfigMap has the name 5, which is not text",
        "setup.yaml:7:1: error: items[1]: the ConfigMap has no metadata",
        "setup.yaml:7:1: error: items[2]: the ConfigMap has a generateName and no name, by which "
        "it is waited for and deleted",
        "setup.yaml:7:1: error: items[3]: the ConfigMap has a blank name",
    ]


def test_text_that_is_not_yaml_is_one_diagnostic() -> None:
    with pytest.raises(InvalidInputError, match="cannot be read") as caught:
        read_manifests("a: b: c", Path("x.yaml"))
    (found,) = caught.value.diagnostics
    assert (found.file, found.line, found.column) == (Path("x.yaml"), 1, 5)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: 5}",
        "apiVersion: v1\nkind: PodList\nitems: {}",
        "apiVersion: 1\nkind: ConfigMap\nmetadata: {name: a}",
        "text",
    ],
)
def test_what_is_no_object(text: str) -> None:
    with pytest.raises(InvalidInputError):
        read_manifests(text)


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_are_those_of_editors(odd: str, mark: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_documents(f"{mark}a: 'x{odd}{odd} y'\nb: 1\nc: .inf\n")
    assert (refused.value.line, refused.value.column) == (3, 4)
    with pytest.raises(DocumentError) as broken:
        read_documents(f"{mark}a: 'x{odd}{odd} y'\nb: 1\nc: {{")
    assert broken.value.line == 3
    assert read_documents(f"{mark}a: 'x{odd} y'\n---\nb: 1\n")[1].line == 3
