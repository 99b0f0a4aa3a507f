"""Where the API server is and how to log in, as a kubeconfig says it.

The format is described at
https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/. Credentials
(tokens, certificates, exec plug-ins and their renewal) are read by the Kubernetes client's own
loader; which file and which context are meant is decided here, so that a wrong one is named.
"""

from __future__ import annotations

import os
import ssl
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from devops_bench.core.errors import ApiUnavailableError, ClusterError, InvalidInputError
from devops_bench.core.json import JsonObject, JsonValue

_PATH_FIELDS = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """Everything that a connection to the API server needs, pooled or dedicated.

    Attributes:
        server: The server's URL without a trailing slash, e.g. ``https://127.0.0.1:6443``.
        source: For messages: which context of which file.
        headers: Returns the headers that authenticate the next request, renewing a token that is
            about to expire; raises ``ApiUnavailableError`` if that fails. Thread-safe.
        ssl_context: For ``https``; ``None`` for ``http``. May be shared by connections.
        server_hostname: The name that the server's certificate is checked against, ``None`` for
            the host of ``server``.
        proxy_url: The kubeconfig's own ``proxy-url``; variables of the environment are not heeded.
        renewable: Whether loading the kubeconfig again may give other credentials.
    """

    server: str
    source: str
    headers: Callable[[], dict[str, str]] = field(repr=False)
    ssl_context: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy_url: str | None = None
    renewable: bool = False


@dataclass(frozen=True, slots=True)
class _Selected:
    """The part of one or more merged kubeconfig files that one context needs."""

    files: tuple[Path, ...]
    context_name: str
    context: JsonObject
    cluster: JsonObject
    user: JsonObject
    shown_as: str = ""

    @property
    def source(self) -> str:
        shown = self.shown_as or ", ".join(str(file) for file in self.files)
        return f"context {self.context_name!r} of {shown}"


@dataclass(slots=True)
class _Loaded:
    """What the client's loader sets; the names are its own."""

    host: str = ""
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    api_key: dict[str, str] = field(default_factory=dict)
    refresh_api_key_hook: Callable[[_Loaded], None] | None = None


def load_connection(
    kubeconfig: Path | None = None, context: str | None = None, *, shown_as: str = ""
) -> ConnectionConfig:
    """Read how to connect.

    Args:
        kubeconfig: The file; ``None`` for the files of ``$KUBECONFIG``, else ``~/.kube/config``.
        context: A context's name; ``None`` for the current context.
        shown_as: What messages call the file, when it is a copy of the user's.

    Returns:
        The configuration of a connection. Nothing was connected to yet, but an exec plug-in was
        run if the context names one.

    Raises:
        InvalidInputError: A file, the context, or what it refers to does not exist or is not valid;
            the message names the file and the contexts that exist.
        ClusterError: An exec plug-in gave no credentials.
    """
    selected = replace(_select(kubeconfig, context), shown_as=shown_as)
    from kubernetes.config import load_kube_config
    from kubernetes.config.config_exception import ConfigException

    loaded = _Loaded()
    # The loader writes inline certificates and keys to files; they are gone again once read.
    with tempfile.TemporaryDirectory(prefix="devops-bench-") as folder:
        try:
            load_kube_config(  # type: ignore[no-untyped-call]
                config_file=os.pathsep.join(str(file) for file in selected.files),
                context=selected.context_name,
                client_configuration=loaded,
                temp_file_path=folder,
            )
        except (ConfigException, OSError, ValueError, KeyError, TypeError) as exc:
            raise InvalidInputError(f"{selected.source} cannot be used: {_one_line(exc)}") from exc
        _require_credentials(selected, loaded)
        ssl_context = _ssl_context(selected, loaded)
    return ConnectionConfig(
        server=loaded.host.rstrip("/"),
        source=selected.source,
        headers=_header_source(selected, loaded),
        ssl_context=ssl_context,
        server_hostname=loaded.tls_server_name,
        proxy_url=loaded.proxy,
        renewable=any(key in selected.user for key in ("exec", "tokenFile", "auth-provider")),
    )


def minimal_kubeconfig(path: Path | None = None, context: str | None = None) -> str:
    """Return a kubeconfig that holds one context and what it needs, and nothing else.

    Args:
        path: As for :func:`load_connection`.
        context: As for :func:`load_connection`.

    Returns:
        The YAML text, to be written to a private file. Relative paths became absolute ones; inline
        credentials are in it.

    Raises:
        InvalidInputError: As :func:`load_connection`.
    """
    selected = _select(path, context)
    name = selected.context_name
    user = selected.context.get("user")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": selected.context["cluster"], "cluster": selected.cluster}],
        "users": [{"name": user, "user": selected.user}] if user else [],
        "contexts": [{"name": name, "context": selected.context}],
        "current-context": name,
    }
    return str(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))


def kubeconfig_files(kubeconfig: Path | None = None) -> tuple[Path, ...]:
    """Return the files that a kubeconfig is read from, those that exist.

    Args:
        kubeconfig: As for :func:`load_connection`.

    Raises:
        InvalidInputError: None of them exists.
    """
    return _existing_files(kubeconfig)


def _select(kubeconfig: Path | None, context: str | None) -> _Selected:
    files = _existing_files(kubeconfig)
    shown = ", ".join(str(file) for file in files)
    named: dict[str, dict[str, JsonObject]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for file in files:
        config = _read(file)
        # As kubectl merges files: the first that sets something wins.
        current = current or _text(config.get("current-context"))
        for section, entries in named.items():
            for name, entry in _entries(config, section, file).items():
                entries.setdefault(name, entry)
    known = ", ".join(sorted(named["contexts"])) or "none"
    wanted = context or current
    if not wanted:
        raise InvalidInputError(f"{shown} has no current context; its contexts: {known}")
    if wanted not in named["contexts"]:
        raise InvalidInputError(f"{shown} has no context {wanted!r}; its contexts: {known}")
    chosen = named["contexts"][wanted]
    cluster = named["clusters"].get(_text(chosen.get("cluster")))
    if cluster is None or not _text(cluster.get("server")).startswith(("https://", "http://")):
        raise InvalidInputError(
            f"context {wanted!r} of {shown} names the cluster {chosen.get('cluster')!r}, "
            "which is not there or has no server URL"
        )
    user_name = _text(chosen.get("user"))
    if user_name and user_name not in named["users"]:
        raise InvalidInputError(
            f"context {wanted!r} of {shown} names the user {user_name!r}, which is not there"
        )
    return _Selected(files, wanted, chosen, cluster, named["users"].get(user_name, {}))


def _existing_files(kubeconfig: Path | None) -> tuple[Path, ...]:
    if kubeconfig is not None:
        candidates: Sequence[Path] = [kubeconfig]
    elif os.environ.get("KUBECONFIG"):
        candidates = [Path(part) for part in os.environ["KUBECONFIG"].split(os.pathsep) if part]
    else:
        candidates = [Path("~/.kube/config")]
    expanded = [candidate.expanduser() for candidate in candidates]
    files = tuple(file for file in expanded if file.exists())
    if not files:
        raise InvalidInputError(
            f"there is no kubeconfig {', '.join(str(file) for file in expanded)}"
        )
    return files


def _read(file: Path) -> JsonObject:
    try:
        config = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInputError(f"the kubeconfig {file} cannot be read: {exc}") from exc
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        # The parser's own text quotes the line, which may hold a token.
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise InvalidInputError(f"the kubeconfig {file} is not valid YAML{where}") from None
    if not isinstance(config, dict):
        raise InvalidInputError(f"the kubeconfig {file} is not a YAML mapping")
    return config


def _entries(config: JsonObject, section: str, file: Path) -> dict[str, JsonObject]:
    kind = section.removesuffix("s")
    items = config.get(section) or []
    if not isinstance(items, list):
        raise InvalidInputError(f"{section} of the kubeconfig {file} is not a list")
    entries: dict[str, JsonObject] = {}
    for item in items:
        body = item.get(kind) if isinstance(item, dict) else None
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not isinstance(body, dict | None):
            raise InvalidInputError(
                f"an entry of {section} of the kubeconfig {file} has no name or no {kind}"
            )
        entries.setdefault(name, _absolute(dict(body or {}), kind, file.parent.absolute()))
    return entries


def _absolute(body: JsonObject, kind: str, folder: Path) -> JsonObject:
    """Make the paths of one entry absolute, as kubectl reads them: relative to the file."""
    for key in _PATH_FIELDS.get(kind, ()):
        if value := _text(body.get(key)):
            body[key] = str(folder / value)
    plugin = body.get("exec")
    command = _text(plugin.get("command")) if isinstance(plugin, dict) else ""
    if isinstance(plugin, dict) and os.sep in command:
        body["exec"] = {**plugin, "command": str(folder / command)}
    return body


def _require_credentials(selected: _Selected, loaded: _Loaded) -> None:
    """Fail where an exec plug-in failed: the loader only logs that and goes on unauthenticated."""
    plugin = selected.user.get("exec")
    if isinstance(plugin, dict) and not loaded.api_key and loaded.cert_file is None:
        raise ClusterError(
            f"the credential plug-in {plugin.get('command')!r} of {selected.source} "
            "gave no credentials"
        )


def _ssl_context(selected: _Selected, loaded: _Loaded) -> ssl.SSLContext | None:
    if not loaded.host.startswith("https://"):
        return None
    try:
        context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        if loaded.cert_file is not None:
            context.load_cert_chain(loaded.cert_file, loaded.key_file)
    except (OSError, ValueError) as exc:
        raise InvalidInputError(
            f"the certificates of {selected.source} cannot be loaded: {_one_line(exc)}"
        ) from exc
    # Python 3.13 refuses authorities that Go, and so every Kubernetes client, accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not loaded.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _header_source(selected: _Selected, loaded: _Loaded) -> Callable[[], dict[str, str]]:
    lock = threading.Lock()
    impersonation = _impersonation(selected.user)

    def headers() -> dict[str, str]:
        with lock:
            if loaded.refresh_api_key_hook is not None:
                try:
                    loaded.refresh_api_key_hook(loaded)
                except Exception as exc:
                    raise ApiUnavailableError(
                        f"the credentials of {selected.source} could not be renewed: "
                        f"{_one_line(exc)}"
                    ) from exc
            token = loaded.api_key.get("BearerToken")
        return {**impersonation, "Authorization": token} if token else dict(impersonation)

    return headers


def _impersonation(user: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the headers of ``as`` and ``as-uid``, which the loader ignores.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
    """
    if user.get("as-groups") or user.get("as-user-extra"):
        raise InvalidInputError("a kubeconfig with as-groups or as-user-extra is not supported")
    names = {"as": "Impersonate-User", "as-uid": "Impersonate-Uid"}
    return {header: _text(user[key]) for key, header in names.items() if user.get(key)}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _one_line(exc: Exception) -> str:
    return " ".join(str(exc).split()) or type(exc).__name__
