"""At most one tax category is the default."""

import asyncio
from typing import Any
from uuid import uuid4

from tests.platform.client import Machine


def new_category(**fields: Any) -> dict[str, Any]:
    return {"tax_category": {"name": uuid4().hex, **fields}}


async def test_a_new_default_tax_category_replaces_the_former_one(writer: Machine, db: Any) -> None:
    first = await writer.post("/tax_categories", new_category(is_default=True))
    second = await writer.post("/tax_categories", new_category())

    changed = await writer.patch(f"/tax_categories/{second.id}", {"tax_category": {"is_default": True}})

    assert (first["is_default"], second["is_default"], changed["is_default"]) == (True, False, True)
    assert (await writer.get(f"/tax_categories/{first.id}"))["is_default"] is False
    assert await db.fetchval("select count(*) from tax_categories where is_default") == 1


async def test_of_default_tax_categories_created_at_once_one_remains(writer: Machine, db: Any) -> None:
    answers = await asyncio.gather(
        *(writer.post("/tax_categories", new_category(is_default=True)) for _ in range(8)),
    )

    assert {answer.status for answer in answers} <= {201, 422}
    assert await db.fetchval("select count(*) from tax_categories where is_default") == 1
