"""What a turn used: tokens, requests, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from devops_bench.core.errors import InvalidInputError
from devops_bench.core.json import JsonObject

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money; ``None`` where nobody said.

    Attributes:
        input_tokens: Tokens sent to the model, those read from a cache included, ≥ 0.
        output_tokens: Tokens that the model wrote, its reasoning included, ≥ 0.
        cached_input_tokens: How many of ``input_tokens`` were read from a cache, ≥ 0.
        requests: Requests to the model, ≥ 0.
        cost_usd: US dollars: as the agent says, or from :class:`Prices`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    requests: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; what only one side knows counts as it is."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.requests, other.requests),
            None
            if self.cost_usd is None and other.cost_usd is None
            else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
        )

    @property
    def known(self) -> bool:
        """Whether anything is known at all."""
        return self != Usage()

    def as_json(self) -> JsonObject:
        """Return it for a transcript."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "requests": self.requests,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens.

    Attributes:
        input: Of tokens sent, ≥ 0.
        output: Of tokens written, ≥ 0.
        cached_input: Of tokens sent that came from a cache, ≥ 0; ``None`` for the price of
            ``input``.
    """

    input: float
    output: float
    cached_input: float | None = None

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its cost, unless the agent said one or no token count is known."""
        if usage.cost_usd is not None or usage.input_tokens is None or usage.output_tokens is None:
            return usage
        cached = min(usage.cached_input_tokens or 0, usage.input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        cost = (
            (usage.input_tokens - cached) * self.input
            + cached * cached_price
            + usage.output_tokens * self.output
        ) / _PER
        return Usage(
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.requests,
            cost,
        )


def parse_prices(text: str) -> Prices:
    """Return the prices of ``INPUT,OUTPUT`` or ``INPUT,OUTPUT,CACHED``.

    Raises:
        InvalidInputError: It is something else, or a price is no number ≥ 0.
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise InvalidInputError(
            f"--prices {text!r} is not INPUT,OUTPUT or INPUT,OUTPUT,CACHED in US dollars per "
            "million tokens"
        )
    return Prices(*numbers)


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None and right is None:
        return None
    return (left or 0) + (right or 0)
