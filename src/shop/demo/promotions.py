"""Creates the promotions and the store credit of the demo shop."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.promotions import promotions
from shop.base.money import minor_units
from shop.demo.shop import CREDIT, PROMOTIONS
from shop.models.cart.record_inputs import PromotionActionPartInput, PromotionInput, PromotionPartInput
from shop.models.checkout.record_inputs import StoreCreditInput
from shop.rules.form_values import read_amount


async def create_demo_promotions(ctx: Context, taxons: Mapping[str, UUID]) -> dict[str, UUID]:
    """Creates the promotions and returns their ids by name."""
    promotion_ids: dict[str, UUID] = {}
    for promotion in PROMOTIONS:
        conditions = []
        if promotion.category:
            conditions.append(PromotionPartInput("taxon", {"taxon_ids": [str(taxons[promotion.category])]}))
        if promotion.minimum_totals:
            conditions.append(PromotionPartInput("item_total", {"amounts": dict(promotion.minimum_totals)}))
        values: PromotionInput = {
            "name": promotion.name,
            "description": promotion.description,
            "code": promotion.code,
            "is_automatic": promotion.code is None,
            "promotion_rules_attributes": conditions,
            "promotion_actions_attributes": [PromotionActionPartInput(promotion.benefit, dict(promotion.settings))],
        }
        promotion_ids[promotion.name] = await promotions.create_promotion(ctx, values)
    return promotion_ids


async def grant_demo_credit(ctx: Context, user_id: UUID) -> None:
    amount = minor_units(read_amount(CREDIT["amount"], CREDIT["currency"]), CREDIT["currency"])
    values: StoreCreditInput = {"user_id": user_id, "currency": CREDIT["currency"], "memo": CREDIT["memo"]}
    await store_credit.grant_credit(ctx, values, amount)
