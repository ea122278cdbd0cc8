"""The payment step: payment methods, saved cards and store credit; parts of it are used to pay for an order later."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from shop.actions.cart.orders import Checkout, is_credit
from shop.actions.checkout import views, workflow
from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.payments import saved_cards
from shop.base.errors import Invalid, PaymentNeedsAction
from shop.models.cart.orders import Order
from shop.models.checkout.inputs import CheckoutPaymentInput
from shop.models.checkout.payments import CreditCard, PaymentMethod
from shop.web.input.inputs import read_input
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.checkout.progress import (
    CART,
    PAYMENT,
    REVIEW,
    STEPS,
    find_checkout,
    find_earlier_step,
    join_sentences,
    path_for_error,
)
from shop.website.checkout.summary import build_sums, load_rows
from shop.website.layout import render_page
from shop.website.pages import PAGE_POLICY, html_page, notice_of, page_policy, redirect
from shop.website.visits import Visit, plain_fields

# What Stripe's documentation requires; on pages with its form only.
STRIPE_POLICY = page_policy(
    script_src="https://js.stripe.com https://*.js.stripe.com",
    frame_src="https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com",
    connect_src="https://api.stripe.com",
    img_src="https://*.stripe.com",
)
TEST_CARDS = (
    ("approve", "The payment succeeds"),
    ("decline", "The card is declined"),
    ("confirm", "The bank asks for a confirmation"),
)
_TEST_CARD = {"cc_type": "visa", "last_digits": "4242"}
_NOTICES = {
    "credit": "Your store credit is applied.",
    "credit-removed": "Your store credit is not used.",
    "declined": "The payment did not succeed, and nothing was charged. Please choose how to pay.",
}
LABELS = {"method": "Payment", "payments": "Payment"}
CHOOSE = "Choose how to pay."
_NOT_AVAILABLE = "This way to pay is not available. Please choose another one."
_CARD_FIELD = "source_attributes.gateway_payment_profile_id"
# The API writes for developers.
_SENTENCES = {
    "payment_method_id": _NOT_AVAILABLE,
    "source_id": _NOT_AVAILABLE,
    _CARD_FIELD: "Enter your card details.",
}


class PaymentChoices(msgspec.Struct, frozen=True):
    """What the shopper can pay with. A choice is `method:<id>` or `card:<id>`."""

    methods: Sequence[PaymentMethod]
    cards: Sequence[CreditCard]
    credit: int
    """The balance of store credit in the currency of the order, in minor units."""

    @property
    def stripe_key(self) -> str | None:
        """Stripe's publishable key, if a method needs its form."""
        keys = [method.preferences.get("publishable_key") for method in self.methods if method.type == "stripe"]
        return next((str(key) for key in keys if key), None)


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    checkout = await find_checkout(ctx)
    if checkout is None:
        return redirect(CART)
    earlier = find_earlier_step(checkout, "payment")
    if earlier or not checkout.order.total:
        return redirect(earlier or REVIEW)
    return await render_payment(request, ctx, visit, checkout, notice=notice_of(request, _NOTICES))


async def save(request: Request, ctx: Context, visit: Visit) -> Reply:
    fields = plain_fields(request)
    try:
        choice = await read_choice(ctx, fields)
        if choice is None:
            await _require_full_credit(ctx)
        if choice is not None:
            await workflow.create_payment(ctx, choice)
    except Invalid as error:
        return await _show_errors(request, ctx, visit, error, fields.get("method", ""))
    return redirect(REVIEW)


async def use_credit(request: Request, ctx: Context, visit: Visit) -> Reply:
    try:
        await workflow.add_store_credit(ctx, None)
    except Invalid as error:
        return await _show_errors(request, ctx, visit, error)
    return redirect(f"{PAYMENT}?done=credit")


async def remove_credit(_request: Request, ctx: Context, _visit: Visit) -> Reply:
    await workflow.remove_store_credit(ctx)
    return redirect(f"{PAYMENT}?done=credit-removed")


async def read_choice(ctx: Context, fields: Mapping[str, str]) -> CheckoutPaymentInput | None:
    """Returns the chosen payment; None if nothing was chosen."""
    kind, _, record_id = fields.get("method", "").partition(":")
    if kind == "card":
        return read_input(CheckoutPaymentInput, {"source_id": record_id})
    if kind == "method":
        method = next((each for each in await views.list_offered_methods(ctx) if str(each.id) == record_id), None)
        source = _read_source(method, fields) if method else {}
        return read_input(CheckoutPaymentInput, {"payment_method_id": record_id, "source_attributes": source})
    return None


async def _require_full_credit(ctx: Context) -> None:
    """Raises if nothing was chosen and store credit does not cover the total."""
    checkout = await find_checkout(ctx)
    if checkout is None or checkout.covered < checkout.order.total:
        raise Invalid({"method": [CHOOSE]})


def _read_source(method: PaymentMethod, fields: Mapping[str, str]) -> dict[str, str]:
    if method.type == "test_card":
        return {"gateway_payment_profile_id": fields.get("test_card", ""), **_TEST_CARD}
    reference = fields.get("gateway_payment_profile_id", "")
    if method.type == "stripe" and not reference:
        raise Invalid({_CARD_FIELD: ["is required"]})
    return {"gateway_payment_profile_id": reference} if reference else {}


async def _show_errors(request: Request, ctx: Context, visit: Visit, error: Invalid, choice: str = "") -> Reply:
    other = path_for_error(error, PAYMENT)
    checkout = await find_checkout(ctx)
    if other or checkout is None:
        return redirect(other or CART)
    errors = {"method": list_sentences(error)}
    return await render_payment(request, ctx, visit, checkout, 422, errors=errors, choice=choice)


def list_sentences(error: Invalid) -> list[str]:
    """Returns the errors of a choice, as sentences for the shopper."""
    return [_SENTENCES.get(name) or join_sentences(texts) for name, texts in error.errors.items()]


async def render_payment(
    request: Request, ctx: Context, visit: Visit, checkout: Checkout, status: int = 200, **values: Any
) -> Reply:
    """Shows the payment page; also after a payment was declined."""
    order = checkout.order
    choices = await load_choices(ctx, visit, order)
    page: dict[str, Any] = {
        "title": "Payment",
        "steps": STEPS,
        "order": order,
        "rows": await load_rows(ctx, order, checkout.lines),
        "sums": build_sums(order),
        "choices": choices,
        "test_cards": TEST_CARDS,
        "is_covered": 0 < order.total <= order.store_credit_total,
        "labels": LABELS,
        **values,
    }
    page["choice"] = page.get("choice") or _current_choice(checkout, choices)
    body = await render_page(ctx, request, "checkout/payment.html", user=visit.user, **page)
    return html_page(request, body, status, policy=STRIPE_POLICY if choices.stripe_key else PAGE_POLICY)


async def load_choices(ctx: Context, visit: Visit, order: Order) -> PaymentChoices:
    """Returns what the shopper can pay with: saved cards and store credit are for the owner of the order only."""
    methods = await views.list_website_methods(ctx)
    if visit.user is None or order.user_id != visit.user.id:
        return PaymentChoices(methods, (), 0)
    method_ids = {method.id for method in methods}
    cards = [card for card in await saved_cards.list_cards(ctx) if card.payment_method_id in method_ids]
    user, _ = await account.get_account(ctx)
    balances = {each["currency"]: int(each["amount"]) for each in user.credits}
    return PaymentChoices(methods, cards, balances.get(order.currency, 0))


async def continue_payment(
    request: Request, ctx: Context, visit: Visit, error: PaymentNeedsAction, order: Order, *, action: str, back: str
) -> Reply:
    """Opens the page where the shopper confirms the payment, or Stripe's dialog. After that, the shopper returns to the
    path `back`, or sends the form of the dialog to the path `action`.
    """
    url = error.next_action["url"]
    if url is not None:
        base_url = request.origin(ctx.shared.settings.public_url)
        return redirect(f"{url}?return_url={quote(f'{base_url}{back}?confirmed=1', safe='')}")
    page = {"title": "Confirm your payment", "order": order, "client_secret": error.client_secret, "action": action}
    page["stripe_key"] = PaymentChoices(await views.list_website_methods(ctx), (), 0).stripe_key or ""
    body = await render_page(ctx, request, "checkout/confirm.html", user=visit.user, **page)
    return html_page(request, body, policy=STRIPE_POLICY)


def _current_choice(checkout: Checkout, choices: PaymentChoices) -> str:
    """Returns the choice made before, or the only one there is."""
    open_payments = [each for each in checkout.payments if each.state == "checkout" and not is_credit(each)]
    if open_payments:
        payment, card_ids = open_payments[-1], {card.id for card in choices.cards}
        return f"card:{payment.source_id}" if payment.source_id in card_ids else f"method:{payment.payment_method_id}"
    return find_only_choice(choices)


def find_only_choice(choices: PaymentChoices) -> str:
    """Returns the card that was used last, or the only method."""
    if choices.cards:
        return f"card:{choices.cards[0].id}"
    return f"method:{choices.methods[0].id}" if len(choices.methods) == 1 else ""
