"""The receivers in the documentation accept our webhooks and refuse others."""

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.platform.client import Machine
from tests.webhooks.receiver import SECONDS, new_endpoint

PAGE = Path(__file__).parent.parent.parent / "docs" / "events.md"
COMMANDS = {"python": [sys.executable, "-c"], "javascript": ["node", "-e"]}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@asynccontextmanager
async def run_receiver(language: str, secret: str, port: int) -> AsyncIterator[None]:
    code = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code
    environ = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        *COMMANDS[language], code[1], env=environ, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(SECONDS):
            while not await is_listening(port):
                assert process.returncode is None
        yield
    finally:
        process.kill()
        await process.wait()


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


@pytest.mark.parametrize("language", ["python", pytest.param("javascript", marks=pytest.mark.torture)])
async def test_a_documented_receiver_accepts_our_webhooks_and_refuses_others(writer: Machine, language: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    endpoint = await new_endpoint(writer, url)
    async with run_receiver(language, endpoint.secret, port):
        data = await endpoint.post("test")
        headers = {"webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        async with httpx2.AsyncClient() as http:
            forged = await http.post(url, content=b"{}", headers=headers)

    await writer.delete(f"/webhook_endpoints/{endpoint.id}")
    assert data["attributes"]["state"] == "succeeded"
    assert forged.status_code == 401
