"""No webhook is lost if the service is killed; and keys can be rotated."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from shop.actions import records
from shop.actions.access.server_keys import reseal_all
from shop.actions.webhooks.endpoints import WEBHOOK_ENDPOINT
from shop.actions.webhooks.secrets import list_secrets
from shop.base.config.settings import read_settings
from tests.builders import Make
from tests.platform.client import Machine, new_machine, operator_context
from tests.secret_leaks import record_secret
from tests.service import KEYS, Service
from tests.webhooks.receiver import Receiver, new_category, new_endpoint, rename_category

CATEGORIES = 12
NEWER_KEY = "t2:" + "6b" * 32


def serve(data_dir: Path) -> Service:
    return Service(SHOP_DATA_DIR=str(data_dir), SHOP_SECRET_KEYS=KEYS, SHOP_DRAIN_SECONDS="0", TMPDIR=str(data_dir))


def kill(service: Service) -> None:
    for pid in (service.process.pid, *service.worker_pids()):
        os.kill(pid, signal.SIGKILL)
    service.wait()


async def change_categories(machine: Machine) -> list[str]:
    make = Make(machine)
    categories = [await new_category(make) for _ in range(CATEGORIES)]
    for category in categories:
        await rename_category(make, category)
    return categories


def types_about(receiver: Receiver, category: str) -> list[str]:
    """The types of the events about a record in the order in which they first arrived."""
    types = [each.json["type"] for each in receiver.deliveries if each.json["data"]["id"] == category]
    return list(dict.fromkeys(types))


@pytest.mark.security("X-04")
@pytest.mark.torture
async def test_every_event_arrives_in_order_although_the_service_is_killed(
    receiver: Receiver, own_data_dir: Callable[[], tuple[Path, str]]
) -> None:
    data_dir, url = own_data_dir()
    is_killed = asyncio.Event()

    async def wait_for_kill(_request: web.Request) -> web.StreamResponse:
        await is_killed.wait()
        return web.Response()

    receiver.responses = [web.Response(), web.Response(), *[wait_for_kill] * 4]
    service, db = serve(data_dir), await asyncpg.connect(url)
    try:
        async with service.client() as http:
            machine = await new_machine(http, db)
            await new_endpoint(machine, receiver.url)
            categories = await change_categories(machine)
        await receiver.wait_for(5)
        await asyncio.to_thread(kill, service)
        is_killed.set()
        receiver.responses.clear()
        await db.execute("update webhook_endpoints set leased_until = now()")
        service = await asyncio.to_thread(serve, data_dir)
        query = "select count(*) from webhook_deliveries where state = 'succeeded'"
        async with asyncio.timeout(60):
            while await db.fetchval(query) < 2 * CATEGORIES:
                await db.execute("select pg_sleep(0.1)")
    finally:
        await db.close()
        await asyncio.to_thread(service.stop)

    expected = ["tax_category.created", "tax_category.updated"]
    assert {tuple(types_about(receiver, category)) for category in categories} == {tuple(expected)}
    # Those that were open when the service was killed came again, with the same id.
    assert len(receiver.deliveries) > len({each.id for each in receiver.deliveries}) == 2 * CATEGORIES


@pytest.mark.security("A-06")
@pytest.mark.security("A-06")
async def test_the_secret_of_an_endpoint_is_encrypted_again_with_a_new_key(own_database: Callable[..., str]) -> None:
    async with operator_context(own_database()) as ctx:
        values: dict[str, Any] = {"url": "https://example.com/hook", "types": ["*"]}
        endpoint_id = await records.create(ctx, WEBHOOK_ENDPOINT, values)
        secrets = await list_secrets(ctx.shared, ctx.with_new_session().db, endpoint_id)
        record_secret(secrets[0])
        both = read_settings({"SHOP_SECRET_KEYS": f"{NEWER_KEY},{KEYS}"}).secret_keys
        newer = read_settings({"SHOP_SECRET_KEYS": NEWER_KEY}).secret_keys
        assert both
        assert newer

        assert await reseal_all(ctx.with_new_session(), both) == 1

        ctx.shared.keys = newer
        assert await list_secrets(ctx.shared, ctx.with_new_session().db, endpoint_id) == secrets
