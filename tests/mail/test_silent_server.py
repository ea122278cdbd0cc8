"""A mail server that accepts connections and never responds delays mails and nothing else."""

import socket
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg

from tests.cluster import Cluster
from tests.db.processes import until
from tests.mail.test_delivery import MailingShop, new_address, on_database

DUE = """insert into products (id, name, slug, status, make_active_at, created_at, updated_at)
    values ($1::uuid, 'Soon', 'soon-' || $1::uuid, 'draft', now(), now(), now())"""


async def test_a_silent_mail_server_delays_only_email(cluster: Cluster, worker_name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, cluster.database(f"silent_{worker_name}") as url:
        shop = MailingShop(f"smtp://127.0.0.1:{listener.getsockname()[1]}", **on_database(url, tmp_path))
        db = await asyncpg.connect(url)
        try:
            for _ in range(6):
                assert shop.ask_for_code(new_address()).status_code == 200

            async def are_under_way() -> bool:
                query = "select count(*) from outbox_mails where attempts > 0 and sent_at is null"
                return bool(await db.fetchval(query) >= 4)

            await until(are_under_way)
            product_id = uuid4()
            await db.execute(DUE, product_id)

            async def is_shown() -> Any:
                return await db.fetchval("select status = 'active' from products where id = $1", product_id)

            # The worker polls each second; an attempt to send a mail takes up to twenty.
            await until(is_shown)
        finally:
            await db.close()
            shop.stop()
