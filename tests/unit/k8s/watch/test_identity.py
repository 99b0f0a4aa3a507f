from __future__ import annotations

from dataclasses import replace

import pytest

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.identity import (
    Facts,
    Served,
    difference,
    remote_service,
    schema_changed,
)

JOBS = ApiResource("batch", "v1", "jobs", "Job", namespaced=True)
SERVED = Served("u1", "5", "", automatic=False)
BEFORE = Facts("c1", {"batch/v1": SERVED}, {JOBS: "old"}, 2)


def served(entry: Served | None) -> Facts:
    return replace(BEFORE, served={} if entry is None else {"batch/v1": entry})


def test_nothing_differs_from_itself() -> None:
    assert difference(BEFORE, BEFORE, JOBS) is None


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (replace(BEFORE, cluster="c2"), "another cluster"),
        (replace(BEFORE, cluster=None), "not readable"),
        (replace(BEFORE, served=None), "no longer be read"),
        (served(None), "is gone"),
        (served(replace(SERVED, remote="mine/server", version="6")), "mine/server"),
        (served(replace(SERVED, version="7")), "changed during the run"),
        (served(replace(SERVED, uid="u2")), "changed during the run"),
    ],
)
def test_whatever_differs_is_said(now: Facts, said: str) -> None:
    assert said in (difference(BEFORE, now, JOBS) or "")


def test_what_could_not_be_read_at_the_baseline_is_not_compared() -> None:
    blind = Facts(None, None, {}, 2)
    assert difference(blind, BEFORE, JOBS) is None
    assert not schema_changed(blind, BEFORE, JOBS)


def test_another_groups_api_service_is_no_difference() -> None:
    other = replace(BEFORE, served={"batch/v1": SERVED, "x/v1": replace(SERVED, remote="a/b")})
    assert difference(BEFORE, other, JOBS) is None
    assert remote_service(other, JOBS) is None


def test_a_changed_schema_is_noticed() -> None:
    assert schema_changed(BEFORE, replace(BEFORE, schemas={JOBS: "new"}), JOBS)
    assert schema_changed(BEFORE, replace(BEFORE, schemas={}), JOBS)
    assert not schema_changed(BEFORE, BEFORE, JOBS)
