"""Helpers to read catalog responses, and a section of the catalog for the products of one test."""

from typing import Any
from uuid import uuid4

from tests.builders import Make
from tests.shopper import Answer, Shopper


class CatalogSection:
    """A tree of taxons for one test: its lists contain only the products that the test creates."""

    def __init__(self, guest: Shopper, taxonomy_id: str, root: str) -> None:
        self.guest = guest
        self.taxonomy_id = taxonomy_id
        self.root = root

    async def get(self, **params: str) -> Answer:
        return await self.of(self.guest, **params)

    async def of(self, shopper: Any, **params: str) -> Answer:
        """The products of this section as `shopper` sees them."""
        query = {"filter[taxons]": self.root, **params}
        answer = Answer(
            await shopper.http.get("/api/v2/storefront/products", params=query, headers=headers_of(shopper))
        )
        assert answer.status == 200, answer
        return answer


def headers_of(shopper: Any) -> dict[str, str]:
    token = getattr(shopper, "access_token", None)
    return {"Authorization": f"Bearer {token}"} if token else {}


async def new_catalog_section(make: Make, guest: Shopper) -> CatalogSection:
    taxonomy_id, root = await make.taxonomy()
    return CatalogSection(guest, taxonomy_id, root)


def ids(answer: Answer) -> list[str]:
    return [record["id"] for record in answer.json["data"]]


def names(answer: Answer) -> list[str]:
    return [record["attributes"]["name"] for record in answer.json["data"]]


def prices(answer: Answer) -> list[str | None]:
    return [record["attributes"]["price"] for record in answer.json["data"]]


def included(answer: Answer, kind: str) -> dict[str, Any]:
    """Included records of one type by id."""
    return {record["id"]: record for record in answer.json["included"] if record["type"] == kind}


def related_ids(record: Any, relation: str) -> Any:
    """The id in a relationship, or the list of ids."""
    data = record["relationships"][relation]["data"]
    return [item["id"] for item in data] if isinstance(data, list) else data and data["id"]


def word() -> str:
    """A unique word."""
    return "w" + uuid4().hex[:12]
