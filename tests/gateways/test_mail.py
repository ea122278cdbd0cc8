"""To whom the mail server's password is told: over TLS to anyone, without it only to this machine."""

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
# The test's own server speaks of itself there: it lets anybody sign in without TLS.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


@pytest.fixture
def open_server() -> Iterator[MailServer]:
    """A mail server without TLS that wants a login."""
    server = MailServer(login=("shop", "secret")).start()
    yield server
    server.stop()


async def test_a_password_is_not_sent_without_tls(open_server: MailServer) -> None:
    # This machine by a spelling that does not say so: to the shop it is any other one.
    away = Smtp(f"smtp://shop:secret@127.1:{open_server.port}", "shop@example.org")

    with pytest.raises(TemporaryMailError, match="offers no TLS"):
        await away.send(MAIL)

    assert (open_server.logins, open_server.received.mails) == (0, [])


async def test_a_password_is_sent_to_this_machine_without_tls(open_server: MailServer) -> None:
    await Smtp(f"smtp://shop:secret@127.0.0.1:{open_server.port}", "shop@example.org").send(MAIL)

    assert (open_server.logins, len(open_server.received.mails)) == (1, 1)
