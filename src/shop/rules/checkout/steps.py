"""Which steps a checkout has, and what each asks for before it is left.

    state       next        asks for
    cart        address     lines
    address     delivery    both addresses, an e-mail address; then parcels are packed, each with a rate
    delivery    payment     a chosen rate for every parcel; confirm at once when nothing is to be paid
    payment     confirm     a payment that covers the total
    confirm     complete    everything above once more, stock, and the price that was quoted

What is missing is told as data: its code, its sentence, the step it belongs to, and the field that would mend it.
"""

from collections.abc import Sequence

import msgspec

STATES = ("cart", "address", "delivery", "payment", "confirm", "complete")
OPEN = STATES[:-1]


class Missing(msgspec.Struct, frozen=True):
    """What is asked for and not there."""

    step: str
    code: str
    field: str
    sentence: str


class Facts(msgspec.Struct, frozen=True):
    """What the guards look at."""

    state: str
    item_count: int
    total: int
    email: str | None
    has_bill_address: bool
    has_ship_address: bool
    parcels: int
    """How many shipments there are."""
    unrated: int
    """How many of them have no chosen rate."""
    covered: int
    """What the payments that count come to."""
    unpriced: int = 0
    """How many lines have no price in the cart's currency."""


def missing(facts: Facts) -> list[Missing]:
    """Everything that stands between this cart and its completion, in the order of the steps."""
    return [
        Missing(step, code, field, sentence)
        for step, code, field, sentence, is_there in (
            ("cart", "cart_empty", "line_items", "Put something into the cart.", facts.item_count > 0),
            (
                "cart",
                "no_price_in_currency",
                "line_items",
                "Take out the lines that have no price in this currency, or change the currency.",
                not facts.unpriced,
            ),
            ("address", "email_missing", "email", "Give an e-mail address.", bool(facts.email)),
            ("address", "address_missing", "bill_address", "Give a billing address.", facts.has_bill_address),
            ("address", "address_missing", "ship_address", "Give a shipping address.", facts.has_ship_address),
            (
                "delivery",
                "no_shipping_rate",
                "shipments",
                "Choose how every shipment is sent.",
                facts.parcels > 0 and not facts.unrated,
            ),
            (
                "payment",
                "payment_missing",
                "payments",
                "Say how the order is paid.",
                facts.total == 0 or facts.covered >= facts.total,
            ),
        )
        if not is_there
    ]


def following(state: str, total: int) -> str | None:
    """The step after this one; none after the last."""
    if state == "delivery" and total == 0:
        return "confirm"
    return STATES[STATES.index(state) + 1] if state in OPEN else None


def blocking(facts: Facts) -> Sequence[Missing]:
    """What is asked for before this step is left."""
    upto = STATES.index(facts.state)
    return [found for found in missing(facts) if STATES.index(found.step) <= upto]
