"""Promotions for tests, made as a machine makes them; each is about goods of its own, so that no other test is."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tests.builders import MadeProduct, Make
from tests.shopper import Answer

Part = tuple[str, Mapping[str, Any]]

TENTH: Part = ("percent_off_items", {"percent": "10"})
FREE_SHIPPING: Part = ("free_shipping", {})


def about(*products: MadeProduct) -> Part:
    return "product", {"product_ids": [made.id for made in products]}


def attributes(parts: Sequence[Part]) -> list[dict[str, Any]]:
    return [{"type": kind, "preferences": dict(given)} for kind, given in parts]


async def new_deal(make: Make, *benefits: Part, conditions: Sequence[Part] = (), **fields: Any) -> Answer:
    """Without a code or more it is automatic, and must say what it is about."""
    said = {"name": f"Deal {uuid4().hex[:8]}", **fields}
    if "code" not in said and "is_automatic" not in said:
        assert conditions, "an automatic promotion of everything would change the totals of other tests"
        said["is_automatic"] = True
    return await make.new(
        "promotions",
        "promotion",
        **said,
        promotion_rules_attributes=attributes(conditions),
        promotion_actions_attributes=attributes(benefits),
    )


def new_code() -> str:
    return f"code-{uuid4().hex[:12]}"


def named(answer: Answer) -> dict[str, tuple[str, str | None]]:
    """The promotions that a cart shows when they are included: amount and code by name."""
    return {
        each["attributes"]["name"]: (each["attributes"]["amount"], each["attributes"]["code"])
        for each in answer.json.get("included", ())
        if each["type"] == "promotion"
    }
