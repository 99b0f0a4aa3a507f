"""Entries to score, for property tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from devops_bench.scoring.rollup import Part, ScoredEntry, Verdict

PARTS: tuple[Part, ...] = ("objective", "recoverable", "catastrophic")
VERDICTS: tuple[Verdict, ...] = ("pass", "fail", "error")

weights = st.floats(min_value=1e-300, max_value=1.7e308, allow_subnormal=False)


def entries_of(
    *parts: Part, verdicts: Sequence[Verdict] = VERDICTS
) -> st.SearchStrategy[list[ScoredEntry]]:
    """Return lists of entries of these parts that came to these verdicts."""
    return st.lists(
        st.builds(
            ScoredEntry,
            name=st.text(max_size=3),
            part=st.sampled_from(parts),
            weight=weights,
            verdict=st.sampled_from(verdicts),
        ),
        max_size=8,
    )
