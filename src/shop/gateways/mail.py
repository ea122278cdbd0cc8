"""Sends e-mail over SMTP; a password is sent over TLS only, except to this machine."""

from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from email.utils import formataddr, parseaddr
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from shop.base.config.settings import is_loopback
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    import aiosmtplib
else:
    aiosmtplib = LazyModule("aiosmtplib")

SECONDS = 20


class MailFile(msgspec.Struct, frozen=True):
    """An attached PDF."""

    name: str
    content: bytes


class Mail(msgspec.Struct, frozen=True):
    """A rendered e-mail. Its Message-ID derives from `mark`, so that a repeated delivery counts as a duplicate."""

    mark: str
    written_at: datetime
    recipient: str
    subject: str
    text: str
    html: str
    files: Sequence[MailFile] = ()


class PermanentMailError(Exception):
    """The mail server rejected the e-mail permanently; do not retry."""


class TemporaryMailError(Exception):
    """The mail server is unavailable or busy; retry later."""


class Smtp:
    """A client of the mail server at a URL."""

    def __init__(self, url: str, sender: str) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or "localhost"
        self._port = parts.port
        self._use_tls = parts.scheme == "smtps"
        self._username = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else None
        self._sender = sender

    async def send(self, mail: Mail) -> None:
        await self._call(build_message(mail, self._sender))

    async def check(self) -> None:
        """Connects and logs in, without sending an e-mail."""
        await self._call(None)

    async def _call(self, email: EmailMessage | None) -> None:
        client = aiosmtplib.SMTP(
            hostname=self._host, port=self._port, use_tls=self._use_tls, start_tls=None, timeout=SECONDS
        )
        try:
            await client.connect()
            if self._username:
                self._check_private(client)
                await client.login(self._username, self._password or "")
            await (client.send_message(email) if email else client.noop())
        except aiosmtplib.SMTPDataError as error:
            # 5xx is permanent, 4xx temporary. The response may quote the e-mail, so only its code is reported.
            kind = PermanentMailError if error.code >= 500 else TemporaryMailError
            raise kind(f"the mail server rejected the e-mail with {error.code}") from error
        except aiosmtplib.SMTPResponseException as error:
            # An error at the greeting, login or sender comes from our configuration, not this e-mail, and can be fixed.
            raise TemporaryMailError(
                f"the mail server rejected the connection, login or sender ({error.code})"
            ) from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            codes = [refusal.code for refusal in error.recipients]
            kind = PermanentMailError if all(code >= 500 for code in codes) else TemporaryMailError
            raise kind(f"the mail server rejected the recipient with {codes[0]}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise TemporaryMailError(f"the mail server cannot be reached ({type(error).__name__})") from error
        finally:
            client.close()

    def _check_private(self, client: "aiosmtplib.SMTP") -> None:
        if not client.get_transport_info("sslcontext") and not is_loopback(self._host):
            raise TemporaryMailError("the mail server offers no TLS, and a password is not sent without")


def build_message(mail: Mail, sender: str) -> EmailMessage:
    name, address = parseaddr(sender)
    email = EmailMessage()
    email["From"] = formataddr((name, address))
    email["To"] = mail.recipient
    # EmailMessage decodes what looks like an encoded word, and a line break in it would begin another header.
    email["Subject"] = mail.subject.replace("=?", "= ?")
    email["Date"] = mail.written_at
    email["Message-ID"] = f"<{mail.mark}@{address.rpartition('@')[2] or 'localhost'}>"
    # Suppresses automatic replies (RFC 3834).
    email["Auto-Submitted"] = "auto-generated"
    email.set_content(mail.text)
    email.add_alternative(mail.html, subtype="html")
    for file in mail.files:
        email.add_attachment(file.content, maintype="application", subtype="pdf", filename=file.name)
    return email
