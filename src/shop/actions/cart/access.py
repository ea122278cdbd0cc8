"""Cart access checks: which cart the caller's credentials open, and whether the caller may use its owner's account.

An order token opens one cart. On a cart that belongs to a user, it can read and change the contents. The account
(e-mail, addresses, saved cards, store credit) requires the owner's bearer token or shop staff.
The table in `docs/generated/credentials.md` lists the rule for each operation.
"""

from uuid import UUID

import msgspec

from shop.actions.cart.orders import Checkout
from shop.actions.context import Context
from shop.base.actor import Actor
from shop.base.errors import InvalidToken, NotCartOwner
from shop.models.cart.orders import Order
from shop.queries.cart import carts
from shop.queries.cart.carts import BearersCart
from shop.queries.payments import payments, saved_cards
from shop.rules.cart.line_items import CartWarning

_NO_VERSION = -1
"""The version of no order token, so that only the owner's bearer token opens the cart."""
_STAFF = frozenset({"application", "operator", "command line"})
PAYMENT_CHOICES_REMOVED = CartWarning(
    "payment_choices_removed",
    None,
    "The e-mail or an address was changed without the owner's token: saved cards and store credit were removed from the"
    " payment. Choose them again with the owner's token.",
)


async def find_bearers_cart(ctx: Context) -> BearersCart:
    """Returns the bearer's user with the order token's open cart, or else the user's newest open cart."""
    bearer = await carts.find_bearers_cart(ctx.db, ctx.claim)
    if bearer is None:
        raise InvalidToken()
    ctx.actor = Actor("user", bearer.user_id)
    return bearer


def select_own_cart(ctx: Context, cart_id: UUID) -> None:
    """Selects one of the bearer's carts by id, as an order token does; it selects nothing that belongs to others."""
    ctx.claim = msgspec.structs.replace(ctx.claim, order_token_sent=True, cart_id=cart_id, token_version=_NO_VERSION)


def acts_for_owner(ctx: Context, order: Order) -> bool:
    """Returns whether the caller is the cart's owner (by bearer token) or shop staff."""
    actor = ctx.actor
    return actor.kind in _STAFF or (actor.kind == "user" and actor.id == order.user_id)


def require_owner(ctx: Context, order: Order) -> None:
    """Raises if the cart belongs to a user other than the caller; a guest cart has no owner."""
    if order.user_id is not None and not acts_for_owner(ctx, order):
        raise NotCartOwner()


def account_of(ctx: Context, order: Order) -> UUID | None:
    """Returns the account whose cards and credit the caller may use for this cart."""
    return order.user_id if acts_for_owner(ctx, order) else None


async def require_owner_to_pay(ctx: Context, order: Order) -> None:
    """Raises if the cart uses its owner's card or store credit and the caller is not the owner."""
    is_foreign = order.user_id is not None and not acts_for_owner(ctx, order)
    if is_foreign and await saved_cards.has_owner_payment(ctx.db, order.id):
        raise NotCartOwner()


async def drop_owner_payments(ctx: Context, checkout: Checkout) -> Checkout:
    """Removes the owner's card and store credit after another caller changed the e-mail or an address. Otherwise, the
    owner could pay for an order that is sent to another person.
    """
    order = checkout.order
    if order.user_id is None or acts_for_owner(ctx, order):
        return checkout
    if not await saved_cards.drop_owner_payments(ctx.db, order.id):
        return checkout
    return msgspec.structs.replace(
        checkout,
        order=msgspec.structs.replace(order, store_credit_total=0),
        payments=await payments.list_payments(ctx.db, order.id),
        warnings=[*checkout.warnings, PAYMENT_CHOICES_REMOVED],
    )
