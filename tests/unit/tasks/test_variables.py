from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonValue
from devops_bench.tasks.variables import is_variable_name, replace_variables

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)
no_braces = st.text(st.characters(exclude_characters="{}"), max_size=10)


def replaced(value: JsonValue, **variables: str) -> JsonValue:
    result = replace_variables(value, variables, allow_unset=False)
    assert result.faults == []
    return result.value


def test_only_string_values_are_replaced() -> None:
    value: JsonValue = {"{{A}}": ["{{A}}-{{B}}", 1, None, {"x": "{{A}}{{A}}"}]}
    assert replaced(value, A="a", B="b") == {"{{A}}": ["a-b", 1, None, {"x": "aa"}]}


def test_a_replaced_value_stays_text() -> None:
    assert replaced("{{N}}", N="3") == "3"


def test_four_braces_are_two() -> None:
    assert replaced("{{{{A}}") == "{{A}}"
    assert replaced("{{{{{{A}}", A="x") == "{{x"
    assert replaced("{{{{ .Values.x }}") == "{{ .Values.x }}"


def test_closing_braces_and_single_ones_are_text() -> None:
    assert replaced("}} { ${A} %{http_code} }}}}") == "}} { ${A} %{http_code} }}}}"


def test_an_unset_variable_is_a_fault_that_says_how_to_set_it() -> None:
    result = replace_variables({"a": ["x", "{{NOPE}}"]}, {}, allow_unset=False)
    (fault,) = result.faults
    assert fault.path == ("a", 1)
    assert "NOPE" in fault.message
    assert "--var NOPE=VALUE" in fault.hint


def test_an_unset_variable_may_stand() -> None:
    result = replace_variables(["{{A}}", "x-{{A}}", "{{B}}"], {"B": "b"}, allow_unset=True)
    assert result.value == ["{{A}}", "x-{{A}}", "b"]
    assert result.faults == []
    assert result.open_paths == {(0,), (1,)}
    assert result.opaque_paths == {(0,)}
    assert result.used == {"A", "B"}


def test_a_malformed_reference_is_a_fault_also_where_unset_ones_may_stand() -> None:
    for text, right in [
        ("{{ NAME }}", "{{NAME}}"),
        ("{{name-x}}", "{{name_x}}"),
        ("{{.Values.x}}", "{{Values_x}}"),
        ("{{}}", "{{NAME}}"),
        ("{{1A}}", "{{NAME}}"),
        ("{{", "{{NAME}}"),
        ("{{NAME}", "{{NAME}}"),
        ("{{{A}}}", "{{NAME}}"),
    ]:
        result = replace_variables(text, {"NAME": "x", "A": "y"}, allow_unset=True)
        (fault,) = result.faults
        assert f"write {right} " in fault.hint, text
        assert "{{{{ for a literal {{" in fault.hint


@given(names, st.text(max_size=20), no_braces, no_braces)
def test_what_a_variable_holds_is_taken_as_it_is(
    name: str, held: str, before: str, after: str
) -> None:
    text = f"{before}{{{{{name}}}}}{after}"
    others = {"A": "never", name: held}
    assert replaced(text, **others) == before + held + after


@given(st.text(max_size=30))
def test_any_text_can_be_written_literally(text: str) -> None:
    assert replaced(text.replace("{{", "{{{{"), A="x") == text


@given(st.text(alphabet="{}A_ -", max_size=20), st.booleans())
def test_no_text_raises_and_nothing_is_replaced_silently(text: str, allow: bool) -> None:
    result = replace_variables(text, {}, allow_unset=allow)
    assert result.faults or result.open_paths or result.value == text.replace("{{{{", "{{")


@given(names)
def test_names(name: str) -> None:
    assert is_variable_name(name)
    assert not is_variable_name(f"{name}-")
    assert not is_variable_name(f"{name}\n")
    assert not is_variable_name(f"1{name}")
