"""`shop stress` against a served shop: every promise holds."""

from typing import Any

from tests.cli.command import Command
from tests.platform.machine import new_app
from tests.service import Service


async def test_every_promise_holds(shop: Command, service: Service, db: Any) -> None:
    app = await new_app(db)
    credentials = ("--client-id", app.client_id, "--client-secret", app.secret)

    held = shop("stress", "--url", service.url, *credentials)
    elsewhere = shop("stress", "--url", "http://shop.example:80", *credentials)

    assert (held.returncode, held.stdout.count("held"), "BROKEN" in held.stdout) == (0, 7, False), held
    assert (elsewhere.returncode, "on this machine" in elsewhere.stderr) == (1, True)
