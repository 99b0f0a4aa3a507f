"""States of a field: any value there can be is answered as one of them."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from devops_bench.core.json import JsonValue
from devops_bench.k8s.resources import ApiResource
from devops_bench.lint.schemas import Shape
from devops_bench.lint.states import states, vote
from devops_bench.verification.checks.resource_property import ResourceProperty
from devops_bench.verification.paths import MISSING, Element

DEPLOYMENT = ApiResource("apps", "v1", "deployments", "Deployment", True)
INTEGER = Shape({"type": ["integer", "null"], "format": "int32"}, {})
STRING = Shape({"type": "string"}, {})


def asked(op: str, value: JsonValue) -> ResourceProperty:
    fields = {"kind": "Deployment", "resource_name": "web", "path": "spec.x", "op": op}
    if op not in ("exists", "absent"):
        fields["value"] = value  # type: ignore[assignment]
    return ResourceProperty.model_validate(fields)


def answers(nodes: list[ResourceProperty], state: Element) -> tuple[str, ...]:
    return tuple(vote(node, state) for node in nodes)


NUMBERS = st.integers(-5, 5) | st.sampled_from(["2", "0.5", "1500m", "-1k", 2.5, -0.5])
ORDERS = st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "exists", "absent"])
NODES = st.lists(st.builds(asked, ORDERS, NUMBERS), min_size=1, max_size=3)


@given(NODES, st.integers(-7, 7) | st.sampled_from([-(2**31), 2**31 - 1]), st.booleans())
def test_every_whole_number_is_answered_as_a_state(
    nodes: list[ResourceProperty], value: int, known_to_count: bool
) -> None:
    name = "replicas" if known_to_count else "x"
    assume(value >= 0 or not known_to_count)
    found = states(nodes, INTEGER, DEPLOYMENT, name, always_there=True)
    assert found is not None
    assert answers(nodes, value) in {answers(nodes, state) for state in found}
    assert all(isinstance(one, int | str) for one in found)


WORDS = st.sampled_from(["a", "b", "4", "x y"])


@given(
    st.lists(st.builds(asked, st.sampled_from(["eq", "ne", "exists"]), WORDS), min_size=1),
    WORDS | st.text(max_size=4),
)
def test_every_text_is_answered_as_a_state(nodes: list[ResourceProperty], value: str) -> None:
    found = states(nodes, STRING, DEPLOYMENT, "x", always_there=False)
    assert found is not None
    assert found[0] is MISSING
    assert answers(nodes, value) in {answers(nodes, state) for state in found}


def test_of_what_cannot_be_told_there_are_no_states() -> None:
    for nodes, shape in (
        ([asked("matches", "^a")], STRING),
        ([asked("eq", "1Gi")], STRING),  # a quantity has many forms
        ([asked("eq", 4)], STRING),
        ([asked("gte", "4")], STRING),
        ([asked("contains", "a")], STRING),
        ([asked("eq", "{{X}}")], INTEGER),
        ([asked("eq", 1)], Shape({"type": "number"}, {})),
        ([asked("eq", 1)], None),
    ):
        assert states(nodes, shape, DEPLOYMENT, "x", always_there=True) is None


def test_a_schema_of_ones_own_may_bound_a_field() -> None:
    shape = Shape({"type": "integer", "minimum": 2, "maximum": 4}, {})
    found = states([asked("gte", 2), asked("lte", 9)], shape, DEPLOYMENT, "x", always_there=True)
    assert found is not None
    assert set(found) <= {2, 3, 4}
    named = Shape({"type": "string", "enum": ["a", "b", None]}, {})
    assert states([asked("ne", "c")], named, DEPLOYMENT, "x", always_there=True) == ("a", "b")
