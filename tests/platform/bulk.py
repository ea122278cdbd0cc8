"""Imports and exports for tests, and records that import rows refer to."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from tests.platform.client import Machine
from tests.shopper import Answer

NDJSON = "application/x-ndjson"
COUNTS = ("lines", "created", "updated", "unchanged", "failed")


def to_ndjson(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


async def post_import(machine: Machine, resource: str, body: bytes, **params: Any) -> Answer:
    return await machine.ask(
        "POST", f"/imports/{resource}", content=body, params=params, headers={"Content-Type": NDJSON}
    )


async def import_rows(machine: Machine, resource: str, *values: Any, **params: Any) -> dict[str, Any]:
    """The report of an import of these rows."""
    answer = await post_import(machine, resource, to_ndjson(values), **params)
    assert answer.status == 200, answer
    report: dict[str, Any] = answer.json
    return report


async def export(machine: Machine, resource: str) -> bytes:
    """A whole export."""
    answer = await machine.get(f"/exports/{resource}")
    assert (answer.status, answer.headers["content-type"]) == (200, NDJSON), answer
    return bytes(answer.response.content)


async def export_product(machine: Machine, slug: str) -> dict[str, Any] | None:
    """The row of one product in the export."""
    records = [
        line for line in map(json.loads, (await export(machine, "products")).splitlines()) if line["slug"] == slug
    ]
    return records[0] if records else None


def counts(report: dict[str, Any]) -> dict[str, int]:
    """The counts of a report that are not zero."""
    return {name: report[name] for name in COUNTS if report[name]}


def new_slug() -> str:
    return f"slug-{uuid4().hex}"


async def new_location(machine: Machine, **more: Any) -> str:
    name = f"Location {uuid4().hex}"
    assert (await machine.post("/stock_locations", {"stock_location": {"name": name, **more}})).status == 201
    return name


async def new_variants(machine: Machine, count: int, **fields: Any) -> list[str]:
    """The ids of variants on sale, each of another product, made by one import."""
    location, mark = await new_location(machine), uuid4().hex
    rows = [
        {
            "slug": new_slug(),
            "name": "Mug",
            "status": "active",
            "master": {"sku": f"{mark}-{number}", "prices": {"USD": "1.00"}, "stock": {location: 9}},
            **fields,
        }
        for number in range(count)
    ]
    assert (await import_rows(machine, "products", *rows))["created"] == count
    response = await machine.get("/variants", {"filter[sku_start]": mark, "per_page": count})
    return [item["id"] for item in response.json["data"]]


async def new_taxon(machine: Machine) -> str:
    """The permalink of a new taxon."""
    taxonomy = await machine.post("/taxonomies", {"taxonomy": {"name": f"tree {uuid4().hex}"}})
    taxon = await machine.post("/taxons", {"taxon": {"name": "Mügs & Cups", "taxonomy_id": taxonomy.id}})
    return str(taxon["permalink"])
