"""How a model's turn ends, against a server that errors, rate-limits, stalls and cuts short."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import AgentResult, AgentStatus
from devops_bench.agents.usage import Prices, Usage

from .conftest import records
from .server import DONE, Step, calling, serving


class TestEnds:
    def test_usage_and_cost_are_told(
        self, talk: Callable[..., AgentResult], tmp_path: Path
    ) -> None:
        with serving(calling("bash", command="true"), DONE) as server:
            result = talk(server, prices=Prices(1.0, 10.0))
        assert result.usage == Usage(200, 20, 0, 2, cost_usd=pytest.approx(0.0004))  # type: ignore[arg-type]
        assert records(tmp_path, "usage")[-1]["input_tokens"] == 200

    @pytest.mark.parametrize(
        ("step", "status"),
        [
            (Step(status=429), AgentStatus.RATE_LIMITED),
            (Step(status=500), AgentStatus.FAILED),
            (Step(status=401), AgentStatus.FAILED),
            (Step(text="  "), AgentStatus.EMPTY),
            (Step(), AgentStatus.EMPTY),
            (Step(refusal="I will not do that."), AgentStatus.REFUSED),
            (Step(finish="content_filter"), AgentStatus.REFUSED),
            (Step(text="some", finish="content_filter"), AgentStatus.REFUSED),
            (Step(status=400, code="content_filter"), AgentStatus.REFUSED),
            (Step(status=400, code="other"), AgentStatus.FAILED),
            (Step(text="cut he", finish="length"), AgentStatus.LIMIT_REACHED),
            (Step(text="cut he", cut=True), AgentStatus.FAILED),
            (Step(cut=True), AgentStatus.FAILED),
            (Step(text="cut he", finish="abort"), AgentStatus.FAILED),
            (Step(body='{"id": "x", "choices": [ {'), AgentStatus.FAILED),
            (Step(body="<html>log in</html>"), AgentStatus.FAILED),
        ],
    )
    def test_each_end_has_its_status_and_none_is_a_success(
        self, talk: Callable[..., AgentResult], step: Step, status: AgentStatus
    ) -> None:
        with serving(step) as server:
            result = talk(server)
        assert (result.status, bool(result.reason)) == (status, True)

    @pytest.mark.parametrize(
        "step",
        [
            Step(calls=(("bash", {"command": "touch done"}),), cut=True),
            Step(calls=(("bash", {"command": "touch done"}),), finish="length"),
            Step(calls=(("bash", {"command": "touch done"}),), finish="content_filter"),
        ],
    )
    def test_the_tools_of_an_answer_that_is_not_whole_are_not_called(
        self, talk: Callable[..., AgentResult], step: Step, tmp_path: Path
    ) -> None:
        with serving(step, DONE) as server:
            talk(server)
            assert len(server.requests) == 1
        assert not (tmp_path / "work" / "done").exists()

    def test_a_server_with_another_word_for_the_end_is_understood(
        self, talk: Callable[..., AgentResult]
    ) -> None:
        with serving(Step(text="I mended it.", finish="eos_token")) as server:
            assert talk(server).status is AgentStatus.COMPLETED

    @pytest.mark.parametrize(
        ("steps", "requests"),
        [
            ((Step(text="x", stated=False),), 1),
            ((Step(text="x", cut=True),), 1),
            ((Step(status=401),), 1),
            ((Step(calls=(("bash", {"command": "true"}),)), Step(text="x", stated=False)), 2),
        ],
    )
    def test_usage_that_nobody_stated_is_not_known(
        self, talk: Callable[..., AgentResult], steps: tuple[Step, ...], requests: int
    ) -> None:
        with serving(*steps) as server:
            result = talk(server, prices=Prices(1.0, 10.0))
        assert result.usage == Usage(requests=requests)

    def test_a_stalled_stream_ends_at_the_deadline_and_what_came_is_kept(
        self, talk: Callable[..., AgentResult]
    ) -> None:
        with serving(Step(text="one two three", stall_after=2)) as server:
            result = talk(server, timeout_sec=1.0)
            assert server.stalled.is_set()
        assert result.status is AgentStatus.TIMED_OUT
        assert "1 s were over" in result.reason

    def test_an_interruption_ends_a_tool_too(self, talk: Callable[..., AgentResult]) -> None:
        cancel = threading.Event()
        with serving(calling("bash", command="sleep 99"), DONE) as server:
            timer = threading.Timer(1.0, cancel.set)
            timer.start()
            result = talk(server, cancel=cancel)
            timer.join()
        assert result.status is AgentStatus.CANCELLED

    def test_the_limit_of_steps_ends_it(self, talk: Callable[..., AgentResult]) -> None:
        with serving(calling("bash", command="true")) as server:
            result = talk(server, "--max-steps", "2")
        assert (result.status, len(server.requests)) == (AgentStatus.LIMIT_REACHED, 2)

    def test_the_limit_of_tokens_ends_it(self, talk: Callable[..., AgentResult]) -> None:
        with serving(calling("bash", command="true")) as server:
            result = talk(server, "--max-tokens", "150")
        assert (result.status, len(server.requests)) == (AgentStatus.LIMIT_REACHED, 2)
