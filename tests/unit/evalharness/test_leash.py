"""A token that ends before the turn is replaced in time; the rest runs on a real server."""

from __future__ import annotations

import base64
import datetime as dt
import threading
from pathlib import Path

import pytest
import yaml

from devops_bench.core.errors import SetupError
from devops_bench.core.secretforms import KnownSecrets
from devops_bench.evalharness import leash as module
from devops_bench.evalharness.leash import LeashOptions
from devops_bench.k8s.identity import Identity, Token, write_token_kubeconfig
from devops_bench.tasks.model import Access
from tests.unit.evalharness.helpers import WAIT_SEC, FakeClock

ME = Identity("devops-bench-1", "agent", "devops-bench-1", ())


class Clock(FakeClock):
    """Lets the renewing thread wait no time at all, until it is told to end."""

    def wait(self, event: threading.Event, timeout_sec: float) -> bool:
        super().wait(event, timeout_sec)
        return event.wait(0.001)


def renew(monkeypatch: pytest.MonkeyPatch, file: Path, fails: int = 0) -> list[str]:
    """Return what was written into the file, with tokens of ten minutes."""
    clock, enough = Clock(), threading.Event()
    written: list[str] = []
    left = [fails]

    def request(client: object, identity: Identity, lifetime_sec: float) -> Token:
        if left[0] > 0:
            left[0] -= 1
            raise SetupError("not now")
        if len(written) >= 3:
            enough.set()
        written.append(file.read_text() if file.exists() else "")
        return Token(f"my-token-{len(written)}", clock.now() + dt.timedelta(seconds=600))

    monkeypatch.setattr(module, "request_token", request)
    token = Token("first", clock.now() + dt.timedelta(seconds=600))
    options = LeashOptions(Access(), turn_sec=1000)
    known = KnownSecrets()
    with module._renewing(None, ME, token, file, options, clock, known):  # type: ignore[arg-type]
        assert enough.wait(WAIT_SEC)
    assert not any(one in known.clean(one) for one in written[1:])
    assert not [t for t in threading.enumerate() if t.name == "agent-token"]
    return written


def test_a_token_that_is_too_short_is_replaced_again_and_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = renew(monkeypatch, tmp_path / "token")
    assert written[:4] == ["", "my-token-1", "my-token-2", "my-token-3"]
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_a_server_that_gives_none_for_a_while_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert renew(monkeypatch, tmp_path / "token", fails=2)[:2] == ["", "my-token-1"]


def test_a_kubeconfig_holds_the_token_or_the_name_of_its_file(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_bytes(b"authority")
    admin = tmp_path / "admin"
    cluster = {"server": "https://c", "certificate-authority": "ca.crt", "tls-server-name": "n"}
    user = {"token": "admin's", "client-key": "admin.key"}
    admin.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    made, file = tmp_path / "made", tmp_path / "token"
    write_token_kubeconfig(made, admin, "mine")
    text = made.read_text()
    assert "admin" not in text
    written = yaml.safe_load(text)
    assert written["users"] == [{"name": "agent", "user": {"token": "mine"}}]
    data = base64.b64encode(b"authority").decode()
    expected = {"server": "https://c", "tls-server-name": "n", "certificate-authority-data": data}
    assert written["clusters"][0]["cluster"] == expected
    write_token_kubeconfig(made, admin, "mine", token_file=file)
    assert yaml.safe_load(made.read_text())["users"][0]["user"] == {"tokenFile": str(file)}
    assert file.read_text() == "mine"
    authority.unlink()
    with pytest.raises(SetupError, match="cannot be read"):
        write_token_kubeconfig(made, admin, "mine")


def test_a_token_does_not_show() -> None:
    assert "secret" not in repr(Token("secret", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)))
