"""Checkout steps and the requirements of each.

    state       next        requirements
    cart        address     lines
    address     delivery    both addresses and an e-mail address; then shipments are packed, each with a rate
    delivery    payment     a selected rate for every shipment; next is confirm if the total is zero
    payment     confirm     a payment that covers the total
    confirm     complete    all of the above again, stock, and the quoted price

A missing requirement has a code, a message, the step, and the field that the client must set.
"""

from collections.abc import Sequence

import msgspec

STATES = ("cart", "address", "delivery", "payment", "confirm", "complete")
OPEN_STATES = STATES[:-1]


class CheckoutRequirement(msgspec.Struct, frozen=True):
    """A missing requirement."""

    step: str
    code: str
    field: str
    sentence: str


class CheckoutFacts(msgspec.Struct, frozen=True):
    """The facts that decide which requirements are met."""

    state: str
    item_count: int
    total: int
    has_email: bool
    has_bill_address: bool
    has_ship_address: bool
    shipment_count: int
    """Number of shipments."""
    unrated: int
    """Number of shipments without a selected rate."""
    covered: int
    """Total of the valid payments."""
    unpriced: int = 0
    """Number of lines without a price in the cart's currency."""


def missing_requirements(facts: CheckoutFacts) -> list[CheckoutRequirement]:
    """Returns all missing requirements for completion, in the order of the steps."""
    return [
        CheckoutRequirement(step, code, field, sentence)
        for step, code, field, sentence, is_met in (
            ("cart", "cart_empty", "line_items", "Add an item to the cart.", facts.item_count > 0),
            (
                "cart",
                "no_price_in_currency",
                "line_items",
                "Remove the items without a price in this currency, or change the currency.",
                not facts.unpriced,
            ),
            ("address", "email_missing", "email", "Enter an e-mail address.", facts.has_email),
            ("address", "address_missing", "bill_address", "Enter a billing address.", facts.has_bill_address),
            ("address", "address_missing", "ship_address", "Enter a shipping address.", facts.has_ship_address),
            (
                "delivery",
                "no_shipping_rate",
                "shipments",
                "Choose a shipping method for every shipment.",
                facts.shipment_count > 0 and not facts.unrated,
            ),
            (
                "payment",
                "payment_missing",
                "payments",
                "Choose a payment method.",
                facts.total == 0 or facts.covered >= facts.total,
            ),
        )
        if not is_met
    ]


def next_state(state: str, total: int) -> str | None:
    """Returns the next step, or None after the last."""
    if state == "delivery" and total == 0:
        return "confirm"
    return STATES[STATES.index(state) + 1] if state in OPEN_STATES else None


def blocking_requirements(facts: CheckoutFacts) -> Sequence[CheckoutRequirement]:
    """Returns the missing requirements that block leaving the current step."""
    upto = STATES.index(facts.state)
    return [requirement for requirement in missing_requirements(facts) if STATES.index(requirement.step) <= upto]
