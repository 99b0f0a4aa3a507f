"""What a model's answers are: whole ones, refused, cut short, or none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel

from devops_bench.agents.base import AgentStatus

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.models import ModelRequestContext

_RAW_REASON: Final = "finish_reason"

_ENDED_WELL: Final = frozenset({"eos", "eos_token", "end_turn", "stop_sequence"})
"""What OpenAI-compatible servers say besides OpenAI's own reasons when a model came to its end."""


class CutShortError(AgentRunError):
    """The answer has no end: it was cut off, or its server broke it off."""


class ServerNotStartedError(AgentRunError):
    """An MCP server could not be started or asked for its tools."""


class Answers(AbstractCapability[Any]):
    """Looks at every answer of the model before anything is done with it.

    Attributes:
        requests: Requests so far, those that failed included.
        said_nothing: Whether the newest request was answered by nothing: no text, no call.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.said_nothing = False
        self._stated = 0
        self._unstated = 0

    @property
    def measured(self) -> bool:
        """Whether the server said of each of its answers how many tokens it took."""
        return self._stated > 0 and not self._unstated

    async def before_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Count the request."""
        self.requests += 1
        self.said_nothing = False
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Refuse an answer that is not whole; none of its tools is called then.

        Raises:
            ContentFilterError: The model or its server declined.
            OutputTokenLimitExceeded: It is longer than the model can or may write.
            CutShortError: It just ends.
        """
        if response.usage.has_values():
            self._stated += 1
        else:
            self._unstated += 1
        self.said_nothing = not any(map(_says_something, response.parts))
        reason = _finish_reason(response, request_context)
        if reason == "content_filter":
            raise ContentFilterError("it was stopped by a content filter, or refused")
        if reason == "length":
            raise OutputTokenLimitExceeded("the answer is longer than the model may write")
        if reason is None:
            raise CutShortError("the answer was cut off before the model had finished it")
        if reason not in ("stop", "tool_call"):
            raise CutShortError(f"the answer was broken off: {reason}")
        return response


def classified(exc: BaseException, answers: Answers) -> tuple[AgentStatus, str]:
    """Return what a turn came to that ended in an exception, and the words for it."""
    filtered = isinstance(exc, ModelHTTPError) and _code(exc.body) == "content_filter"
    if filtered or isinstance(exc, ContentFilterError):
        return AgentStatus.REFUSED, "the model declined"
    if isinstance(exc, ModelRateLimitError | ModelQuotaExceededError | ModelOverloadedError):
        return AgentStatus.RATE_LIMITED, "the model's API takes no more requests"
    if isinstance(exc, UsageLimitExceeded | OutputTokenLimitExceeded):
        return AgentStatus.LIMIT_REACHED, "its limit was reached"
    if isinstance(exc, ServerNotStartedError):
        return AgentStatus.FAILED, "an MCP server could not be started"
    if isinstance(exc, UnexpectedModelBehavior) and answers.said_nothing:
        return AgentStatus.EMPTY, "its answer is empty"
    if isinstance(exc, AgentRunError):
        return AgentStatus.FAILED, "the model or its API failed"
    return AgentStatus.FAILED, f"unexpected {type(exc).__name__}"


def _finish_reason(response: ModelResponse, request: ModelRequestContext) -> str | None:
    """Return why the model stopped; ``None`` when nobody said."""
    raw = (response.provider_details or {}).get(_RAW_REASON)
    if response.finish_reason is not None:
        # Where a server of OpenAI's kind says nothing, "stop" is only assumed.
        assumed = response.finish_reason == "stop" and isinstance(request.model, OpenAIChatModel)
        return None if assumed and not raw else response.finish_reason
    if isinstance(raw, str) and raw:
        return "stop" if raw.lower() in _ENDED_WELL else raw
    return None


def _says_something(part: object) -> bool:
    if isinstance(part, TextPart):
        return bool(part.content.strip())
    return isinstance(part, ToolCallPart)


def _code(body: object) -> object:
    """Return the code of an error's body, with or without the ``error`` around it."""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    return body.get("code") if isinstance(body, dict) else None
