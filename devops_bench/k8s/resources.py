"""What kinds a server has, and which one a name means: kubectl's rules, without I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A kind in one version, as discovery tells it.

    Attributes:
        group: The API group, empty for the core group.
        version: The version within the group.
        resource: The plural name of the URL.
        kind: The kind.
        namespaced: Whether its objects live in namespaces.
        verbs: What may be asked of it (``list``, ``watch``, …).
        singular: The singular name.
        short_names: Abbreviations.
    """

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    singular: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """``group/version``, or only the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the quoted path of a collection or of one object.

        Args:
            namespace: ``None`` for all namespaces; of no meaning for a cluster-scoped kind.
            name: ``None`` for the collection.

        Raises:
            ValueError: A namespace or name that no object can have (empty, ``.``, ``..``, or with
                ``/`` or ``%``): it would be the path of something else.
        """
        root = f"/apis/{self.group}" if self.group else "/api"
        parts = [root, self.version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", _segment(namespace)]
        parts.append(self.resource)
        if name is not None:
            parts.append(_segment(name))
        return "/".join(parts)

    def __str__(self) -> str:
        """``deployments.apps``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every kind that discovery told of.

    Attributes:
        resources: In the order of preference: groups as the server lists them, the preferred
            version of each first.
        missing: ``group/version: why`` for what the server could not tell about.
    """

    resources: tuple[ApiResource, ...]
    missing: tuple[str, ...] = ()

    def find(self, text: str) -> ApiResource | None:
        """Return what kubectl means by ``text``, ``None`` if there is nothing of that name.

        The rules are those of kubectl 1.36, measured: a plural or singular name or a kind in any
        case (``pods``, ``Pod``), a short name in exactly its case (``po``), each alone or followed
        by ``.group`` or ``.version.group``. A group may be cut short (``storageclass.storage``). A
        short name takes the preferred version whatever version follows it. Of several groups the
        one that the server lists first wins. Besides, a kind is found when its singular name is
        another one, where kubectl asks for the group.
        """
        head, _, rest = text.partition(".")
        if not head:
            return None
        forms: list[tuple[str, str | None, str]] = [(head, None, rest)]
        version, dot, group = rest.partition(".")
        if dot:
            forms.insert(0, (head, version, group))
        for name, wanted_version, wanted_group in forms:
            found = self._by_resource(*self._expanded(name, wanted_version, wanted_group))
            if found is not None:
                return found
        for name, wanted_version, wanted_group in forms:
            for resource in self.resources:
                if (
                    name in (resource.kind, resource.kind.lower())
                    and wanted_version in (None, resource.version)
                    and wanted_group in ("", resource.group)
                ):
                    return resource
        return None

    def find_exact(self, api_version: str, kind: str) -> ApiResource | None:
        """Return the resource of an object's ``apiVersion`` and ``kind``."""
        for resource in self.resources:
            if resource.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def _expanded(self, name: str, version: str | None, group: str) -> tuple[str, str | None, str]:
        """Replace a short name by the full one; a full name wins over a short one."""
        in_group = [item for item in self.resources if group in ("", item.group)]
        if any(name in (item.resource, item.singular) for item in in_group):
            return name, version, group
        for item in in_group:
            if name in item.short_names:
                return item.resource, None, item.group
        for item in self.resources if group else ():
            if name in item.short_names and item.group.startswith(group):
                return item.resource, version, item.group
        return name, version, group

    def _by_resource(self, name: str, version: str | None, group: str) -> ApiResource | None:
        lower = name.lower()
        named = [item for item in self.resources if lower in (item.resource, item.singular)]
        return next(_narrowed(named, version, group), None)


def _narrowed(named: list[ApiResource], version: str | None, group: str) -> Iterator[ApiResource]:
    if version is not None:
        yield from (item for item in named if item.version == version and group in ("", item.group))
        return
    if group:
        yield from (item for item in named if item.group == group)
        # Only when the exact group has nothing does a group that begins so count.
        yield from (item for item in named if item.group.startswith(group))
        return
    yield from named


def _segment(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise ValueError(f"{name!r} cannot be the name of an object")
    return quote(name, safe=":")
