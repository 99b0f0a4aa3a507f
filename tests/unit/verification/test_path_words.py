"""What is shown of a path whose literals are secret."""

from __future__ import annotations

import pytest

from devops_bench.verification.path_words import named, without_literals
from devops_bench.verification.paths import parse_path


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("data.x", "data.x"),
        ("data[?(@.a)]", "data[?(@.a)]"),
        ("$.data[?(@ == 'abc')]", "$.data[?(@ == ***)]"),
        ("data.'tls.crt'[?(@.n =~ 'abc')][0]", '$.data."tls.crt"[?(@.n =~ ***)][0]'),
        ("$..[?(@.a > 5 && !@.b)][1:2]", "$..[?(@.a > *** && !@.b)][1:2]"),
        ("a[*]..b[?(@.c[?(@ != 'abc')])]", "$.a[*]..b[?(@.c[?(@ != ***)])]"),
    ],
)
def test_literals_are_left_out(path: str, shown: str) -> None:
    assert without_literals(parse_path(path), "***") == shown


@pytest.mark.parametrize("names", [("data",), ("a", "tls.crt"), ("x", "kubectl.io/a-b")])
def test_names_make_a_path_again(names: tuple[str, ...]) -> None:
    assert parse_path(named(names)).leading_names == names


def test_a_name_that_needs_an_escape_ends_it() -> None:
    assert named(("a", 'b"c', "d")) == '$."a"'
