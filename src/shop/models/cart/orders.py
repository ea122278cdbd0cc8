"""Orders, line items and stock reservations; a cart is an order that is not completed."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from shop.db.rows import Row, check, expression_index, index, key, refers, table, unique
from shop.models.access.users import users
from shop.models.cart.promotions import promotions
from shop.models.catalog.products import variants
from shop.models.catalog.stock import stock_items
from shop.models.customers.addresses import addresses
from shop.models.setup.taxes import tax_categories


class Order(Row, frozen=True, kw_only=True):
    """An order or cart. Amounts are in minor units of `currency`."""

    id: UUID
    number: str
    state: str = "cart"
    user_id: UUID | None = None
    bill_address_id: UUID | None = None
    ship_address_id: UUID | None = None
    currency: str
    email: str | None = None
    special_instructions: str | None = None
    item_count: int = 0
    item_total: int = 0
    ship_total: int = 0
    adjustment_total: int = 0
    total: int = 0
    promo_total: int = 0
    order_promo_total: int = 0
    """The part of `promo_total` that applies to the whole order, not to a line item or shipment."""
    manual_total: int = 0
    """The sum of manual adjustments; applied only until the total is zero."""
    manual_shares: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """How the discounts of a draft divide among its line items and shipments, by id: their taxes are those of the price
    that is paid. Empty for other manual adjustments, which change no taxes.
    """
    included_tax_total: int = 0
    additional_tax_total: int = 0
    pre_tax_item_amount: int = 0
    pre_tax_total: int = 0
    payment_total: int = 0
    store_credit_total: int = 0
    """The amount that is or will be paid with store credit."""
    shipment_state: str | None = None
    payment_state: str | None = None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    approved_at: datetime | None = None
    canceled_at: datetime | None = None
    considered_risky: bool = False
    approver_id: UUID | None = None
    canceler_id: UUID | None = None
    author_id: UUID | None = None
    """The operator who takes the order; None for an order of a shopper. Until it is completed, it is a draft."""
    pickup_location_id: UUID | None = None
    """The stock location where the customer picks up the goods, whose address is the shipping address; None for an
    order that is sent.
    """
    confirmation_delivered: bool = False
    channel: str = "shop"
    token_version: int = 0
    """Part of the order token; incremented to invalidate existing tokens."""
    internal_note: str | None = None
    explained: dict[str, Any] | None = None
    """The steps of the total's calculation, frozen at completion."""
    promoted: dict[str, Any] = {}  # noqa: RUF012  msgspec copies it.
    """The promotions that gave a discount, by id: name, description, code and total amount."""
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    tags: list[str] = []  # noqa: RUF012
    """Words with which operators mark the order."""
    updated_hour: int = 0
    """The hour of `updated_at` since 1970, indexed for lists by time of update. Maintained by a trigger."""

    @property
    def total_minus_store_credits(self) -> int:
        return self.total - min(self.total, self.store_credit_total)

    @property
    def tax_total(self) -> int:
        return self.included_tax_total + self.additional_tax_total


class OrderLookup(Row, frozen=True, kw_only=True):
    """Searchable columns of an order that change during checkout, copied by a trigger. An order with none of them set
    has no row.
    """

    order_id: UUID
    email: str | None = None
    payment_state: str | None = None
    shipment_state: str | None = None
    bill_address_id: UUID | None = None
    ship_address_id: UUID | None = None
    is_completed: bool = False


class LooseAddress(Row, frozen=True, kw_only=True):
    """An address that an order no longer uses; housekeeping deletes it if nothing else does."""

    address_id: UUID


class AbandonedCart(Row, frozen=True, kw_only=True):
    """A cart that was left alone, and whose event is in the log."""

    order_id: UUID
    created_at: datetime


class PlatformOrder(Order, frozen=True, kw_only=True):
    """An order with its customer's store credit balance in its currency, and its refunded amount."""

    credit_left: int
    refunded: int


class LineItem(Row, frozen=True, kw_only=True):
    """A line item. Amounts are in minor units of the order's currency; name and options are as quoted."""

    id: UUID
    order_id: UUID
    variant_id: UUID
    quantity: int
    price: int | None = None
    """As quoted to the shopper; `None` if the variant has no price in the cart's currency."""
    quoted_at: datetime
    price_list_id: UUID | None = None
    compare_at_price: int | None = None
    name: str
    sku: str = ""
    slug: str
    options_text: str = ""
    tax_category_id: UUID | None = None
    promotion_id: UUID | None = None
    """The promotion with the best discount on this line item."""
    promo_total: int = 0
    adjustment_total: int = 0
    additional_tax_total: int = 0
    included_tax_total: int = 0
    pre_tax_amount: int = 0
    public_metadata: dict[str, Any] = {}  # noqa: RUF012
    private_metadata: dict[str, Any] = {}  # noqa: RUF012
    created_at: datetime
    updated_at: datetime

    @property
    def amount(self) -> int:
        return (self.price or 0) * self.quantity

    @property
    def compare_at_amount(self) -> int:
        return (self.compare_at_price or 0) * self.quantity

    @property
    def discounted_amount(self) -> int:
        return self.amount + self.promo_total

    @property
    def total(self) -> int:
        return self.amount + self.adjustment_total


class CartLine(LineItem, frozen=True, kw_only=True):
    """A line item with its order's currency. Read with a cart, its metadata is raw JSON (`msgspec.Raw`)."""

    currency: str


class SummarizedLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What totals, discounts and warnings depend on in a line item that stays as it is."""

    id: UUID
    variant_id: UUID
    quantity: int
    price: int | None
    tax_category_id: UUID | None
    promotion_id: UUID | None
    promo_total: int
    adjustment_total: int
    additional_tax_total: int
    included_tax_total: int
    pre_tax_amount: int

    @property
    def name(self) -> str:
        """The label of a step where totals are explained, which needs details."""
        return ""


PricedLine = LineItem | SummarizedLine


class StockHold(Row, frozen=True, kw_only=True):
    """A stock reservation for an order that is being paid; released when it expires."""

    id: UUID
    order_id: UUID
    stock_item_id: UUID
    quantity: int
    expires_at: datetime


def customer_of(email: str) -> str:
    """Returns SQL that normalizes an e-mail address like `Email.budget_key`."""
    return f"lower(regexp_replace({email}, '[.](?=.*@)|[+].*(?=@)'::text, ''::text, 'g'::text))"


HOUR = "(floor((date_part('epoch'::text, {0}) / (3600)::double precision)))::bigint"

# Only columns that change at most once during checkout are indexed, since an update of an indexed column writes to
# every index; the other searchable columns are in `order_lookups`.
orders = table(
    "orders",
    Order,
    key("id"),
    unique("number"),
    refers("user_id", users),
    # For sorting and filtering lists; the id makes each cursor unique.
    index("ix_orders_created_at", "created_at", "id"),
    index("ix_orders_updated_hour", "updated_hour", "id"),
    index("ix_orders_completed_at", "completed_at", "id"),
    # For a user's newest open cart and completed orders.
    index("ix_orders_user_id", "user_id", "created_at", where="user_id is not null"),
    # For housekeeping: guest carts, the longest idle first.
    index("ix_orders_guest_carts", "updated_hour", where="completed_at is null and user_id is null"),
    check("total_is_the_sum", "item_total + ship_total + adjustment_total = total"),
    check("nothing_below_zero", "total >= 0 and order_promo_total <= 0"),
    check("item_count_not_negative", "item_count >= 0"),
    check("currency_is_a_code", "currency ~ '^[A-Z]{3}$'"),
    fill_factor=70,
    defaults={"updated_hour": HOUR.format("now()")},
)
order_lookups = table(
    "order_lookups",
    OrderLookup,
    key("order_id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("bill_address_id", addresses),
    refers("ship_address_id", addresses),
    index("ix_order_lookups_email", "email", where="email is not null"),
    # For checking whether a customer has ordered before.
    expression_index("ix_order_lookups_customer", customer_of("email"), where="is_completed"),
    index("ix_order_lookups_payment_state", "payment_state", "order_id", where="payment_state is not null"),
    index("ix_order_lookups_shipment_state", "shipment_state", "order_id", where="shipment_state is not null"),
    index("ix_order_lookups_bill_address_id", "bill_address_id", where="bill_address_id is not null"),
    index("ix_order_lookups_ship_address_id", "ship_address_id", where="ship_address_id is not null"),
)
abandoned_carts = table(
    "abandoned_carts", AbandonedCart, key("order_id"), refers("order_id", orders, on_delete="cascade")
)
loose_addresses = table("loose_addresses", LooseAddress, key("address_id"))
line_items = table(
    "line_items",
    LineItem,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("variant_id", variants),
    refers("tax_category_id", tax_categories),
    refers("promotion_id", promotions, on_delete="set null"),
    unique("order_id", "variant_id"),
    index("ix_line_items_variant_id", "variant_id"),
    index("ix_line_items_created_at", "created_at", "id"),
    index("ix_line_items_promotion_id", "promotion_id", where="promotion_id is not null"),
    check("quantity_is_positive", "quantity > 0"),
    check("price_not_negative", "price >= 0"),
)
stock_holds = table(
    "stock_holds",
    StockHold,
    key("id"),
    refers("order_id", orders, on_delete="cascade"),
    refers("stock_item_id", stock_items),
    index("ix_stock_holds_order_id", "order_id"),
    index("ix_stock_holds_stock_item_id", "stock_item_id"),
    index("ix_stock_holds_expires_at", "expires_at"),
    check("quantity_is_positive", "quantity > 0"),
)
