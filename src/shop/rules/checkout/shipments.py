"""The amounts of shipments, and the offer for goods that the customer picks up."""

import msgspec

from shop.models.checkout.shipments import PICKUP_METHOD, Shipment
from shop.rules.cart.totals import Amounts
from shop.rules.setup.shipping import Offer


def with_shipment_amounts(shipment: Shipment, amounts: Amounts) -> Shipment:
    """Returns the shipment with its calculated amounts."""
    return msgspec.structs.replace(
        shipment,
        promo_total=amounts.promo_total,
        adjustment_total=amounts.adjustment_total,
        additional_tax_total=amounts.additional_tax_total,
        included_tax_total=amounts.included_tax_total,
        pre_tax_amount=amounts.pre_tax_amount,
    )


def describe_pickup(location_name: str) -> str:
    return f"Pickup at {location_name}"


def offer_pickup(location_name: str) -> Offer:
    """Returns the offer of a shipment that the customer picks up, at no cost."""
    return Offer(PICKUP_METHOD, describe_pickup(location_name), 0, None)
