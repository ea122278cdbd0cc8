"""A shop with records of every kind, its answers, and its file."""

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from shop.models.shop_files.tables import EXPORT_TABLES
from shop.platform.resources.registry import COLLECTIONS
from tests.cli.command import Command, external
from tests.cluster import Cluster
from tests.db.processes import until
from tests.platform.builders import ALL, make, sample
from tests.platform.client import Machine, ask_for_token, new_app
from tests.service import KEYS, Service
from tests.shop_files.answers import read_answers
from tests.shop_files.rows import ANSWERED_ROWS, OTHER_ROWS, insert_rows

SLOW_TYPES = {"webhook_delivery", "event"}
"""The resources whose builders wait until a host is not found."""
HAVE_ROWS = " and ".join(
    f"exists (select from {kind}_days)" for kind in ("sales", "product", "adjustment", "payment", "refund", "cart")
)


class ExportedShop(msgspec.Struct, frozen=True):
    """A shop that was exported: its answers, the number of its rows by table, and its file."""

    settings: dict[str, str]
    url: str
    token: Mapping[str, Any]
    answers: dict[str, Any]
    row_counts: dict[str, int]
    file: Path


@pytest.fixture(scope="module")
async def exported_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ExportedShop]:
    """A shop on an embedded database that has rows in every table."""
    with cluster.data_dir(f"exported_{worker_name}") as (data_dir, url):
        settings = {"SHOP_DATA_DIR": str(data_dir), "SHOP_SECRET_KEYS": KEYS, "SHOP_DRAIN_SECONDS": "0"}
        # An e-mail beyond its budget would be sent later, perhaps by the imported shop only.
        budgets = {"SHOP_LIMIT_MAILS_PER_ADDRESS": "1000/3600", "SHOP_LIMIT_MAILS_PER_SOURCE": "1000/3600"}
        db = await asyncpg.connect(url)
        await db.execute("update shops set name = 'Moved', currencies = '{USD,EUR,GBP,JPY}'")
        service = Service(**settings, **budgets)
        try:
            async with service.client() as http:
                token = (await ask_for_token(http, await new_app(db), "admin write")).json
                machine = Machine(http, token)
                for collection in ALL:
                    if collection.resource.type not in SLOW_TYPES:
                        await sample(machine, db, collection, 2)
                await new_variant_with_option(machine)
                await insert_rows(db, ANSWERED_ROWS)
                unsent = "select count(*) from outbox_mails where sent_at is null and dead_at is null"
                await until(lambda: db.fetchval(f"select ({unsent}) = 0"))
                # The days of the reports are calculated in the background.
                await until(lambda: db.fetchval(f"select {HAVE_ROWS}"))
                answers = await read_answers(machine)
        finally:
            service.stop()
        await insert_rows(db, OTHER_ROWS)
        file = tmp_path_factory.mktemp("exported") / "shop.zip"
        result = Command()("export", "--all", str(file), "--with-secrets", **settings)
        assert result.returncode == 0, result
        counts = {table.name: await db.fetchval(f"select count(*) from {table.name}") for table in EXPORT_TABLES}
        yield ExportedShop(settings, url, token, answers, counts, file)
        await db.close()


async def new_variant_with_option(machine: Machine) -> None:
    types = [COLLECTIONS[name] for name in ("product", "option_type", "option_value")]
    product_id, type_id, _ = [await make(machine, each) for each in types]
    body = {"option_type_id": type_id, "name": "red", "presentation": "Red"}
    value_id = (await machine.post("/option_values", {"option_value": body})).id
    assert (await machine.patch(f"/products/{product_id}", {"product": {"option_type_ids": [type_id]}})).status == 200
    variant = {"product_id": product_id, "option_value_ids": [value_id]}
    assert (await machine.post("/variants", {"variant": variant})).status == 201


@pytest.fixture
def empty_shop(cluster: Cluster, worker_name: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of a new shop on an external database."""
    with cluster.database(f"imported_{worker_name}") as url:
        yield {**external(url), "SHOP_DATA_DIR": str(tmp_path / "data")}
