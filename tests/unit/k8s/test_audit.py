from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.core.json import JsonObject, JsonValue
from devops_bench.k8s.audit import AuditLog, Reference, parse_event, references_of

AT = "2026-01-01T00:00:00.000001Z"


def event(number: int = 1, **fields: JsonValue) -> JsonObject:
    return {
        "kind": "Event",
        "auditID": f"id-{number}",
        "stage": "ResponseComplete",
        "verb": "patch",
        "user": {"username": "system:serviceaccount:a:agent"},
        "userAgent": "kubectl/v1",
        "objectRef": {
            "resource": "deployments",
            "apiGroup": "apps",
            "namespace": "shop",
            "name": "web",
            "subresource": "scale",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": AT,
        "stageTimestamp": AT,
        **fields,
    }


def line(number: int = 1, **fields: JsonValue) -> bytes:
    return json.dumps(event(number, **fields)).encode() + b"\n"


def test_a_request_is_read() -> None:
    answer: JsonObject = {"metadata": {"uid": "u", "resourceVersion": "7", "generation": 2}}
    found = parse_event(line(responseObject=answer))
    assert found is not None
    assert (found.what, found.object) == ("deployments.apps/scale", "shop/web")
    assert (found.succeeded, found.is_write) == (True, True)
    (one,) = found.objects
    assert (one.uid, one.resource_version, one.generation) == ("u", "7", 2)


def test_a_deletion_names_its_object_by_the_status() -> None:
    details: JsonObject = {"name": "web", "uid": "u"}
    found = parse_event(line(verb="delete", responseObject={"kind": "Status", "details": details}))
    assert found is not None
    assert [(one.uid, one.name) for one in found.objects] == [("u", "web")]


def test_a_collection_has_all_its_objects() -> None:
    items: list[JsonValue] = [{"metadata": {"uid": uid}} for uid in "ab"]
    found = parse_event(line(verb="deletecollection", responseObject={"items": items}))
    assert found is not None
    assert [one.uid for one in found.objects] == ["a", "b"]


def test_what_an_object_points_to() -> None:
    owner: JsonObject = {"metadata": {"ownerReferences": [{"uid": "o", "kind": "K", "name": "n"}]}}
    assert references_of(owner) == (Reference("owner", "o", "K", "n"),)
    pod: JsonObject = {"uid": "p", "kind": "Pod", "name": "x"}
    slices: JsonObject = {"endpoints": [{"targetRef": pod}, {}]}
    assert references_of(slices) == (Reference("target", "p", "Pod", "x"),)
    scaler: JsonObject = {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    assert references_of(scaler) == (Reference("scales", "", "Deployment", "web"),)


def test_other_stages_are_no_answers_and_other_lines_no_events() -> None:
    assert parse_event(line(stage="ResponseStarted")) is None
    for text in (b"{}", b"[]", b"x", line(requestReceivedTimestamp="soon")):
        with pytest.raises(ValueError):
            parse_event(text)


def test_it_is_read_bit_by_bit_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    assert log.read() == []
    assert log.problem is not None
    log = AuditLog(path, from_end=True)
    second = line(2)
    path.write_bytes(line(1) + second[:20])
    assert [one.id for one in log.read()] == ["id-1"]
    with path.open("ab") as file:
        file.write(second[20:] + b"no event\n" + line(3))
    assert [one.id for one in log.read()] == ["id-2", "id-3"]
    assert [one.id for one in log.events] == ["id-1", "id-2", "id-3"]
    assert (log.malformed, log.problem) == (1, None)


def test_what_was_there_before_may_be_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line(1))
    log = AuditLog(path, from_end=True)
    with path.open("ab") as file:
        file.write(line(2))
    assert [one.id for one in log.read()] == ["id-2"]


def test_a_log_that_was_replaced_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line(1) * 3)
    log = AuditLog(path)
    log.read()
    (tmp_path / "new").write_bytes(line(9))
    (tmp_path / "new").replace(path)
    assert [one.id for one in log.read()] == ["id-9"]
    assert "was replaced" in str(log.problem)


def test_a_log_that_was_cut_by_its_path_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line(1))
    log = AuditLog(path, from_end=True)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(line(2))
    assert [one.id for one in log.read()] == ["id-2"]
    os.truncate(path, size)
    with path.open("ab") as file:
        file.write(line(3))
    log.read()
    log.look_again()
    # As long as it was, and the same file: only what stood in it tells.
    assert str(log.problem).endswith("was changed after it was read")
    log.close()


def test_a_log_that_became_shorter_is_read_on_from_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line(1) + line(2))
    log = AuditLog(path)
    log.read()
    os.truncate(path, len(line(1)))
    assert log.read() == []
    assert str(log.problem).endswith("was cut while it was read")
    with path.open("ab") as file:
        file.write(line(3))
    assert [one.id for one in log.read()] == ["id-3"]
    log.close()


def test_what_was_read_and_is_still_there_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line(1))
    log = AuditLog(path, from_end=True)
    for number in (2, 3):
        with path.open("ab") as file:
            file.write(line(number))
        log.read()
    log.look_again()
    assert log.problem is None
    path.write_bytes(path.read_bytes().replace(b"id-2", b"id-9"))
    log.look_again()
    assert str(log.problem).endswith("was changed after it was read")
    log.close()


@given(st.lists(st.integers(1, 400), max_size=12))
def test_however_it_is_cut_every_event_is_read_once(cuts: list[int]) -> None:
    import tempfile

    data = b"".join(line(number) for number in range(5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.log"
        path.touch()
        log = AuditLog(path)
        for cut in cuts:
            with path.open("ab") as file:
                file.write(data[:cut])
            data = data[cut:]
            log.read()
        with path.open("ab") as file:
            file.write(data)
        log.read()
    assert [one.id for one in log.events] == [f"id-{number}" for number in range(5)]
    assert log.malformed == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["metadata", "spec", "items", "endpoints", "ownerReferences", "kind", "uid"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_the_answer_holds_it_is_read(body: JsonValue) -> None:
    assert parse_event(line(responseObject=body)) is not None
