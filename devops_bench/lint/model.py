"""What a rule is: an id that never changes, words for people, two examples, and a function."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from devops_bench.core.diagnostics import Level
from devops_bench.tasks.yaml import DocPath

if TYPE_CHECKING:
    from devops_bench.lint.subject import Subject


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has to say about one place.

    Attributes:
        path: The value it is about.
        message: What is wrong, one sentence without a final period.
        hint: What would be right.
        key: Place it at the value's key.
        level: Another level than the rule's, ``None`` for the rule's own.
    """

    path: DocPath
    message: str
    hint: str
    key: bool = False
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A spec that shows a rule.

    Attributes:
        spec: The whole task file.
        files: Other files beside it, by name.
    """

    spec: str
    files: Mapping[str, str] = field(default_factory=dict)


Look: TypeAlias = "Callable[[Subject], Iterable[Finding]]"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: ``DB101``; never reused for anything else.
        title: A few words, no period.
        why: What goes wrong otherwise and what to do, for ``--explain``.
        level: Of its findings, unless one says another.
        exception: Which of them are of another level, a few words (``error for a safeguard``).
        fires: A spec with a finding of this rule.
        near_miss: Almost the same spec, without.
        look: Returns the findings; ``None`` for what the loader itself finds.
    """

    id: str
    title: str
    why: str
    level: Level
    fires: Example
    near_miss: Example
    look: Look | None = None
    exception: str = ""

    @property
    def levels(self) -> str:
        """The levels of its findings, for a reader."""
        return f"{self.level}, {self.exception}" if self.exception else str(self.level)

    @property
    def is_load_error(self) -> bool:
        """Whether its findings keep the spec from running, so that nothing can ignore them."""
        return self.look is None and self.level is Level.ERROR


RULES: Final[dict[str, Rule]] = {}
"""Every rule by its id; complete once :mod:`devops_bench.lint.catalogue` is imported."""


def closest_rule(text: str) -> str | None:
    """Return the id that ``text`` is a slip of the pen for, ``None`` without one.

    One character is another one, is missing or too much; for more ids are too much alike.
    """
    given = text.upper()
    near = [one for one in sorted(RULES) if _is_one_off(given, one)]
    return near[0] if near else None


def _is_one_off(text: str, rule_id: str) -> bool:
    if len(text) == len(rule_id):
        return sum(a != b for a, b in zip(text, rule_id, strict=True)) <= 1
    short, long = sorted((text, rule_id), key=len)
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def register(rule: Rule) -> Rule:
    """Add a rule.

    Raises:
        ValueError: Another rule has its id.
    """
    if RULES.setdefault(rule.id, rule) is not rule:
        raise ValueError(f"the rule {rule.id} is registered twice")
    return rule


def rule(
    rule_id: str,
    title: str,
    *,
    level: Level,
    why: str,
    fires: Example,
    near_miss: Example,
    exception: str = "",
) -> Callable[[Look], Look]:
    """Return a decorator that registers a function as the look of a rule; see :class:`Rule`."""

    def add(look: Look) -> Look:
        text = textwrap.dedent(why).strip()
        register(Rule(rule_id, title, text, level, fires, near_miss, look, exception))
        return look

    return add


def spec(body: str, files: Mapping[str, str] | None = None) -> Example:
    """Return an example from the text below ``id: example``."""
    return Example("id: example\n" + textwrap.dedent(body).lstrip("\n"), files or {})
