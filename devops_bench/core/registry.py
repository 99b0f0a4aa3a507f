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
        entry_point_group: The group whose entry points are loaded at the first look-up of a name
            that is not there yet; ``None`` for a closed registry.
    """

    def __init__(self, what: str, *, entry_point_group: str | None = None) -> None:
        self._what = what
        self._group = entry_point_group
        self._items: dict[str, T] = {}
        self._entry_points_loaded = entry_point_group is None

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
            InvalidInputError: An installed plug-in of the group could not be loaded.
        """
        if name not in self._items:
            self._load_entry_points()
        try:
            return self._items[name]
        except KeyError:
            close = closest(name, self._items)
            hint = (
                f"did you mean {close!r}?"
                if close is not None
                else f"known: {', '.join(sorted(self._items)) or 'none'}"
            )
            raise UnknownNameError(f"there is no {self._what} {name!r} ({hint})") from None

    def names(self) -> list[str]:
        """Return every name, sorted, those of installed plug-ins included."""
        self._load_entry_points()
        return sorted(self._items)

    def _load_entry_points(self) -> None:
        if self._entry_points_loaded:
            return
        self._entry_points_loaded = True
        for point in metadata.entry_points(group=self._group or ""):
            try:
                loaded = point.load()
            except Exception as exc:
                raise InvalidInputError(
                    f"the plug-in {point.name!r} ({point.value}) could not be loaded: {exc}"
                ) from exc
            self._items.setdefault(point.name, loaded)
