"""Free shipping from an item total on: how much is missing."""

from collections.abc import Iterable, Sequence

import msgspec

from shop.rules.cart.promotion_kinds import BENEFITS, CONDITIONS, Basket
from shop.rules.cart.promotions import CompiledPromotion, find_eligible_items

_FREE_SHIPPING = BENEFITS["free_shipping"].calculate
_ITEM_TOTAL = CONDITIONS["item_total"].check


class FreeShippingOffer(msgspec.Struct, frozen=True):
    """Free shipping from an item total on, in minor units."""

    threshold: int
    missing: int
    """The amount to add; 0 if shipping is free already."""


def find_free_shipping(basket: Basket, promotions: Sequence[CompiledPromotion]) -> FreeShippingOffer | None:
    """Returns the free shipping that is the easiest to reach by adding items; None if no promotion offers it."""
    offers = [offer for promotion in promotions for offer in _offers(promotion, basket)]
    return min(offers, key=lambda offer: (offer.missing, offer.threshold), default=None)


def _offers(promotion: CompiledPromotion, basket: Basket) -> Iterable[FreeShippingOffer]:
    if not any(calculate is _FREE_SHIPPING for calculate, _ in promotion.shipment_benefits):
        return
    thresholds = [
        settings["amounts"][basket.currency]
        for check, settings in promotion.conditions
        if check is _ITEM_TOTAL and basket.currency in settings["amounts"]
    ]
    if not thresholds:
        return
    threshold = min(thresholds) if promotion.matches_any else max(thresholds)
    is_free = find_eligible_items(promotion, basket)[0] is None
    full_basket = msgspec.structs.replace(basket, amount=max(basket.amount, threshold))
    if is_free or find_eligible_items(promotion, full_basket)[0] is None:
        yield FreeShippingOffer(threshold, 0 if is_free else threshold - basket.amount)
