"""The first operator joins by a link, which only a terminal shows, or by a command."""

import os
import pty
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.admin.dashboard import PASSWORD, SAME_ORIGIN
from tests.cli.command import Command
from tests.forkserver import ForkedCommand
from tests.secret_leaks import record_secret
from tests.service import KEYS, Service, clean_environ

OwnDataDir = Callable[[], tuple[Path, str]]
LINK = re.compile(r"First operator\s+(http://127\.0\.0\.1:\d+/admin/join/shpol_[0-9A-Za-z]{49})")
COMMAND = re.compile(r"First operator\s+shop (admin create EMAIL)\n")


PASSWORD_FIELDS = {"password": PASSWORD, "again": PASSWORD}


def settings(data_dir: Path) -> dict[str, str]:
    return {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}


def read_terminal(terminal: int, end: str | None = None) -> str:
    """Reads a terminal until `end` appears, or until its last writer has closed it."""
    text = ""
    # Reading a pseudo-terminal without a writer is an error.
    with suppress(OSError):
        while end is None or end not in text:
            text += os.read(terminal, 1 << 16).decode()
    return text


@pytest.mark.security("D-12", "D-01")
def test_a_terminal_shows_a_link_that_ends_with_the_first_operator(shop: Command, own_data_dir: OwnDataDir) -> None:
    data_dir, _ = own_data_dir()
    controller, terminal_fd = pty.openpty()
    terminal = Path(os.ttyname(terminal_fd))
    server = ForkedCommand(["serve", "--port", "0"], clean_environ(**settings(data_dir)), output=terminal, log=terminal)
    try:
        match = LINK.search(read_terminal(controller, "worker ready"))
        os.close(terminal_fd)
        assert match
        link = record_secret(match[1])
        page = httpx2.get(link)
        by_command = shop("admin", "create", "ada@example.com", **settings(data_dir))
        # An operator exists now, so the first operator's link has ended.
        refusal = httpx2.post(link, data={"email": "eve@example.com", **PASSWORD_FIELDS}, headers=SAME_ORIGIN)
        response = httpx2.post(record_secret(by_command.stdout.strip()), data=PASSWORD_FIELDS, headers=SAME_ORIGIN)
    finally:
        server.send_signal(signal.SIGTERM)
        rest = read_terminal(controller)
        server.wait(30)
        os.close(controller)

    assert by_command.stdout.partition("/admin/")[0] == link.partition("/admin/")[0]
    assert "Create the first operator" in page.text
    assert refusal.status_code == 410
    assert (response.status_code, response.headers["location"]) == (303, "/admin")
    assert "shpol_" not in rest


@pytest.mark.security("D-12")
def test_redirected_output_has_a_command_instead_of_the_link(shop: Command, own_data_dir: OwnDataDir) -> None:
    data_dir, _ = own_data_dir()
    service = Service(**settings(data_dir))
    try:
        banner = "".join(service.lines)
        command = COMMAND.search(banner)
        assert command
        result = shop(*command[1].replace("EMAIL", "ada@example.com").split(), **settings(data_dir))
        page = httpx2.get(record_secret(result.stdout.strip()))
    finally:
        service.stop()

    assert "shpol_" not in banner
    assert result.stdout.startswith(f"{service.url}/admin/join/")
    assert "Choose a password" in page.text
    assert page.status_code == 200
