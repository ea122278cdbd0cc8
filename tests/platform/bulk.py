"""Imports and exports for tests: lines sent, what came of them, and a catalogue with every oddity."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from tests.platform.client import Machine
from tests.shopper import Answer

LINES = "application/x-ndjson"
COUNTS = ("lines", "created", "updated", "unchanged", "failed")


def in_lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


async def send(machine: Machine, noun: str, body: bytes, **params: Any) -> Answer:
    return await machine.ask("POST", f"/imports/{noun}", content=body, params=params, headers={"Content-Type": LINES})


async def bring(machine: Machine, noun: str, *values: Any, **params: Any) -> dict[str, Any]:
    """What came of an import of these lines."""
    answer = await send(machine, noun, in_lines(values), **params)
    assert answer.status == 200, answer
    report: dict[str, Any] = answer.json
    return report


async def give(machine: Machine, noun: str) -> bytes:
    """A whole export."""
    answer = await machine.get(f"/exports/{noun}")
    assert (answer.status, answer.headers["content-type"]) == (200, LINES), answer
    return bytes(answer.response.content)


async def given(machine: Machine, slug: str) -> dict[str, Any] | None:
    """One product as the export has it."""
    records = [line for line in map(json.loads, (await give(machine, "products")).splitlines()) if line["slug"] == slug]
    return records[0] if records else None


def counts(report: dict[str, Any]) -> dict[str, int]:
    """Those that are not zero."""
    return {name: report[name] for name in COUNTS if report[name]}


def new_slug() -> str:
    return f"slug-{uuid4().hex}"


async def new_location(machine: Machine, **more: Any) -> str:
    name = f"Place {uuid4().hex}"
    assert (await machine.post("/stock_locations", {"stock_location": {"name": name, **more}})).status == 201
    return name


async def new_variants(machine: Machine, count: int, **fields: Any) -> list[str]:
    """Ids of variants that can be bought, each of a product of its own, made by one import."""
    place, mark = await new_location(machine), uuid4().hex
    goods = [
        {
            "slug": new_slug(),
            "name": "Mug",
            "status": "active",
            "master": {"sku": f"{mark}-{number}", "prices": {"USD": "1.00"}, "stock": {place: 9}},
            **fields,
        }
        for number in range(count)
    ]
    assert (await bring(machine, "products", *goods))["created"] == count
    response = await machine.get("/variants", {"filter[sku_start]": mark, "per_page": count})
    return [item["id"] for item in response.json["data"]]


async def new_taxon(machine: Machine) -> str:
    """Its permalink."""
    taxonomy = await machine.post("/taxonomies", {"taxonomy": {"name": f"tree {uuid4().hex}"}})
    taxon = await machine.post("/taxons", {"taxon": {"name": "Mügs & Cups", "taxonomy_id": taxonomy.id}})
    return str(taxon["permalink"])
