"""Platform resources without routes, shown only as related records."""

from typing import Any

from shop.actions.orders import part_resources
from shop.actions.setup import resources as setup_resources
from shop.base.money import currency_digits, wire_decimal
from shop.jsonapi.resource import RenderContext, computed, money, one, resource
from shop.models.checkout.payments import PaymentSource
from shop.models.setup.zones import ZoneMember
from shop.platform.collection import Collection

_STAMPS = ("created_at", "updated_at")

INVENTORY_UNITS = Collection(
    path="inventory_units",
    access="orders",
    resource=resource(
        "inventory_unit",
        part_resources.InventoryUnit,
        attributes=["quantity", "backordered", "state", "pending"],
        relations=[
            one("order", "order"),
            one("shipment", "shipment"),
            one("line_item", "line_item"),
            one("variant", "variant"),
        ],
    ),
    actions=part_resources.INVENTORY_UNIT,
)
CREDIT_CARDS = Collection(
    path="credit_cards",
    access="orders",
    resource=resource(
        "credit_card",
        PaymentSource,
        # The provider's ids of the card and customer are not shown: they can be used like the card.
        attributes=["cc_type", "last_digits", "month", "year", "name", *_STAMPS, "deleted_at"],
        relations=[one("user", "user"), one("payment_method", "payment_method")],
    ),
    actions=part_resources.CREDIT_CARD,
)
CAPTURE_EVENTS = Collection(
    path="capture_events",
    access="orders",
    resource=resource(
        "capture_event",
        part_resources.CaptureEvent,
        attributes=["currency", money("amount"), "created_at"],
        relations=[one("payment", "payment")],
    ),
    actions=part_resources.CAPTURE_EVENT,
)
ZONE_MEMBERS = Collection(
    path="zone_members",
    access="settings",
    resource=resource(
        "zone_member",
        ZoneMember,
        attributes=[
            computed("zoneable_type", lambda member, _context: "country" if member.country_id else "state"),
            computed("zoneable_id", lambda member, _context: str(member.country_id or member.state_id)),
            *_STAMPS,
        ],
        relations=[one("zone", "zone"), one("country", "country"), one("state", "state")],
    ),
    actions=setup_resources.ZONE_MEMBER,
)


def method_amounts(method: Any, _context: RenderContext) -> dict[str, Any]:
    """Returns the amounts of a shipping method by currency and minimum weight, in the format of write requests."""
    amounts: dict[str, dict[str, str]] = {}
    for currency, weight, amount in method.amounts:
        text = wire_decimal(amount, currency_digits(currency))
        amounts.setdefault(currency, {})[f"{weight:g}"] = text
    return amounts


CALCULATORS = Collection(
    path="calculators",
    access="settings",
    resource=resource(
        "calculator",
        setup_resources.PricedMethod,
        attributes=[
            computed("type", lambda method, _context: method.calculator),
            computed(
                "preferences",
                lambda method, render_context: {"amounts": method_amounts(method, render_context)},
                dict[str, Any],
            ),
            *_STAMPS,
        ],
    ),
    actions=setup_resources.CALCULATOR,
)
