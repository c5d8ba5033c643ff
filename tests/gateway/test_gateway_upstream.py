"""The way to the endpoint: its certificate is checked, and the user's proxy is used."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hemra.gateway.upstream import Unreachable, proxy_for
from tests.gateway.conftest import KEY, Heard, Rig, reply, saying

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of whoever runs the tests."""
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "endpoint")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    path = tmp_path / "endpoint.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return path


def _secured(certificate: Path) -> Callable[[socket.socket], socket.socket]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return lambda connection: context.wrap_socket(connection, server_side=True)


def _hello(connection: socket.socket, _: Heard) -> None:
    connection.sendall(reply(b'{"data": []}'))


def test_an_endpoint_that_cannot_prove_itself_gets_nothing(rig: Rig, certificate: Path) -> None:
    """Whoever stands in between would get the user's key."""
    with saying(_hello, secure=_secured(certificate)) as endpoint:
        trial = rig.admit(endpoint.base.replace("http:", "https:"))
        got = trial.ask("chat")
    assert got.status == 502
    assert "certificate" in got.json["error"]["message"].lower()
    assert endpoint.heard == []
    assert trial.settled()[0].ended == "unreachable"


def test_an_endpoint_that_the_user_trusts_is_asked(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Companies have authorities of their own."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    rig = Rig()
    try:
        with saying(_hello, secure=_secured(certificate)) as endpoint:
            trial = rig.admit(endpoint.base.replace("http:", "https:"))
            assert trial.send("/v1/models", method="GET").json == {"data": []}
        assert endpoint.heard[0].headers["authorization"] == f"Bearer {KEY}"
    finally:
        rig.close()


def test_the_user_s_proxy_is_used(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the way out leads through a proxy there is no other."""
    with saying(_hello) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base)
        trial = rig.admit("http://model.test:8000/v1")
        assert trial.send("/v1/models?a=b", method="GET").status == 200
        assert proxy.heard[0].line == "GET http://model.test:8000/v1/models?a=b HTTP/1.1"
        with saying(_hello) as own:
            assert rig.admit(own.base).ask("chat").status == 200
            assert len(own.heard) == 1  # what is on this machine is asked directly


def test_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy for everything, for one scheme, for none."""
    assert proxy_for("https://one.test/v1") is None
    monkeypatch.setenv("all_proxy", "http://all.test:1")
    monkeypatch.setenv("https_proxy", "http://secure.test:2")
    monkeypatch.setenv("no_proxy", "two.test,.three.test")
    assert proxy_for("https://one.test/v1") == "http://secure.test:2"
    assert proxy_for("http://one.test/v1") == "http://all.test:1"
    for direct in (
        "https://two.test",
        "https://a.three.test",
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost",
    ):
        assert proxy_for(direct) is None, direct
    monkeypatch.setenv("https_proxy", "socks5://secure.test:2")
    with pytest.raises(Unreachable, match="socks5"):
        proxy_for("https://one.test/v1")


def test_a_name_that_nobody_knows_is_told(rig: Rig) -> None:
    """A slip in the host's name must not look like a model that fails."""
    got = (trial := rig.admit("http://no-such-host.invalid/v1")).ask("messages")
    assert got.status == 502
    assert "no-such-host.invalid" in got.json["error"]["message"]
    assert trial.settled()[0].ended == "unreachable"


def test_a_connection_that_never_stands_is_given_up(rig: Rig) -> None:
    """A host that drops packets would hold the harness until its limit."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        fillers = []
        for _ in range(4):  # until its queue is full and the system lets nobody in any more
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(silent.getsockname())
            fillers.append(filler)
        trial = rig.admit(f"http://127.0.0.1:{silent.getsockname()[1]}", connect_s=0.2)
        got = trial.ask("chat")
        for filler in fillers:
            filler.close()
    assert got.status == 502
    assert trial.settled()[0].ended == "unreachable"
