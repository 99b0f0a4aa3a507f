"""The agent's own access: made after the setup, proven before the turn, gone at the end."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from devops_bench.clusters.base import Cluster
from devops_bench.core.clock import Clock
from devops_bench.core.errors import DevopsBenchError, SetupError
from devops_bench.core.files import write_atomic
from devops_bench.core.json import JsonObject
from devops_bench.core.runtime import private_folder
from devops_bench.core.secretforms import KnownSecrets
from devops_bench.evalharness.selfcheck import SelfCheck
from devops_bench.k8s.client import ApiClient, connect
from devops_bench.k8s.delete import CreatedObject, delete_objects
from devops_bench.k8s.discovery import Discovery
from devops_bench.k8s.identity import (
    Enforced,
    Identity,
    Token,
    create_identity,
    enforce_pod_security,
    new_name,
    release_pod_security,
    request_token,
    write_token_kubeconfig,
)
from devops_bench.k8s.rbac import makes_pods
from devops_bench.results.trust import AccessCheck, AccessReport
from devops_bench.tasks.model import Access

log = structlog.get_logger(__name__)

CREDENTIALS_FOLDER: Final = "credentials"
"""The folder, in a private one of the harness, of what the agent gets and of nothing else."""

KUBECONFIG_FILE: Final = "kubeconfig"
TOKEN_FILE: Final = "token"  # noqa: S105 - a name
"""Only there when the server gives tokens that are shorter than the turn."""

TOKEN_SLACK_SEC: Final = 300.0
"""How much longer than the turn a token should live."""

_CHECK_TIMEOUT_SEC: Final = 30.0
_DELETE_TIMEOUT_SEC: Final = 60.0
_RENEW_AFTER: Final = 0.5
_LEAST_RENEWAL_SEC: Final = 5.0


@dataclass(frozen=True, slots=True)
class LeashOptions:
    """What is asked for.

    Attributes:
        access: What the task grants.
        turn_sec: Seconds that the turn may take, > 0.
        timeout_sec: Seconds that making the account may take, > 0.
        secret: What the Secret in the harness's namespace holds; ``None`` for no Secret.
        remove: Whether everything is removed at the end; not needed where the cluster itself ends.
    """

    access: Access
    turn_sec: float
    timeout_sec: float = 60.0
    secret: JsonObject | None = None
    remove: bool = True


@dataclass(slots=True)
class Leash:
    """The agent's access while it lasts.

    Attributes:
        identity: Its account.
        kubeconfig: What the agent gets; in a private folder, never among the results.
        token_folder: The folder that the agent must be able to read during its turn, because its
            kubeconfig names a file in it; ``None`` when the kubeconfig holds all there is.
        report: What the result says about it.
        secrets: Its tokens, also those that it gets later: each before there is a file with it.
    """

    identity: Identity
    kubeconfig: Path
    token_folder: Path | None
    report: AccessReport
    secrets: KnownSecrets


@contextlib.contextmanager
def leash(
    cluster: Cluster,
    options: LeashOptions,
    *,
    clock: Clock,
    record: Callable[[CreatedObject], None],
    left_behind: Callable[[str], None],
) -> Iterator[Leash]:
    """Give the agent an account of its own, and take it away again.

    Args:
        cluster: The cluster, with the harness's kubeconfig.
        options: What is asked for.
        clock: Where time comes from.
        record: Told of each object as soon as it exists.
        left_behind: Told of each object that could not be removed.

    Raises:
        SetupError: The account could not be made, or does not have exactly what it must have.
        ClusterError: The server did not answer.
    """
    with _credentials_folder() as folder, contextlib.closing(connect(cluster.kubeconfig)) as client:
        work = _Work(client, options, record, left_behind)
        try:
            identity = create_identity(
                client,
                Discovery(client),
                options.access.grants,
                name=new_name(),
                secret=options.secret,
                record=work.note,
                timeout_sec=options.timeout_sec,
            )
            work.enforce()
            token = request_token(client, identity, options.turn_sec + TOKEN_SLACK_SEC)
            lasts = token.expires_at >= clock.now() + dt.timedelta(seconds=options.turn_sec)
            kubeconfig = folder / KUBECONFIG_FILE
            token_file = None if lasts else folder / TOKEN_FILE
            write_token_kubeconfig(
                kubeconfig, cluster.kubeconfig, token.value, token_file=token_file
            )
            report = work.report(identity, token)
            checked = _proven(kubeconfig, identity, options, clock)
            report = report.model_copy(update={"checks": checked})
            tokens = KnownSecrets([token.value])
            with contextlib.ExitStack() as stack:
                if token_file is not None:
                    stack.enter_context(
                        _renewing(client, identity, token, token_file, options, clock, tokens)
                    )
                yield Leash(identity, kubeconfig, None if lasts else folder, report, tokens)
        finally:
            work.undo()


@contextlib.contextmanager
def _credentials_folder() -> Iterator[Path]:
    """Yield a folder for the agent's credentials, which the next command removes after a kill.

    Raises:
        SetupError: It could not be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            # One below: what says whose the private folder is, is not the agent's business.
            folder = stack.enter_context(private_folder("an agent's kubeconfig"))
            folder /= CREDENTIALS_FOLDER
            folder.mkdir(mode=0o700)
        except OSError as exc:
            raise SetupError(f"there is no place for the agent's kubeconfig: {exc}") from exc
        yield folder


@dataclass(slots=True)
class _Work:
    """What was done, to be undone."""

    client: ApiClient
    options: LeashOptions
    record: Callable[[CreatedObject], None]
    left_behind: Callable[[str], None]
    created: list[CreatedObject] = field(default_factory=list)
    enforced: list[Enforced] = field(default_factory=list)

    def note(self, one: CreatedObject) -> None:
        """Note an object that was made."""
        self.created.append(one)
        self.record(one)

    def enforce(self) -> None:
        """Make every namespace safe in which the agent may create workloads."""
        namespaces: dict[str, None] = {}
        for grant in self.options.access.grants:
            if makes_pods(grant.rules):
                namespaces.update(dict.fromkeys(grant.namespaces))
        for namespace in namespaces:
            self.enforced.append(enforce_pod_security(self.client, namespace))

    def report(self, identity: Identity, token: Token) -> AccessReport:
        rules = [
            f"{rule} in {', '.join(grant.namespaces) or 'the whole cluster'}"
            for grant in self.options.access.grants
            for rule in grant.rules
        ]
        return AccessReport(
            kind="own",
            preset=self.options.access.preset,
            account=identity.username,
            rules=rules,
            pod_security={item.namespace: item.level for item in self.enforced},
            token_expires_at=token.expires_at,
        )

    def undo(self) -> None:
        """Remove what was made, by uid; what fails is told, and changes no verdict."""
        if not self.options.remove:
            return
        try:
            for item in self.enforced:
                why = release_pod_security(self.client, item)
                if why is not None:
                    self.left_behind(why)
            for left in delete_objects(self.client, self.created, _DELETE_TIMEOUT_SEC):
                self.left_behind(f"{left.object}: {left.reason}")
        except Exception as exc:
            log.exception("leash.not_removed")
            self.left_behind(f"the agent's account: {exc}")
        except BaseException:
            self.left_behind("the agent's account: removing it was interrupted")
            raise


def _proven(
    kubeconfig: Path, identity: Identity, options: LeashOptions, clock: Clock
) -> list[AccessCheck]:
    with contextlib.closing(connect(kubeconfig)) as client:
        check = SelfCheck(client, identity, options.access.grants, clock)
        return check.run(_CHECK_TIMEOUT_SEC)


@contextlib.contextmanager
def _renewing(
    client: ApiClient,
    identity: Identity,
    token: Token,
    file: Path,
    options: LeashOptions,
    clock: Clock,
    known: KnownSecrets,
) -> Iterator[None]:
    """Write a new token into the file in time, again and again."""
    ended = threading.Event()

    def run() -> None:
        expires_at = token.expires_at
        while True:
            left = (expires_at - clock.now()).total_seconds()
            if clock.wait(ended, max(_LEAST_RENEWAL_SEC, left * _RENEW_AFTER)):
                return
            try:
                new = request_token(client, identity, options.turn_sec + TOKEN_SLACK_SEC)
                known.add(new.value)
                write_atomic(file, new.value, mode=0o600)
                expires_at = new.expires_at
            except (DevopsBenchError, OSError) as exc:
                log.warning("leash.token_not_renewed", reason=str(exc))

    thread = threading.Thread(target=run, name="agent-token", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_CHECK_TIMEOUT_SEC)
