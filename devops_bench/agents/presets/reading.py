"""From the JSON lines of a CLI to a transcript, its usage, its last words and its outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from devops_bench.agents.base import AgentStatus
from devops_bench.agents.presets.model import Condition, Matches, Preset, Rule
from devops_bench.agents.transcript import Transcript
from devops_bench.agents.usage import Prices, Usage
from devops_bench.core.json import JsonObject, JsonValue

_MISSING = object()


class OutputReader:
    """Reads what a CLI prints, a line at a time.

    Args:
        preset: What its events mean.
        transcript: Where they go.
        prices: To say what the tokens cost where the CLI does not.

    Attributes:
        usage: What it said that it used.
        final_text: Its last words.
        outcome: How it said that it ended, ``None`` when it did not.
        outcome_text: What it said about that.
        events: How many events a rule was for.
        lines: How many lines there were.
    """

    def __init__(
        self, preset: Preset, transcript: Transcript, prices: Prices | None = None
    ) -> None:
        self._preset = preset
        self._transcript = transcript
        self._prices = prices
        self._part = ""
        self._seen_calls: set[str] = set()
        self.usage = Usage()
        self.final_text = ""
        self.outcome: AgentStatus | None = None
        self.outcome_text = ""
        self.events = 0
        self.lines = 0

    def line(self, text: str) -> None:
        """Read one line; never raises."""
        if not text.strip():
            return
        self.lines += 1
        try:
            event: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            self._transcript.output("stdout", text)
            return
        self._event(event)

    def close(self) -> None:
        """Write what was held back; to be called when no line comes any more."""
        self._end_part()

    def _event(self, event: JsonObject) -> None:
        outcome: Rule | None = None
        used = False
        for rule in self._preset.rules:
            if not _holds(rule.when, event):
                continue
            used = True
            if rule.emit == "outcome":
                outcome = outcome or rule
                continue
            for element in _elements(rule, event):
                self._emit(rule, element)
        self.events += used
        if outcome is not None:
            self._end_part()
            self.outcome = outcome.status
            self.outcome_text = _text(_first(outcome.take.get("text"), event))

    def _emit(self, rule: Rule, element: JsonObject) -> None:
        text = _text(_first(rule.take.get("text"), element))
        if rule.emit == "message_part":
            self._part += text
            return
        self._end_part()
        if rule.emit == "message":
            self._message(text)
        elif rule.emit == "reasoning":
            self._transcript.reasoning(text)
        elif rule.emit == "error":
            self._transcript.error(text)
        elif rule.emit == "final":
            self.final_text = text
        elif rule.emit == "tool_call":
            self._call(rule, element)
        elif rule.emit == "tool_result":
            self._result(rule, element, text)
        elif rule.emit == "usage":
            self._use(rule, element)

    def _message(self, text: str) -> None:
        self.final_text = text
        self._transcript.message("assistant", text)

    def _end_part(self) -> None:
        part, self._part = self._part, ""
        if part:
            self._message(part)

    def _call(self, rule: Rule, element: JsonObject) -> None:
        call_id = _text(_first(rule.take.get("id"), element))
        self._seen_calls.add(call_id)
        arguments = _first(rule.take.get("arguments"), element)
        tool = _text(_first(rule.take.get("tool"), element))
        self._transcript.tool_call(call_id, tool, arguments)

    def _result(self, rule: Rule, element: JsonObject, text: str) -> None:
        call_id = _text(_first(rule.take.get("id"), element))
        if call_id not in self._seen_calls and "tool" in rule.take:
            self._call(rule, element)  # this CLI tells of a call only when it is over
        exit_code = _first(rule.take.get("exit_code"), element)
        code = exit_code if isinstance(exit_code, int) else None
        failed = _first(rule.take.get("is_error"), element) is True or code not in (None, 0)
        self._transcript.tool_result(call_id, text, exit_code=code, is_error=failed)

    def _use(self, rule: Rule, element: JsonObject) -> None:
        def count(name: str) -> int | None:
            value = _sum(rule.take.get(name), element)
            return None if value is None else int(value)

        said = Usage(
            count("input_tokens"),
            count("output_tokens"),
            count("cached_input_tokens"),
            count("requests"),
            _sum(rule.take.get("cost_usd"), element),
        )
        self.usage = self.usage + said if rule.accumulate else said
        priced = self.usage if self._prices is None else self._prices.priced(self.usage)
        self._transcript.usage(priced)


def _elements(rule: Rule, event: JsonObject) -> list[JsonObject]:
    if rule.each is None:
        return [event]
    found = _at(rule.each, event)
    if not isinstance(found, list):
        return []
    return [e for e in found if isinstance(e, dict) and _holds(rule.each_when, e)]


def _holds(conditions: Mapping[str, Condition], event: JsonObject) -> bool:
    return all(_meets(_at(path, event), condition) for path, condition in conditions.items())


def _meets(value: object, condition: Condition) -> bool:
    if isinstance(condition, Matches):
        return isinstance(value, str) and re.search(condition.matches, value) is not None
    if isinstance(condition, list):
        return any(_same(value, one) for one in condition)
    return _same(value, condition)


def _same(value: object, wanted: object) -> bool:
    # In Python true is 1; in JSON it is not.
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _at(path: str, value: JsonValue) -> JsonValue | object:
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return _MISSING
        value = value[key]
    return value


def _taken(path: str, element: JsonObject) -> JsonValue:
    if path.startswith("="):
        literal = path[1:]
        return {"true": True, "false": False}.get(literal, literal)
    found = _at(path, element)
    # Whatever was parsed is JSON; only what is missing is not.
    return None if found is _MISSING else found  # type: ignore[return-value]


def _first(paths: str | list[str] | None, element: JsonObject) -> JsonValue:
    for path in [paths] if isinstance(paths, str) else paths or []:
        value = _taken(path, element)
        if value is not None:
            return value
    return None


def _sum(paths: str | list[str] | None, element: JsonObject) -> float | None:
    """Return the sum of the numbers that are there, ``None`` when none is."""
    total: float | None = None
    for path in [paths] if isinstance(paths, str) else paths or []:
        value = _taken(path, element)
        if isinstance(value, str) and value.isdigit():
            value = int(value)  # a literal
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            total = (total or 0) + value
    return total


def _text(value: JsonValue) -> str:
    """Return a text: as it is, the texts of a list of content blocks, otherwise as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [
            block["text"] if isinstance(block, dict) and "text" in block else block
            for block in value
        ]
        return "\n".join(_text(part) for part in parts)
    return json.dumps(value, ensure_ascii=False)
