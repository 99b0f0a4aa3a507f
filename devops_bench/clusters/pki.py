"""Certificates, keys and tokens of one control plane; none of them is ever used by another.

Two authorities: the cluster's, which also signs the API's certificate signing requests, and
etcd's own, so that no certificate that the cluster signs opens etcd.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME: Final = dt.timedelta(days=3650)
_BACKDATED: Final = dt.timedelta(minutes=5)
_SERVER_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
MASTERS: Final = "system:masters"
"""The group that RBAC never restricts."""

COMPONENT_USERS: Final = {
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    # kwok plays every kubelet and deletes pods of any namespace, which no default role allows.
    "kwok": ("devops-bench:kwok", MASTERS),
}
"""User and group in the client certificate of each component."""


@dataclass(frozen=True, slots=True)
class Pki:
    """Where the files are.

    Attributes:
        folder: The folder of all of them.
        admin_token: The administrator's bearer token.
    """

    folder: Path
    admin_token: str

    @property
    def ca(self) -> Path:
        """The cluster authority's certificate."""
        return self.cert("ca")

    def cert(self, name: str) -> Path:
        """Return the certificate file of ``name``."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Return the private key file of ``name``."""
        return self.folder / f"{name}.key"

    @property
    def service_account_public_key(self) -> Path:
        """The key that service account tokens are checked with."""
        return self.folder / "service-account.pub"

    @property
    def tokens(self) -> Path:
        """The static token file of kube-apiserver."""
        return self.folder / "tokens.csv"


def create(folder: Path, service_ip: str) -> Pki:
    """Make everything that a plane needs in ``folder``, which must be private already.

    Args:
        folder: An existing folder with mode 0700.
        service_ip: The first address of the service range: the ``kubernetes`` Service's.
    """
    pki = Pki(folder, secrets.token_urlsafe(32))
    cluster = _Authority.create("devops-bench-ca")
    cluster.write(pki, "ca")
    etcd = _Authority.create("devops-bench-etcd-ca")
    etcd.write(pki, "etcd-ca")

    cluster.issue(pki, "kube-apiserver", "kube-apiserver", server_ip=service_ip)
    etcd.issue(pki, "etcd", "etcd", server_ip="127.0.0.1")
    etcd.issue(pki, "etcd-client", "kube-apiserver")
    for component, (user, group) in COMPONENT_USERS.items():
        cluster.issue(pki, component, user, group=group, server_ip="127.0.0.1")
    account_key = _new_key()
    _write(pki.key("service-account"), _key_pem(account_key))
    _write(pki.service_account_public_key, _public_pem(account_key))
    _write(pki.tokens, f'{pki.admin_token},devops-bench:admin,devops-bench-admin,"{MASTERS}"\n')
    return pki


@dataclass(frozen=True, slots=True)
class _Authority:
    key: ec.EllipticCurvePrivateKey
    cert: x509.Certificate

    @classmethod
    def create(cls, name: str) -> _Authority:
        key = _new_key()
        subject = _name(name, "")
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = _builder(subject, subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(usage, True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False
        )
        return cls(key, builder.sign(key, hashes.SHA256()))

    def issue(
        self, pki: Pki, file_name: str, user: str, *, group: str = "", server_ip: str = ""
    ) -> None:
        key = _new_key()
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(_name(user, group), self.cert.subject, key.public_key())
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False
        )
        if server_ip:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            addresses = dict.fromkeys(("127.0.0.1", server_ip))
            names: list[x509.GeneralName] = [x509.DNSName(name) for name in _SERVER_NAMES]
            names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
        _write(pki.cert(file_name), _cert_pem(builder.sign(self.key, hashes.SHA256())))
        _write(pki.key(file_name), _key_pem(key))

    def write(self, pki: Pki, file_name: str) -> None:
        _write(pki.cert(file_name), _cert_pem(self.cert))
        _write(pki.key(file_name), _key_pem(self.key))


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(user: str, group: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Backdated, because a clock that is set back a little must not break a running plane.
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFETIME)
    )


def _cert_pem(cert: x509.Certificate) -> str:
    return cert.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
