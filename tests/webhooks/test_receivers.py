"""The receivers in the documentation accept our webhooks and refuse others."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from standardwebhooks import Webhook

from tests.events.examples import find_example
from tests.platform.client import Machine
from tests.webhooks.receiver import SECONDS, new_endpoint

COMMANDS = {"python": [sys.executable, "-c"], "javascript": ["node", "-e"]}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@asynccontextmanager
async def run_receiver(language: str, secret: str, port: int) -> AsyncIterator[None]:
    environ = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        *COMMANDS[language], find_example(language, "WEBHOOK_SECRET"), env=environ, stderr=asyncio.subprocess.DEVNULL
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


def sign(secret: str, body: str, age: timedelta = timedelta()) -> dict[str, str]:
    """The headers of a webhook that was sent so long ago."""
    sent_at = datetime.now(UTC) - age
    signature = Webhook(secret).sign("evt_1", sent_at, body)
    timestamp = str(int(sent_at.timestamp()))
    return {"webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": signature}


@pytest.mark.parametrize("language", ["python", pytest.param("javascript", marks=pytest.mark.torture)])
async def test_a_documented_receiver_accepts_our_webhooks_and_refuses_others(writer: Machine, language: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    endpoint = await new_endpoint(writer, url)
    valid = sign(endpoint.secret, "{}")
    requests = [
        ("{}", valid),
        ("{}", {**valid, "webhook-signature": f"v1,AAAA {valid['webhook-signature']}"}),
        ('{"total": 0}', valid),
        ("{}", {**valid, "webhook-id": "evt_2"}),
        ("{}", sign("whsec_" + "A" * 43 + "=", "{}")),
        ("{}", sign(endpoint.secret, "{}", timedelta(minutes=6))),
        ("{}", {**valid, "webhook-signature": "v1,AAAA"}),
        ("{}", {}),
    ]
    async with run_receiver(language, endpoint.secret, port), httpx2.AsyncClient() as http:
        data = await endpoint.post("test")
        statuses = [(await http.post(url, content=body, headers=headers)).status_code for body, headers in requests]

    await writer.delete(f"/webhook_endpoints/{endpoint.id}")
    assert data["attributes"]["state"] == "succeeded"
    assert statuses == [204, 204, 401, 401, 401, 401, 401, 401]
