"""Creates the promotions and the store credit of the demo shop."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.promotions import promotions
from shop.base.money import minor_units
from shop.demo.shop import CREDIT, DEALS
from shop.models.cart.record_inputs import PromotionActionPartInput, PromotionInput, PromotionPartInput
from shop.models.checkout.record_inputs import StoreCreditInput
from shop.rules.form_values import read_amount


async def create_demo_promotions(ctx: Context, taxons: Mapping[str, UUID]) -> None:
    for deal in DEALS:
        conditions = []
        if deal.shelf:
            conditions.append(PromotionPartInput("taxon", {"taxon_ids": [str(taxons[deal.shelf])]}))
        if deal.least:
            conditions.append(PromotionPartInput("item_total", {"amounts": dict(deal.least)}))
        values: PromotionInput = {
            "name": deal.name,
            "description": deal.says,
            "code": deal.code,
            "is_automatic": deal.code is None,
            "promotion_rules_attributes": conditions,
            "promotion_actions_attributes": [PromotionActionPartInput(deal.benefit, dict(deal.settings))],
        }
        await promotions.create_promotion(ctx, values)


async def grant_demo_credit(ctx: Context, user_id: UUID) -> None:
    amount = minor_units(read_amount(CREDIT["amount"], CREDIT["currency"]), CREDIT["currency"])
    values: StoreCreditInput = {"user_id": user_id, "currency": CREDIT["currency"], "memo": CREDIT["memo"]}
    await store_credit.grant(ctx, values, amount)
