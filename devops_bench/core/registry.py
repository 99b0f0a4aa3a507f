"""Names for things that a third party may add: the only global state of this package."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Generic, TypeVar

from devops_bench.core.errors import InvalidInputError, UnknownNameError
from devops_bench.core.similar import closest

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of named things, filled by decorators and by an entry-point group.

    Args:
        what: What it holds, in the singular, for messages (``check type``).
        entry_point_group: The group whose entry points add to it; each is loaded when its name is
            first looked up, so that a broken one is in nobody's way; ``None`` for a closed
            registry.
    """

    def __init__(self, what: str, *, entry_point_group: str | None = None) -> None:
        self._what = what
        self._group = entry_point_group
        self._items: dict[str, T] = {}
        # Those of one name; more than one is a fault that is told when the name is asked for.
        self._points: dict[str, list[metadata.EntryPoint]] | None = None
        self._from_plug_ins: set[str] = set()

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that stores what it decorates under ``name``.

        Raises:
            ValueError: Another thing already has that name.
        """

        def add(item: T) -> T:
            current = self._items.setdefault(name, item)
            if current is not item:
                raise ValueError(f"{self._what} {name!r} is registered twice")
            return item

        return add

    def get(self, name: str) -> T:
        """Return what is registered under ``name``.

        Raises:
            UnknownNameError: Nothing is; the message names what is close or what there is.
            InvalidInputError: The installed plug-in of that name could not be loaded, or there are
                several.
        """
        if name in self._items:
            return self._items[name]
        points = self._entry_points().get(name)
        if points is None:
            raise UnknownNameError(f"there is no {self._what} {name!r} ({self._hint(name)})")
        self._items[name] = self._loaded(name, points)
        return self._items[name]

    def names(self) -> list[str]:
        """Return every name, sorted, those of installed plug-ins included; loads none of them."""
        return sorted({*self._items, *self._entry_points()})

    def passed_over(self, name: str) -> list[str]:
        """Return the installed plug-ins, as ``module:attribute``, whose name something else has.

        Args:
            name: The name.
        """
        if name in self._items and name not in self._from_plug_ins:
            return [point.value for point in self._entry_points().get(name, ())]
        return []

    def _hint(self, name: str) -> str:
        known = self.names()
        close = closest(name, known)
        return (
            f"known: {', '.join(known) or 'none'}" if close is None else f"did you mean {close!r}?"
        )

    def _loaded(self, name: str, points: list[metadata.EntryPoint]) -> T:
        if len(points) > 1:
            values = ", ".join(point.value for point in points)
            raise InvalidInputError(f"several plug-ins are called {name!r}: {values}")
        point = points[0]
        try:
            loaded: T = point.load()
        except (Exception, SystemExit) as exc:  # a module may well end its program
            raise InvalidInputError(
                f"the plug-in {name!r} ({point.value}) could not be loaded: "
                f"{str(exc) or type(exc).__name__}"
            ) from exc
        self._from_plug_ins.add(name)
        return loaded

    def _entry_points(self) -> dict[str, list[metadata.EntryPoint]]:
        if self._points is None:
            self._points = {}
            for point in metadata.entry_points(group=self._group) if self._group else ():
                known = self._points.setdefault(point.name, [])
                if point.value not in [other.value for other in known]:
                    known.append(point)
        return self._points
