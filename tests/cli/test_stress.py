"""`shop stress` against a running shop: every guarantee holds."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command
from tests.platform.client import new_app
from tests.service import Service


@pytest.mark.torture
async def test_every_guarantee_holds(shop: Command, service: Service, db: Any, tmp_path: Path) -> None:
    app = await new_app(db)
    credentials = ("--client-id", app.client_id, "--client-secret", app.secret)

    result = shop("stress", "--url", service.url, *credentials, SHOP_DATA_DIR=service.environ["SHOP_DATA_DIR"])
    without_data_dir = shop("stress", "--url", service.url, *credentials, SHOP_DATA_DIR=str(tmp_path))
    remote = shop("stress", "--url", "http://shop.example:80", *credentials)

    assert (result.returncode, result.stdout.count("held"), "BROKEN" in result.stdout) == (0, 14, False), result
    assert (without_data_dir.returncode, "SHOP_DATA_DIR must be that of the shop" in without_data_dir.stdout) == (
        0,
        True,
    )
    assert (remote.returncode, "on this machine" in remote.stderr) == (1, True)
