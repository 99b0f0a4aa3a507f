from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonpath_ng.ext.parser import ExtendedJsonPathParser

from devops_bench.core.json import JsonValue
from devops_bench.verification.paths import MISSING, parse_path

_PARSER = ExtendedJsonPathParser()
_NAMES = st.sampled_from(["a", "b", "c", "x-y"])
_DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["s", "t", 1, 2, True, False, "500m"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=25,
)
_BOUND = st.none() | st.integers(-3, 3)


def _bounds(start: int | None, stop: int | None, step: int | None) -> str:
    text = f"{'' if start is None else start}:{'' if stop is None else stop}"
    return f"[{text}]" if step is None else f"[{text}:{step}]"


_CONDITIONS = st.recursive(
    st.one_of(
        _NAMES.map(lambda name: f"@.{name}"),
        _NAMES.map(lambda name: f"!@.{name}"),
        st.builds("@.{} == '{}'".format, _NAMES, st.sampled_from("stu")),
        st.builds("@.{} = {}".format, _NAMES, st.sampled_from(["true", "false", "1", "2"])),
        st.builds("@.{} =~ '^{}'".format, _NAMES, st.sampled_from("stu")),
    ),
    lambda inner: (
        st.builds("({} && {})".format, inner, inner) | st.builds("({} || {})".format, inner, inner)
    ),
    max_leaves=3,
)
_STEPS = st.one_of(
    _NAMES.map(lambda name: f".{name}"),
    _NAMES.map(lambda name: f"['{name}']"),
    _NAMES.map(lambda name: f'."{name}"'),
    st.integers(-3, 3).map(lambda index: f"[{index}]"),
    st.builds(_bounds, _BOUND, _BOUND, st.sampled_from([None, 1, 2])),
    st.just("[*]"),
    st.just(".*"),
    _NAMES.map(lambda name: f"..{name}"),
    _CONDITIONS.map(lambda condition: f"[?({condition})]"),
)
_PATHS = st.lists(_STEPS, max_size=5).map(lambda steps: "$" + "".join(steps))


@given(_PATHS, _DOCUMENTS)
def test_it_finds_what_jsonpath_ng_finds(text: str, document: JsonValue) -> None:
    found = parse_path(text).find(document)
    assume(found.undecided is None)
    values = [element for element in found.elements if element is not MISSING]
    assert values == [match.value for match in _PARSER.parse(text).find(document)]


@given(_PATHS, _DOCUMENTS)
def test_an_object_always_counts_as_an_element(text: str, document: JsonValue) -> None:
    assert parse_path(text).find(document).elements


_POD: JsonValue = {
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}, "annotations": {"a.b/c": "1"}},
    "spec": {
        "hard": {"requests.memory": "1Gi"},
        "containers": [
            {"name": "web", "image": "nginx:1.27", "ports": [{"port": 80}, {"port": 443}]},
            {"name": "side", "image": "envoy:1", "limits": {"cpu": "500m"}, "ports": []},
        ],
    },
}


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ('spec.hard."requests.memory"', ["1Gi"]),
        ('spec.hard["requests.memory"]', ["1Gi"]),
        ("$.spec.hard['requests.memory']", ["1Gi"]),
        ("metadata.annotations['a.b/c']", ["1"]),
        ('metadata.labels."app.kubernetes.io/name"', ["web"]),
        ("spec.containers[-1].name", ["side"]),
        ("spec.containers[5].name", [MISSING]),
        ("spec.containers[?(@.name=='web')].image", ["nginx:1.27"]),
        ("spec.containers[?(@.name != 'web')].image", ["envoy:1"]),
        ('spec.containers[?(@.image =~ "^nginx")].name', ["web"]),
        ("spec.containers[?(@.limits.cpu >= 0.5)].name", ["side"]),
        ("spec.containers[?(@.limits.cpu < '1')].name", ["side"]),
        ("spec.containers[?(!@.limits)].name", ["web"]),
        ("spec.containers[?(@.ports[?(@.port==443)])].name", ["web"]),
        ("spec.containers[0:1].name", ["web"]),
        ("$..port", [80, 443]),
    ],
)
def test_the_forms_and_what_they_find(text: str, elements: list[JsonValue]) -> None:
    assert list(parse_path(text).find(_POD).elements) == elements


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        # An element without the field is counted, not dropped.
        ("spec.containers[*].limits.cpu", [MISSING, "500m"]),
        # An element of the outer wildcard without an inner one counts as one.
        ("spec.containers[*].ports[*].port", [80, 443, MISSING]),
        ("spec.containers[*].volumes[*].name", [MISSING, MISSING]),
        # An object without any counts as one.
        ("spec.volumes[*].name", [MISSING]),
        ("spec.containers[?(@.name=='gone')].image", [MISSING]),
    ],
)
def test_elements_without_the_field_are_counted(text: str, elements: list[JsonValue]) -> None:
    assert list(parse_path(text).find(_POD).elements) == elements


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (r"'1\.2'", ["1.2"]),
        (r"'1\\.2'", ["1.2"]),
        (r"'^\d.\d$'", ["1.2", "1x2"]),
        (r"""'it\'s'""", ["it's"]),
        ('"it.s"', ["it's"]),
    ],
)
def test_a_pattern_keeps_its_backslashes(pattern: str, matched: list[str]) -> None:
    document: JsonValue = {"a": [{"b": text} for text in ("1.2", "1x2", "d.d", "it's")]}
    found = parse_path(f"a[?(@.b =~ {pattern})].b").find(document)
    assert list(found.elements) == matched


def test_null_is_no_value() -> None:
    assert parse_path("a.b").find({"a": {"b": None}}).elements == (MISSING,)
    assert parse_path("a[?(@.b)]").find({"a": [{"b": None}]}).elements == (MISSING,)


def test_a_missing_field_matches_no_comparison_of_a_filter() -> None:
    assert parse_path("a[?(@.b != 'x')]").find({"a": [{}, {"b": "y"}]}).elements == ({"b": "y"},)


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("a[?(@.b > 5)]", {"a": [{"b": "many"}]}),
        ("a[?(@.b == 'x')]", {"a": [{"b": ["x"]}]}),
        ("a[?(@.b[*] == 'x')]", {"a": [{"b": ["x", "y"]}]}),
        ("a[?(@.b =~ 'x')]", {"a": [{"b": 4}]}),
        ("a[?(@.b > 5 && @.c == 'd')]", {"a": [{"b": "many", "c": "d"}]}),
    ],
)
def test_a_filter_without_an_answer_makes_it_undecided(text: str, document: JsonValue) -> None:
    assert parse_path(text).find(document).undecided is not None


def test_a_filter_that_one_half_decides_is_decided() -> None:
    path = parse_path("a[?(@.b > 5 && @.c == 'd')]")
    assert path.find({"a": [{"b": "many", "c": "e"}]}).undecided is None


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("{.spec.replicas}", "spec.replicas"),
        (".spec.replicas", "without: spec.replicas"),
        ("..replicas", r"write \$\.\.replicas"),
        ("", r"\$ is the whole object"),
        ("a.b + 1", "arithmetic"),
        ("a.b * 2", "arithmetic|not a path"),
        ("a - b", "arithmetic"),
        ("a[/b]", "quote a name"),
        ("a.`len`", "backtick"),
        ("a[?(@.b == foo)]", "write 'foo'"),
        ("a[?(@.b == True)]", "write true"),
        ("a[?(b == 1)]", "write @. before the name"),
        ("a[?(@b == 1)]", r"write @\.b"),
        ("a[b]", r"write \['b'\]"),
        ("a.0.b", r"write \[0\]"),
        ("a|b", "two checks"),
        ("a[0,1]", "a slice"),
        ("a['b','c']", "one check for each"),
        ("a where b", "a filter"),
        ("a[?(@.b & @.c)]", "&&"),
        ("a[?(@.b == @.c)]", "literal"),
        ("a[?(@.b == null)]", r"!@\.x"),
        ("a[?(@.b > 'x')]", "quantity"),
        ("a[?(@.b =~ '(?=x)')]", "look-around"),
        ("a.$.b", "only at the start"),
        ("@.b", "only within a filter"),
        ("metadata.labels.app.kubernetes.io/name", "quote a name"),
        ("spec.replicas.", "not a path"),
        ("a[?(@.length() > 1)]", "not a path"),
        ("a[0:4:0]", "not 0"),
        ("a" * 2001, "at most 2000"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_right_form(text: str, right: str) -> None:
    with pytest.raises(ValueError, match=right):
        parse_path(text)


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    filters = "a" + "[?(@.b" * 300 + ")]" * 300
    for text in (filters, "(" * 900 + "a" + ")" * 900, "a" + ".(b" * 450 + ")" * 450):
        try:
            parse_path(text)
        except ValueError:
            continue
        assert text.startswith(("(", "a.("))


@given(st.text(alphabet="ab.[]()?@$*'\"=!<>~&|:,-0123 `/\\{}", max_size=30))
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    try:
        path = parse_path(text)
    except ValueError:
        return
    path.find({"a": [{"b": 1}]})


@pytest.mark.parametrize(
    ("text", "reads"),
    [("status.x", True), ("$", True), ("$..ready", True), ("$.*.x", True), ("spec.status", False)],
)
def test_it_knows_whether_it_may_read_the_status(text: str, reads: bool) -> None:
    assert parse_path(text).may_read_status is reads
