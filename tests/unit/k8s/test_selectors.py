from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.k8s.selectors import parse_selector

Labels = dict[str, str]
Oracle = Callable[[Labels], bool]

KEYS = ["app", "tier", "in", "notin", "example.com/role", "a.b-c_d"]
VALUES = ["web", "db", "in", "notin", "1.20", "5", "10", ""]
SPACE = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def requirements(draw: st.DrawFn) -> tuple[str, Oracle]:
    """A requirement's text and what it means, written down without the parser."""
    key = draw(st.sampled_from(KEYS))
    form = draw(st.sampled_from(["=", "==", "!=", "in", "notin", "exists", "absent", ">", "<"]))
    gap = draw(SPACE)
    if form == "exists":
        return f"{gap}{key}{gap}", lambda labels: key in labels
    if form == "absent":
        return f"{gap}!{gap}{key}{gap}", lambda labels: key not in labels
    if form in (">", "<"):
        bound = draw(st.integers(0, 20))

        def compares(labels: Labels) -> bool:
            if key not in labels or not labels[key].isdigit():
                return False
            number = int(labels[key])
            return number > bound if form == ">" else number < bound

        return f"{key}{gap}{form}{gap}{bound}", compares
    if form in ("in", "notin"):
        values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3))
        text = f"{key} {form} {gap}({gap}{','.join(values)}{gap}){gap}"
        if form == "in":
            return text, lambda labels: labels.get(key) in values
        return text, lambda labels: labels.get(key, "absent, not a value") not in values
    value = draw(st.sampled_from(VALUES))
    text = f"{key}{gap}{form}{gap}{value}{gap}"
    if form == "!=":
        return text, lambda labels: key not in labels or labels[key] != value
    return text, lambda labels: key in labels and labels[key] == value


LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


@given(st.lists(requirements(), min_size=1, max_size=4), LABELS)
def test_a_selector_means_what_its_requirements_mean(
    parts: list[tuple[str, Oracle]], labels: Labels
) -> None:
    selector = parse_selector(",".join(text for text, _ in parts))
    assert selector.matches(labels) == all(oracle(labels) for _, oracle in parts)


@given(st.text(alphabet="ab!=(),<> \tin/-.", max_size=20))
def test_any_text_is_a_selector_or_a_value_error(text: str) -> None:
    try:
        selector = parse_selector(text)
    except ValueError:
        with pytest.raises(ValueError, match="is not a label selector"):
            parse_selector(text)
    else:
        assert isinstance(selector.matches({"a": "b"}), bool)


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_the_empty_selector_matches_everything(text: str) -> None:
    assert parse_selector(text).matches({})


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("a>5", "6", True),
        ("a>5", "5", False),
        ("a>5", "six", False),
        ("a>5", "9223372036854775808", False),
        ("a<5", "4", True),
        ("a<5", None, False),
        ("a notin (x)", None, True),
        ("a in (,)", "", True),
        ("a in ()", "", True),
        ("a=", "", True),
        ("a=", None, False),
        ("a in (x,,y)", "", True),
        ("in in (in)", None, False),
    ],
)
def test_edges(text: str, value: str | None, matches: bool) -> None:
    labels = {} if value is None else {"a": value}
    assert parse_selector(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b", "found 'b' after 'a'"),
        ("a=b c=d", "found 'c' where ',' or the end was expected"),
        ("a in x", "found 'x' where '(' was expected"),
        ("a in (x", "found the end where ',' or ')' was expected"),
        ("a,", "found the end where a label key was expected"),
        (",a", "found ',' where a label key was expected"),
        ("!a=b", "found '=' where ',' or the end was expected"),
        ("a=!b", "found '!' where a value was expected"),
        ("a>x", "needs an integer"),
        ("a>", "needs an integer"),
        ("-a=b", "'-a' is not a label key"),
        ("a=b/c", "'b/c' is not a label value"),
        ("A.com/b/c", "prefix"),
        ("a=" + "x" * 64, "is not a label value"),
        ("/a", "prefix"),
    ],
)
def test_what_is_not_a_selector_says_what_was_expected(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="is not a label selector") as caught:
        parse_selector(text)
    assert says in str(caught.value)
