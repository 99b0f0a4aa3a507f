"""The name of a run's cluster is one that every provider takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devops_bench.clusters.names import cluster_name
from devops_bench.clusters.state import check_name


def test_an_id_of_ours_stays_as_it_is() -> None:
    assert cluster_name("20261130-135000-abcdef") == "devops-bench-20261130-135000-abcdef"


@given(st.text(max_size=80))
def test_any_id_makes_a_name(run_id: str) -> None:
    name = cluster_name(run_id)

    assert check_name(name) == name
    assert len(f"{name}-control-plane") <= 63
