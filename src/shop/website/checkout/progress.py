"""The steps of the checkout: which page comes next, and what happens without a cart."""

from collections.abc import Sequence
from functools import wraps

import msgspec

from shop.actions.cart.carts import get_cart
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.checkout.steps import requirements
from shop.actions.context import Context
from shop.base.errors import Invalid, NotCartOwner, NotFound, PaymentInProgress, Unauthenticated
from shop.models.cart.orders import Order
from shop.web.endpoint import Handler
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website import visits
from shop.website.account.access import ask_to_sign_in, has_lost_session
from shop.website.pages import redirect
from shop.website.visits import Page, Visit, plain_fields

CART = "/cart"
ADDRESS = "/checkout/address"
DELIVERY = "/checkout/delivery"
PAYMENT = "/checkout/payment"
REVIEW = "/checkout/review"
RETURN = "/checkout/return"
COMPLETE = "/checkout/complete"
_PATHS = {"cart": CART, "address": ADDRESS, "delivery": DELIVERY, "payment": PAYMENT}
_ORDER = (*_PATHS, "review")
# Where the shopper can correct an error that has no field on the page.
_PATHS_BY_CODE = {
    "address_missing": ADDRESS,
    "cart_empty": CART,
    "email_missing": ADDRESS,
    "no_price_in_currency": CART,
    "out_of_stock": CART,
    "payment_missing": PAYMENT,
}


class CheckoutStep(msgspec.Struct, frozen=True):
    """A step in the list above each checkout page."""

    label: str
    path: str


STEPS = (
    CheckoutStep("Address", ADDRESS),
    CheckoutStep("Delivery", DELIVERY),
    CheckoutStep("Payment", PAYMENT),
    CheckoutStep("Review", REVIEW),
)


async def find_cart(ctx: Context) -> Order | None:
    """Returns the shopper's cart, or None."""
    try:
        return await get_cart(ctx)
    except (NotFound, Unauthenticated):
        return None


async def find_checkout(ctx: Context) -> Checkout | None:
    """Returns the checkout of the shopper's cart; None without a cart or with an empty one."""
    order = await find_cart(ctx)
    return await load_checkout(ctx, order) if order is not None and order.item_count else None


def find_earlier_step(checkout: Checkout, step: str) -> str | None:
    """Returns the path of the first step before this one that lacks something; None if the shopper may see it."""
    earlier_steps = _ORDER[: _ORDER.index(step)]
    missing_steps = [requirement.step for requirement in requirements(checkout)]
    return next((_PATHS[each] for each in missing_steps if each in earlier_steps), None)


def path_for_error(error: Invalid, path: str) -> str | None:
    """Returns the page where an error can be corrected; None if that is the page at `path`."""
    other = _PATHS_BY_CODE.get(error.code)
    return other if other != path else None


def checkout_form(handler: Page) -> Handler:
    """Wraps a form of the cart or the checkout. Without a cart, the shopper returns to the cart page; a shopper whose
    session has ended signs in and sends the form again.
    """

    @wraps(handler)
    async def answer(request: Request, ctx: Context, visit: Visit) -> Reply:
        try:
            return await handler(request, ctx, visit)
        except PaymentInProgress:
            return redirect(RETURN)
        except NotCartOwner:
            return await ask_to_sign_in(request, ctx, visit)
        except (NotFound, Unauthenticated):
            was_signed_in = visit.user is None and "signed_in" in plain_fields(request)
            if was_signed_in or has_lost_session(request, visit):
                return await ask_to_sign_in(request, ctx, visit)
            return redirect(CART)

    return visits.form(answer)


def join_sentences(sentences: Sequence[str]) -> str:
    return " ".join(text if text.endswith(".") else f"{text}." for text in sentences)
