"""Every plane has keys of its own, and etcd's are apart from the cluster's."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from devops_bench.clusters import pki
from devops_bench.clusters.pki import Pki


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return pki.create(tmp_path_factory.mktemp("pki"), "10.96.0.1")


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.mark.parametrize(
    ("name", "authority"),
    [
        ("kube-apiserver", "ca"),
        ("kube-controller-manager", "ca"),
        ("kube-scheduler", "ca"),
        ("kwok", "ca"),
        ("etcd", "etcd-ca"),
        ("etcd-client", "etcd-ca"),
    ],
)
def test_a_certificate_is_its_authoritys_and_no_other(made: Pki, name: str, authority: str) -> None:
    cert = load(made.cert(name))
    other = "ca" if authority == "etcd-ca" else "etcd-ca"

    cert.verify_directly_issued_by(load(made.cert(authority)))
    with pytest.raises((ValueError, InvalidSignature)):
        cert.verify_directly_issued_by(load(made.cert(other)))


@pytest.mark.parametrize("name", ["ca", "etcd-ca", "kube-apiserver", "kwok", "etcd"])
def test_a_key_belongs_to_its_certificate(made: Pki, name: str) -> None:
    key = serialization.load_pem_private_key(made.key(name).read_bytes(), None)

    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert load(made.cert(name)).public_key() == key.public_key()


def test_nothing_is_readable_by_others(made: Pki) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in made.folder.iterdir()}

    assert set(modes.values()) == {0o600}
    assert len(modes) == 19


def test_the_servers_are_valid_for_their_addresses(made: Pki) -> None:
    names = load(made.cert("kube-apiserver")).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    assert names.value.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("10.96.0.1"),
    ]
    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)


def test_the_api_servers_etcd_certificate_cannot_serve(made: Pki) -> None:
    usage = load(made.cert("etcd-client")).extensions.get_extension_for_class(x509.ExtendedKeyUsage)

    assert list(usage.value) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_components_are_who_rbac_expects(made: Pki) -> None:
    subjects = {
        name: load(made.cert(name)).subject.rfc4514_string() for name in pki.COMPONENT_USERS
    }

    assert subjects == {
        "kube-controller-manager": "CN=system:kube-controller-manager",
        "kube-scheduler": "CN=system:kube-scheduler",
        "kwok": "CN=devops-bench:kwok,O=system:masters",
    }


def test_it_is_valid_now_and_for_years(made: Pki) -> None:
    now = dt.datetime.now(dt.UTC)
    for path in made.folder.glob("*.crt"):
        assert load(path).not_valid_before_utc < now
        assert load(path).not_valid_after_utc > now + dt.timedelta(days=365)


def test_two_planes_share_nothing(made: Pki, tmp_path: Path) -> None:
    other = pki.create(tmp_path, "10.96.0.1")

    assert other.admin_token != made.admin_token
    for path in made.folder.iterdir():
        assert (tmp_path / path.name).read_bytes() != path.read_bytes()


def test_the_service_account_keys_are_a_pair(made: Pki) -> None:
    private = serialization.load_pem_private_key(made.key("service-account").read_bytes(), None)
    public = serialization.load_pem_public_key(made.service_account_public_key.read_bytes())

    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.public_key() == public


def test_the_token_file_names_the_administrator(made: Pki) -> None:
    assert made.tokens.read_text() == (
        f'{made.admin_token},devops-bench:admin,devops-bench-admin,"system:masters"\n'
    )
