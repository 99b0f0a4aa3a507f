from __future__ import annotations

import json

from devops_bench.cli.checking_live import _line, _News
from devops_bench.k8s.watch.gap import Gap
from devops_bench.k8s.watch.types import StateInfo
from devops_bench.verification.result import VerificationResult

BAD = VerificationResult.failed("it is bad")


def test_a_watched_verdict_is_told_with_what_brought_it() -> None:
    news = _News("t", "floor", BAD, StateInfo(41, 1.0, "event"), None)
    assert _line(news, as_json=False) == "FAIL  floor: it is bad (resourceVersion 41)\n"
    assert json.loads(_line(news, as_json=True)) == {
        "task": "t",
        "entry": "floor",
        "event": "judged",
        "status": "fail",
        "reason": "it is bad",
        "resource_version": 41,
    }


def test_a_sampled_verdict_has_none() -> None:
    assert _line(_News("t", "floor", BAD, None, None), as_json=False) == "FAIL  floor: it is bad\n"


def test_a_gap_is_told_with_its_cause() -> None:
    gap = Gap("pods", 1, "a reset", 1, 2, 0.0, 1.0, False, "not closed: compacted")
    text = _line(_News("t", "floor", None, None, gap), as_json=False)
    assert text == "gap   floor: a reset (not closed: compacted)\n"
