"""Promotions for tests, made over the Platform API; each is for products of one test, so that it changes no other."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tests.builders import Make, ProductIds
from tests.shopper import Answer

Part = tuple[str, Mapping[str, Any]]

TENTH: Part = ("percent_off_items", {"percent": "10"})
FREE_SHIPPING: Part = ("free_shipping", {})


def for_products(*products: ProductIds) -> Part:
    return "product", {"product_ids": [product.id for product in products]}


def attributes(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [{"type": kind, "preferences": dict(preferences)} for kind, preferences in parts]


async def create_promotion(make: Make, *benefits: Part, conditions: Sequence[Part] = (), **fields: Any) -> Answer:
    """Without a code the promotion is automatic; it must then have conditions."""
    promotion_fields = {"name": f"Deal {uuid4().hex[:8]}", **fields}
    if "code" not in promotion_fields and "is_automatic" not in promotion_fields:
        assert conditions, "an automatic promotion of everything would change the totals of other tests"
        promotion_fields["is_automatic"] = True
    return await make.new(
        "promotions",
        "promotion",
        **promotion_fields,
        promotion_rules_attributes=attributes(conditions),
        promotion_actions_attributes=attributes(benefits),
    )


def new_code() -> str:
    return f"code-{uuid4().hex[:12]}"


def promotions_of(answer: Answer) -> dict[str, tuple[str, str | None]]:
    """Amount and code by name, of the promotions included in the document of a cart."""
    return {
        each["attributes"]["name"]: (each["attributes"]["amount"], each["attributes"]["code"])
        for each in answer.json.get("included", ())
        if each["type"] == "promotion"
    }
