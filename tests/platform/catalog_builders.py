"""Records of the catalog for tests, made over the Platform API, each with a unique name."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

from tests.concurrency import wait_for_locks
from tests.platform.client import Machine
from tests.shopper import Answer

PATHS = {
    "taxonomy": "taxonomies",
    "property": "properties",
    "product_property": "product_properties",
    "policy": "policies",
}
KINDS_WITH_NAME = (
    "product",
    "option_type",
    "option_value",
    "property",
    "taxonomy",
    "taxon",
    "stock_location",
    "price_list",
    "policy",
    "menu",
    "menu_item",
)
KINDS_WITH_PRESENTATION = ("option_type", "option_value", "property")


def path_of(kind: str) -> str:
    return PATHS.get(kind) or (f"{kind[:-1]}ies" if kind.endswith("entry") else f"{kind}s")


async def post_record(machine: Machine, kind: str, **fields: Any) -> Answer:
    """The response to a POST of a record, with a unique name where the kind has one."""
    values = {"name": f"{kind} {uuid4().hex}"} if kind in KINDS_WITH_NAME else {}
    values |= {"presentation": f"Shown {uuid4().hex[:8]}"} if kind in KINDS_WITH_PRESENTATION else {}
    return await machine.post(f"/{path_of(kind)}", {kind: values | fields})


async def new(machine: Machine, kind: str, **fields: Any) -> Answer:
    """A new record."""
    response = await post_record(machine, kind, **fields)
    assert response.status == 201, response
    return response


async def patch_record(machine: Machine, kind: str, record_id: str, **fields: Any) -> Answer:
    """The response to a PATCH of a record, whatever its status."""
    return await machine.patch(f"/{path_of(kind)}/{record_id}", {kind: fields})


async def change_record(machine: Machine, kind: str, record_id: str, **fields: Any) -> Answer:
    """The record after a successful change."""
    answer = await patch_record(machine, kind, record_id, **fields)
    assert answer.status == 200, answer
    return answer


async def delete_record(machine: Machine, kind: str, record_id: str) -> Answer:
    return await machine.delete(f"/{path_of(kind)}/{record_id}")


async def get_record(machine: Machine, kind: str, record_id: str, **params: str) -> Answer:
    return await machine.get(f"/{path_of(kind)}/{record_id}", params)


def links(answer: Answer, relation: str) -> list[str]:
    """The ids of the records that a relation links to."""
    linkage = answer.json["data"]["relationships"][relation]["data"]
    return [item["id"] for item in linkage] if isinstance(linkage, list) else [linkage["id"]] if linkage else []


async def master_of(machine: Machine, product_id: str) -> str:
    (master_id,) = links(await get_record(machine, "product", product_id), "primary_variant")
    return master_id


async def new_stock_item(machine: Machine, count: int, **fields: Any) -> str:
    """The id of a stock item of a new product, at the first location of the shop unless `fields` has another."""
    location = {"stock_location_id": "00000000-0000-7000-8000-000000000001", **fields}
    master_id = await master_of(machine, (await new(machine, "product")).id)
    return (await new(machine, "stock_item", variant_id=master_id, count_on_hand=count, **location)).id


async def taxon_under(machine: Machine, parent_id: str, **fields: Any) -> str:
    return (await new(machine, "taxon", parent_id=parent_id, **fields)).id


async def root_of(machine: Machine, taxonomy_id: str) -> str:
    return str(
        (await machine.get("/taxons", {"filter[taxonomy_id_eq]": taxonomy_id, "sort": "lft"})).json["data"][0]["id"]
    )


async def reposition(machine: Machine, taxon_id: str, parent_id: Any, index: Any) -> Answer:
    return await move(machine, "taxon", taxon_id, parent_id, index)


async def move(machine: Machine, kind: str, record_id: str, parent_id: Any, index: Any) -> Answer:
    body = {kind: {"new_parent_id": parent_id, "new_position_idx": index}}
    return await machine.patch(f"/{path_of(kind)}/{record_id}/reposition", body)


async def run_concurrently(db: Any, lock: str, ids: list[str], *requests: Coroutine[Any, Any, Answer]) -> list[Answer]:
    """The responses to requests that go on together: locks these rows until every request waits for them."""
    async with db.transaction():
        await db.execute(lock, ids)
        tasks = [asyncio.ensure_future(request) for request in requests]
        await wait_for_locks(db, len(tasks))
    return await asyncio.gather(*tasks)
