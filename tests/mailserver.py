"""A real mail server for tests: plain, STARTTLS or TLS, with or without a login. It can stop, hang and refuse mail."""

import asyncio
import datetime
import ipaddress
import socket
import ssl
import threading
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class MailHandler:
    """Stores the mails that the server receives; a test can wait for them."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        """The recipients of each mail, as the client named them outside of the mail."""
        self.peers: list[bool] = []
        self.answer = "250 OK"
        self.hold: threading.Event | None = None
        self.transports: list[Any] = []
        self._changed = threading.Condition()

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.answer.startswith("250"):
            with self._changed:
                self.mails.append(message_from_bytes(envelope.content, policy=default))
                self.recipients.append(list(envelope.rcpt_tos))
                self.peers.append(server.transport.get_extra_info("sslcontext") is not None)
                self._changed.notify_all()
        if self.hold:
            await asyncio.get_running_loop().run_in_executor(None, self.hold.wait, 30)
        return self.answer

    def to(self, address: str) -> list[EmailMessage]:
        """The mails to this address, in any spelling."""
        return [mail for mail in self.mails if mail["To"].lower() == address.lower()]

    def wait(self, address: str, count: int = 1, seconds: float = 15) -> list[EmailMessage]:
        """Waits for so many mails to this address, and returns them."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.to(address)) >= count, seconds), (
                f"only {len(self.to(address))} mails arrived for {address}, and {len(self.mails)} in total"
            )
            return self.to(address)


class _Session(SMTP):
    """A connection that `MailServer.stop` can end."""

    def connection_made(self, transport: Any) -> None:
        self.event_handler.transports.append(transport)
        super().connection_made(transport)


class _Controller(Controller):
    def factory(self) -> SMTP:
        return _Session(self.handler, **self.SMTP_kwargs)


class MailServer:
    """Listens on a loopback port from `start` to `stop`; started again, it uses the same port."""

    def __init__(
        self, *, tls: str = "none", directory: Path | None = None, login: tuple[str, str] | None = None
    ) -> None:
        self.received = MailHandler()
        self._login = login
        self._tls = tls
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if directory else None
        self.port = 0
        self.logins = 0
        self._controller: Controller | None = None
        if directory:
            self.use_new_certificate(directory)

    def start(self) -> "MailServer":
        options: dict[str, Any] = {"hostname": "127.0.0.1", "port": self.port or free_port()}
        if self._tls == "tls":
            options["ssl_context"] = self._context
        if self._tls == "starttls":
            options |= {"tls_context": self._context, "require_starttls": True}
        if self._login:
            options |= {
                "authenticator": self._check,
                "auth_required": True,
                "auth_require_tls": self._tls == "starttls",
            }
        self._controller = _Controller(self.received, **options)
        self._controller.start()
        self.port = self._controller.port
        return self

    def stop(self) -> None:
        if self._controller:
            asyncio.run_coroutine_threadsafe(self._close_connections(), self._controller.loop).result(5)
            self._controller.stop()
            self._controller = None

    async def _close_connections(self) -> None:
        for transport in self.received.transports:
            transport.abort()
        self.received.transports.clear()
        await asyncio.sleep(0)  # Lets the loop close the connections before it stops.

    def use_new_certificate(self, directory: Path) -> None:
        """Uses a new certificate from now on, and writes it to this directory."""
        assert self._context
        make_certificate(directory)
        self._context.load_cert_chain(directory / "certificate.pem", directory / "key.pem")

    def _check(self, _server: SMTP, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        self.logins += 1
        credentials = (data.login.decode(), data.password.decode()) if isinstance(data, LoginPassword) else None
        return AuthResult(success=credentials == self._login)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_certificate(directory: Path, *, address: str = "127.0.0.1", seconds: float = 3600) -> None:
    """Writes a self-signed certificate that ends in so many seconds; a client must trust `certificate.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    now = datetime.datetime.now(datetime.UTC)
    alternative_name = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(seconds=seconds))
        .add_extension(alternative_name, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "key.pem").write_bytes(private)
