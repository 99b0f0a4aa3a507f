from __future__ import annotations

from devops_bench.core.json import JsonObject
from devops_bench.evalharness.trail import MAX_VIOLATIONS, Trail
from devops_bench.k8s.objects import KubeObject
from devops_bench.k8s.view import Matched, ResourceQuery
from devops_bench.k8s.watch.tables import Update
from devops_bench.results.evidence.records import Judged, Marked, NullSink, Sampled, Step
from devops_bench.verification.combinators import queries_of
from devops_bench.verification.spec import parse_entries
from tests.unit.evalharness.helpers import ERROR, FAIL, PASS, soaked, watched

ENTRY = watched("guard")
(QUERY,) = queries_of(ENTRY.check)


def obj(rv: int, name: str = "it") -> KubeObject:
    metadata: JsonObject = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(rv)}
    return KubeObject({"metadata": metadata})


def trail() -> Trail:
    made = Trail(NullSink(), [ENTRY, soaked("objective", 1)])
    made.record(Marked("window_begin", 10.0))
    return made


def step(made: Trail, rv: int, found: KubeObject | None, *, query: ResourceQuery = QUERY) -> None:
    update = Update(query, ("default", "it"), found)
    made.record(Step("turn", "stream", rv, rv + 10.0, "event", (update,)))


def judged(made: Trail, rv: int, status: object = FAIL) -> None:
    made.record(Judged("turn", "guard", rv, rv + 10.0, "event", status))  # type: ignore[arg-type]


def test_a_violation_has_the_change_that_came_with_it() -> None:
    made = trail()
    step(made, 1, obj(1))
    judged(made, 1, PASS)
    step(made, 2, obj(2))
    judged(made, 2)
    step(made, 3, None)
    judged(made, 3)

    (found,) = made.violations("guard", 2.0)

    assert found.at_sec == 12.0
    (change,) = found.changes
    assert (change.rv, change.what, change.uid) == (2, "changed", "uid-it")
    assert change.before == obj(1)


def test_what_left_is_deleted_and_what_is_new_created() -> None:
    made = trail()
    step(made, 1, obj(1))
    judged(made, 1)
    judged(made, 1, PASS)
    step(made, 2, None)
    judged(made, 2)
    created, deleted = (one.changes[0] for one in made.violations("guard", 1.0))
    assert (created.what, created.before) == ("created", None)
    assert (deleted.what, deleted.uid) == ("deleted", "uid-it")


def test_only_changes_that_the_entry_reads_count() -> None:
    made = trail()
    step(made, 2, obj(2), query=ResourceQuery("secrets"))
    judged(made, 2)
    assert made.violations("guard", 2.0)[0].changes == ()


def test_what_was_before_the_window_or_after_the_turn_is_not_counted() -> None:
    made = Trail(NullSink(), [ENTRY])
    judged(made, 1)
    made.record(Marked("window_begin", 12.0))
    judged(made, 3, PASS)
    judged(made, 4)
    judged(made, 5, PASS)
    made.record(Marked("turn_ending", 15.5))
    judged(made, 6)
    assert [one.at_sec for one in made.violations("guard", 2.0)] == [14.0]


def test_an_error_between_two_failures_is_no_second_violation() -> None:
    made = trail()
    for rv, status in enumerate((FAIL, ERROR, FAIL, PASS, FAIL)):
        judged(made, rv, status)
    assert [one.at_sec for one in made.violations("guard", 0.0)] == [10.0, 14.0]


def test_so_many_are_kept() -> None:
    made = trail()
    for rv in range(3 * MAX_VIOLATIONS):
        judged(made, rv, (FAIL, PASS)[rv % 2])
    assert len(made.violations("guard", 0.0)) == MAX_VIOLATIONS


def test_of_samples_what_differs_between_two_looks() -> None:
    made = trail()
    first = {QUERY: Matched((obj(1), obj(4, "other")))}
    second = {QUERY: Matched((obj(2), obj(4, "other")))}
    made.record(Sampled("guard", 11.0, 11.1, first, PASS))
    made.record(Sampled("guard", 12.0, 12.1, second, FAIL))
    (found,) = made.violations("guard", 2.0)
    assert [(change.name, change.rv) for change in found.changes] == [("it", 2)]


def test_one_look_that_finds_nothing_names_what_it_looked_for() -> None:
    (named,) = parse_entries(
        [
            {
                "name": "once",
                "role": "safeguard",
                "severity": "recoverable",
                "check": {
                    "type": "resource_property",
                    "kind": "deployment",
                    "resource_name": "web",
                    "namespace": "shop",
                    "op": "exists",
                },
            }
        ]
    )[0]
    made = Trail(NullSink(), [named])
    (query,) = queries_of(named.check)
    made.record(Sampled("once", 11.0, 11.1, {query: Matched(())}, FAIL))
    (found,) = made.violations("once", None)
    (change,) = found.changes
    assert (str(change), change.what, change.uid) == ("deployment shop/web", "deleted", "")


def test_behind_a_gap_the_object_says_when_it_changed() -> None:
    made = trail()
    step(made, 9, obj(4))
    judged(made, 9)
    assert made.violations("guard", 9.0)[0].changes[0].rv == 4


def test_what_is_not_a_safeguard_has_none() -> None:
    made = trail()
    made.record(Sampled("objective", 11.0, 11.1, None, FAIL))
    assert made.violations("objective", 0.0) == ()


def test_everything_is_passed_on() -> None:
    class Keeping(NullSink):
        def __init__(self) -> None:
            self.seen: list[object] = []
            self.problem = "full"

        def record(self, record: object) -> None:
            self.seen.append(record)

    inner = Keeping()
    made = Trail(inner, [ENTRY])
    made.record(Marked("task_end", 1.0))
    assert inner.seen == [Marked("task_end", 1.0)]
    assert made.problem == "full"
