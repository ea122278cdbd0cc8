"""TLS of requests to URLs from callers: the certificate must be valid for the name, not for the address."""

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shop.gateways.safe_http import HttpResult, HttpTimeouts, SafeHttpClient
from tests.gateways.raw_server import Exchange, Handler, RawServer, answer, hang, raw_server, response

NAME = "hooks.example"


class ServerTls:
    """A self-signed certificate for a name, a server that uses it, and a client that trusts it."""

    def __init__(self, folder: Path) -> None:
        self.names: list[str | None] = []
        self._file = folder / "server.pem"
        self._file.write_bytes(new_certificate())
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.load_cert_chain(self._file)
        self.server.sni_callback = lambda _socket, name, _context: self.names.append(name)

    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self._file))


def new_certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    private_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private_key + certificate.public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ServerTls:
    return ServerTls(tmp_path_factory.mktemp("tls"))


async def look_up(_host: str) -> Sequence[str]:
    return ["127.0.0.1"]


@asynccontextmanager
async def new_client(tls: ssl.SSLContext | None, connect: float = 20) -> AsyncIterator[SafeHttpClient]:
    timeouts = HttpTimeouts(connect=connect, total=20)
    client = SafeHttpClient(lambda _url: None, lambda _address: None, lookup=look_up, tls=tls, timeouts=timeouts)
    try:
        yield client
    finally:
        await client.close()


async def post(
    host: str, server_tls: ssl.SSLContext | None, client_tls: ssl.SSLContext | None, handler: Handler
) -> tuple[HttpResult, RawServer]:
    async with raw_server(handler, server_tls) as server, new_client(client_tls) as client:
        result = await client.send("POST", server.url(host, "https"), body=b"{}")
    return result, server


OK = answer(response())


@pytest.mark.security("A-04")
async def test_the_name_is_sent_and_verified(tls: ServerTls) -> None:
    tls.names.clear()
    result, server = await post(NAME, tls.server, tls.client(), OK)

    assert (result.status, result.error, tls.names) == (200, None, [NAME])
    assert f"\r\nHost: {NAME}:{server.port}\r\n".encode() in server.requests[0]


@pytest.mark.security("A-04")
async def test_a_certificate_for_another_name_is_refused(tls: ServerTls) -> None:
    result, server = await post("other.example", tls.server, tls.client(), OK)

    assert "is not valid for 'other.example'" in (result.error or "")
    assert (result.status, server.requests) == (None, [])


@pytest.mark.security("A-04")
async def test_a_certificate_for_another_name_than_an_address_is_refused(tls: ServerTls) -> None:
    result, server = await post("127.0.0.1", tls.server, tls.client(), OK)

    assert (result.error or "").startswith("The TLS certificate is invalid: IP address mismatch")
    assert server.requests == []


@pytest.mark.security("A-04")
async def test_an_untrusted_certificate_is_refused(tls: ServerTls) -> None:
    result, server = await post(NAME, tls.server, None, OK)

    assert result.error == "The TLS certificate is invalid: self-signed certificate."
    assert (result.status, server.requests) == (None, [])


async def test_a_server_without_tls_is_an_error(tls: ServerTls) -> None:
    async def greet(exchange: Exchange) -> None:
        await exchange.write(b"220 mail.example ESMTP\r\n")
        await exchange.wait_for_close()

    result, _ = await post(NAME, None, tls.client(), greet)

    assert (result.status, result.error) == (None, "The TLS handshake failed.")


async def test_a_server_that_never_finishes_the_handshake_is_left_after_the_connect_limit(tls: ServerTls) -> None:
    async with raw_server(hang) as server, new_client(tls.client(), connect=0.2) as client:
        result = await client.send("POST", server.url(NAME, "https"), body=b"{}")
        await server.wait_for_connections(0)

    assert (result.status, result.error) == (None, "No connection within 0.2 s.")


async def test_tls_connections_are_reused(tls: ServerTls) -> None:
    async with raw_server(OK, tls.server) as server, new_client(tls.client()) as client:
        for _ in range(5):
            assert (await client.send("POST", server.url(NAME, "https"), body=b"{}")).status == 200

    assert server.connections == 1
