"""The SMTP password is sent over TLS to any server, and without TLS only to this machine."""

from collections.abc import Iterator
from datetime import UTC, datetime

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
