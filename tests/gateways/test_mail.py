"""The SMTP password is sent over TLS to any server, and without TLS only to this machine. No text adds a header."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pytest

from shop.gateways.mail import Mail, Smtp, TemporaryMailError
from tests.mailserver import MailServer

MAIL = Mail(
    mark="one",
    written_at=datetime.now(UTC),
    recipient="ada@example.com",
    subject="Hello",
    text="Hello",
    html="<p>Hello</p>",
)
# aiosmtpd warns about the test server, which allows a login without TLS.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


@pytest.fixture
def plain_server() -> Iterator[MailServer]:
    """A mail server without TLS that requires a login."""
    server = MailServer(login=("shop", "secret")).start()
    yield server
    server.stop()


async def test_a_password_is_not_sent_without_tls(plain_server: MailServer) -> None:
    # 127.1 is this machine, but the shop does not recognize it as a loopback address.
    smtp = Smtp(f"smtp://shop:secret@127.1:{plain_server.port}", "shop@example.org")

    with pytest.raises(TemporaryMailError, match="offers no TLS"):
        await smtp.send(MAIL)

    assert (plain_server.logins, plain_server.received.mails) == (0, [])


async def test_a_password_is_sent_to_loopback_without_tls(plain_server: MailServer) -> None:
    await Smtp(f"smtp://shop:secret@127.0.0.1:{plain_server.port}", "shop@example.org").send(MAIL)

    assert (plain_server.logins, len(plain_server.received.mails)) == (1, 1)


@pytest.fixture
def server() -> Iterator[MailServer]:
    server = MailServer().start()
    yield server
    server.stop()


HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]


@pytest.mark.parametrize(
    ("subject", "received"),
    [
        ("=?utf-8?q?Hi=0D=0ABcc:_eve@example.com?= there", "= ?utf-8?q?Hi=0D=0ABcc:_eve@example.com?= there"),
        ("A =?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLmNvbQ==?=", "A = ?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLmNvbQ== ?="),
        ("Größe, “Käse” <eve@example.com> " + "ü" * 200, "Größe, “Käse” <eve@example.com> " + "ü" * 200),
    ],
)
@pytest.mark.security("M-11")
async def test_an_encoded_word_in_a_subject_adds_no_header(server: MailServer, subject: str, received: str) -> None:
    smtp = Smtp(f"smtp://127.0.0.1:{server.port}", "shop@example.org")

    await smtp.send(msgspec.structs.replace(MAIL, subject=subject))

    (mail,) = server.received.mails
    assert [mail.keys(), mail["Subject"]] == [HEADERS, received]
    assert server.received.recipients == [["ada@example.com"]]
