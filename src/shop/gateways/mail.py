"""How a mail leaves the house: over SMTP, plain to this machine only, otherwise with TLS where there is a password."""

from datetime import datetime
from email.message import EmailMessage
from email.utils import formataddr, parseaddr
from urllib.parse import unquote, urlsplit

import aiosmtplib
import msgspec

from shop.base.settings import is_loopback

SECONDS = 20


class Mail(msgspec.Struct, frozen=True):
    """A finished mail. `mark` makes its Message-ID: a repetition is the same mail, not another."""

    mark: str
    written_at: datetime
    recipient: str
    subject: str
    text: str
    html: str


class MailRefused(Exception):
    """The mail server will never take this one; trying again is no use."""


class MailDelayed(Exception):
    """The mail server is away or busy; later it may take it."""


class Smtp:
    """A mail server by its URL."""

    def __init__(self, url: str, sender: str) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or "localhost"
        self._port = parts.port
        self._use_tls = parts.scheme == "smtps"
        self._username = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else None
        self._sender = sender

    async def send(self, mail: Mail) -> None:
        await self._call(message(mail, self._sender))

    async def check(self) -> None:
        """Goes as far as a mail would, and sends none."""
        await self._call(None)

    async def _call(self, sent: EmailMessage | None) -> None:
        client = aiosmtplib.SMTP(
            hostname=self._host, port=self._port, use_tls=self._use_tls, start_tls=None, timeout=SECONDS
        )
        try:
            await client.connect()
            if self._username:
                self._check_private(client)
                await client.login(self._username, self._password or "")
            await (client.send_message(sent) if sent else client.noop())
        except aiosmtplib.SMTPDataError as error:
            # 5xx is for good, 4xx for now; what the server said may repeat what we sent, so only its number is kept.
            kind = MailRefused if error.code >= 500 else MailDelayed
            raise kind(f"the mail server answered {error.code}") from error
        except aiosmtplib.SMTPResponseException as error:
            # To the greeting, the login or the sender: that is about us and not about this mail, and can be mended.
            raise MailDelayed(f"the mail server does not take mails from us ({error.code})") from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            codes = [refusal.code for refusal in error.recipients]
            kind = MailRefused if all(code >= 500 for code in codes) else MailDelayed
            raise kind(f"the mail server refused the recipient with {codes[0]}") from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise MailDelayed(f"the mail server cannot be reached ({type(error).__name__})") from error
        finally:
            client.close()

    def _check_private(self, client: aiosmtplib.SMTP) -> None:
        if not client.get_transport_info("sslcontext") and not is_loopback(self._host):
            raise MailDelayed("the mail server offers no TLS, and a password is not sent without")


def message(mail: Mail, sender: str) -> EmailMessage:
    name, address = parseaddr(sender)
    built = EmailMessage()
    built["From"] = formataddr((name, address))
    built["To"] = mail.recipient
    built["Subject"] = mail.subject
    built["Date"] = mail.written_at
    built["Message-ID"] = f"<{mail.mark}@{address.rpartition('@')[2] or 'localhost'}>"
    # So that nobody's holiday notice answers us (RFC 3834).
    built["Auto-Submitted"] = "auto-generated"
    built.set_content(mail.text)
    built.add_alternative(mail.html, subtype="html")
    return built
