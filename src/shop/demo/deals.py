"""Creates the promotions and the store credit of the demo shop."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.promotions import promotions
from shop.base.money import minor_units
from shop.demo.shop import CREDIT, DEALS
from shop.rules.form_values import read_amount


async def create_demo_promotions(ctx: Context, taxons: Mapping[str, UUID]) -> None:
    for deal in DEALS:
        conditions = [_part("taxon", taxon_ids=[str(taxons[deal.shelf])])] if deal.shelf else []
        conditions += [_part("item_total", amounts=dict(deal.least))] if deal.least else []
        values = {
            "name": deal.name,
            "description": deal.says,
            "code": deal.code,
            "is_automatic": deal.code is None,
            "promotion_rules_attributes": conditions,
            "promotion_actions_attributes": [_part(deal.benefit, **deal.settings)],
        }
        await promotions.create_promotion(ctx, values)


def _part(kind: str, **settings: Any) -> dict[str, Any]:
    return {"type": kind, "preferences": settings}


async def grant_demo_credit(ctx: Context, user_id: UUID) -> None:
    amount = minor_units(read_amount(CREDIT["amount"], CREDIT["currency"]), CREDIT["currency"])
    await store_credit.grant(ctx, {"user_id": user_id, **CREDIT, "amount": amount})
