"""Store credit as the Platform API and the event log read it."""

from uuid import UUID

from shop.models.checkout.store_credit import StoreCredit, store_credits
from shop.queries.cart.order_columns import AMOUNT_AUTHORIZED, CREATED_BY
from shop.queries.records import Records


class PlatformStoreCredit(StoreCredit, frozen=True, kw_only=True):
    """Store credit with the amount authorized for open payments, and the application that granted it."""

    amount_authorized: int
    created_by_id: UUID | None


STORE_CREDITS = Records(
    table=store_credits,
    row=PlatformStoreCredit,
    extras={"amount_authorized": AMOUNT_AUTHORIZED, "created_by_id": CREATED_BY},
    amounts=frozenset({"amount", "amount_used"}),
)
