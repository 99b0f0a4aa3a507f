"""Whether the kind of one stream is still what it was, as the stream itself finds out."""

from __future__ import annotations

from dataclasses import replace

from devops_bench.k8s.resources import ApiResource
from devops_bench.k8s.watch.context import REQUEST_TIMEOUT_SEC, StreamContext
from devops_bench.k8s.watch.facts import read_facts
from devops_bench.k8s.watch.identity import (
    Facts,
    Redefined,
    difference,
    redefined,
    rewritten,
)


class Sameness:
    """Remembers what a kind was, and compares.

    Args:
        resource: The kind.
        context: What all streams share.
        facts: What was served at the baseline.

    Attributes:
        requests: How many requests it has sent.
    """

    def __init__(self, resource: ApiResource, context: StreamContext, facts: Facts) -> None:
        self.requests = 0
        self._resource = resource
        self._context = context
        self._facts = facts

    @property
    def is_custom(self) -> bool:
        """Whether a CustomResourceDefinition defines the kind."""
        return self._facts.definitions.get(self._resource) is not None

    def look(self, since: Facts | None = None) -> Facts:
        """Look at what the kind is now.

        Args:
            since: The look that this one continues; ``None`` for what is remembered.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        before = self._facts if since is None else since
        client, clock = self._context.client, self._context.clock
        facts = read_facts(client, [self._resource], REQUEST_TIMEOUT_SEC, clock, before)
        self.requests += facts.requests
        return facts

    def difference(self, now: Facts, since: Facts | None = None) -> str | None:
        """Return what makes it not the same kind of the same server, if anything does."""
        return difference(self._facts if since is None else since, now, self._resource)

    def redefined(self, now: Facts, since: Facts | None = None) -> Redefined | None:
        """Return how its stored objects may be read differently, ``None`` if they are not."""
        return redefined(self._facts if since is None else since, now, self._resource)

    def why_outdated(self, now: Facts) -> str | None:
        """Return why an open watch does not show the kind's objects as they are read by now.

        It goes on for about a second, and still shows them as they were read before.

        Args:
            now: A look that need not continue what is remembered.

        Raises:
            ApiError: The server answered with an error status.
            ApiUnavailableError: It did not answer.
        """
        facts = self._facts
        if not rewritten(facts, now, self._resource):
            return None
        found = redefined(facts, self.look(facts), self._resource)
        return None if found is None else f"{found.why}: the open watch reads by the one before"

    def adopt(self, facts: Facts) -> None:
        """Compare with these facts from now on: all between was the same, or was told of.

        What could not be read at the baseline is not compared later either.
        """
        if self._facts.served is not None:
            self._facts = replace(
                self._facts,
                served=facts.served,
                served_rv=facts.served_rv,
                definitions=facts.definitions,
            )
