"""What the storefront shows of carts and orders."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.base.actor import Claim
from shop.base.keys import Keys
from shop.base.loaded import Link
from shop.base.tokens import order_token
from shop.jsonapi.resource import Resource, Scene, computed, many, money, one, resource
from shop.models.orders import Order


class Viewer(msgspec.Struct, frozen=True):
    """Who looks, and with which keys their tokens are made."""

    keys: Keys
    claim: Claim


def _token(order: Any, scene: Scene) -> str:
    # Always under the current key: a client that keeps what it is shown survives the retirement of an old key.
    viewer: Viewer = scene.props
    claim = viewer.claim
    return claim.order_token if claim.order_token and claim.cart_id == order.id else order_token(viewer.keys, order.id)


CART = resource(
    "cart",
    Order,
    attributes=[
        "number",
        "state",
        computed("token", _token),
        "email",
        "currency",
        "item_count",
        "special_instructions",
        "shipment_state",
        "payment_state",
        "created_at",
        "updated_at",
        "completed_at",
        money("item_total"),
        money("ship_total"),
        money("adjustment_total"),
        money("included_tax_total"),
        money("additional_tax_total"),
        money("tax_total"),
        money("promo_total"),
        money("pre_tax_item_amount"),
        money("pre_tax_total"),
        money("total"),
    ],
    relations=[
        many("line_items", "line_item"),
        many("variants", "variant"),
        many("promotions", "promotion"),
        many("payments", "payment"),
        many("shipments", "shipment"),
        one("user", "user"),
        one("billing_address", "address"),
        one("shipping_address", "address"),
    ],
)

RESOURCES: Mapping[str, Resource] = {CART.type: CART}

NOTHING_YET: Mapping[str, Link] = {name: [] if relation.is_many else None for name, relation in CART.relations.items()}
"""The relations of a cart in a shop that has no lines, payments, shipments or users yet."""
