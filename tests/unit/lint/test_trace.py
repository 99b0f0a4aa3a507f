from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.lint.kinds import Kinds, kinds_of
from devops_bench.lint.schemas import DEFAULT_VERSION, Shape, load_definitions
from devops_bench.lint.trace import trace
from devops_bench.verification.paths import Name, Step, Wildcard, parse_path


@cache
def kinds() -> Kinds:
    definitions = load_definitions(DEFAULT_VERSION)
    assert definitions is not None
    return kinds_of(definitions, DEFAULT_VERSION)


def shape(kind: str) -> Shape:
    resource = kinds().find(kind)
    assert resource is not None
    found = kinds().shape(resource)
    assert found is not None
    return found


RIGHT = [
    ("Deployment", "spec.template.spec.containers[?(@.name == 'web')].image", {"string"}),
    (
        "Deployment",
        "spec.template.spec.containers[*].resources.limits.memory",
        {"string", "number"},
    ),
    ("Deployment", "spec.template.spec.containers[-1:].command[2]", {"string"}),
    ("Deployment", "status.conditions[?(@.type == 'Available' && @.status)].status", {"string"}),
    ("Deployment", 'metadata.labels."app.kubernetes.io/name"', {"string"}),
    ("Deployment", "spec.strategy.rollingUpdate.maxSurge", {"string", "integer"}),
    ("ResourceQuota", 'spec.hard["requests.memory"]', {"string", "number"}),
    ("ConfigMap", 'data."nginx.conf"', {"string"}),
    ("CronJob", "spec.jobTemplate.spec.template.spec.containers[0].env[0].valueFrom", {"object"}),
    ("HPA", "spec.metrics[?(@.type = 'Resource')].resource.name", {"string"}),
    ("Node", "status.nodeInfo.kubeletVersion", {"string"}),
    ("EndpointSlice", "endpoints[?(@.conditions.ready == true)].targetRef.name", {"string"}),
    ("Role", "rules[*].verbs", {"array"}),
    ("Deployment", "spec.replicas", {"integer"}),
]


@pytest.mark.parametrize(("kind", "path", "types"), RIGHT)
def test_right_paths_end_at_their_type(kind: str, path: str, types: set[str]) -> None:
    if kind == "HPA":
        kind = "hpa"
    found = trace(shape(kind), parse_path(path).steps)
    assert found.faults == []
    assert found.end is not None
    assert found.end.types == types


@pytest.mark.parametrize(
    ("kind", "path", "message", "hint"),
    [
        ("Deployment", "spec.replica", "no field 'replica'", "did you mean 'replicas'?"),
        ("Deployment", "Spec.replicas", "no field 'Spec'", "did you mean 'spec'?"),
        ("Deployment", "spec.containers[0].image", "no field 'containers'", "known: "),
        ("Deployment", "spec.template.spec.containers.image", "image is asked of a list", "[*]"),
        ("Deployment", "spec.replicas.count", "count is asked of a whole number", "end the path"),
        ("Deployment", "spec.replicas[0]", "an index finds nothing in a whole number", "name"),
        ("Deployment", "spec.template[0]", "an index finds nothing in a map", "name"),
        (
            "Deployment",
            "spec.template.spec.containers[?(@.nam == 'web')].image",
            "no field 'nam'",
            "did you mean 'name'?",
        ),
        ("Deployment", "spec.template[?(@.replicas)]", "selects none of the fields", "name"),
        ("Deployment", "spec[?(@.nam == 'web')].image", "selects none of the fields", "name"),
        ("Deployment", "spec.*.whatever", "none of its fields", "name the field"),
        ("Service", "spec.selector.matchLabels.app", "app is asked of a string", "end the path"),
    ],
)
def test_wrong_paths_say_where_and_what_is_right(
    kind: str, path: str, message: str, hint: str
) -> None:
    faults = trace(shape(kind), parse_path(path).steps).faults
    assert len(faults) == 1
    assert message in faults[0].message
    assert hint in faults[0].hint


@pytest.mark.parametrize(
    "path",
    [
        "$..image",
        "metadata.managedFields[0].fieldsV1.whatever.there.is",
        "*",
        "spec.*.metadata.labels.whatever",
        "spec.*.rollingUpdate.maxSurge",
        "*.*.whatever",
        "spec.*[?(@.whatever)]",
        "$[?(@.replicas)].replicas",
        "spec[?(@ == 'Recreate')]",
        "$[?(@.replicas && @.selector)].template",
    ],
)
def test_nothing_is_said_where_anything_may_be(path: str) -> None:
    assert trace(shape("Deployment"), parse_path(path).steps).faults == []


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("roleRef", True),
        ("roleRef.name", True),
        ("metadata.name", False),  # the server sees to it, not the schema
        ("subjects", False),
        ("subjects[0]", False),
    ],
)
def test_what_the_schema_wants_of_every_object(path: str, there: bool) -> None:
    assert trace(shape("RoleBinding"), parse_path(path).steps).always_there is there


@st.composite
def walks(draw: st.DrawFn) -> tuple[Shape, tuple[Step, ...]]:
    """A walk through a schema, so that it must be right."""
    resource = draw(st.sampled_from(kinds().catalogue.resources))
    start = kinds().shape(resource)
    assert start is not None
    current, steps = start, list[Step]()
    for _ in range(draw(st.integers(0, 8))):
        if current.is_anything:
            break
        if current.fields:
            name = draw(st.sampled_from(sorted(current.fields)))
            steps.append(Name(name))
            following = current.field(name)
        else:
            steps.append(Wildcard())
            following = current.items or current.values
        if following is None:
            steps.pop()
            break
        current = following
    return start, tuple(steps)


@given(walks())
def test_no_walk_through_the_schema_is_a_fault(walk: tuple[Shape, tuple[Step, ...]]) -> None:
    start, steps = walk
    assert trace(start, steps).faults == []


@given(walks(), st.text("abcxyz", min_size=1).map(lambda text: f"no-{text}"))
def test_a_field_that_is_not_there_is_one_unless_anything_may_be(
    walk: tuple[Shape, tuple[Step, ...]], name: str
) -> None:
    start, steps = walk
    end = trace(start, steps).end if steps else start
    found = trace(start, (*steps, Name(name)))
    free = end is None or end.is_anything or end.values is not None
    assert bool(found.faults) is not free
