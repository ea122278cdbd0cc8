"""`shop doctor` checks the mail server."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command, external
from tests.mailserver import MailServer


@pytest.mark.torture
def test_the_doctor_reports_whether_the_mail_server_is_reachable(
    shop: Command, own_database: Any, tmp_path: Path
) -> None:
    environ = external(own_database(), SHOP_DATA_DIR=str(tmp_path))
    server = MailServer().start()
    reachable = shop("doctor", **environ, SHOP_SMTP_URL=f"smtp://127.0.0.1:{server.port}")
    server.stop()
    unreachable = shop("doctor", **environ, SHOP_SMTP_URL=f"smtp://127.0.0.1:{server.port}")

    assert "ok    mail: connected to the mail server" in reachable.stdout
    assert (unreachable.returncode, "the mail server cannot be reached" in unreachable.stdout) == (1, True)
    assert "SHOP_SMTP_URL" in unreachable.stdout
