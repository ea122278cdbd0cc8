"""Places drafts: completes them like a shopper's order, in one transaction, since no provider is called.

Of two operators who place the same draft, the first one gets the order; the other finds it placed.
"""

from collections.abc import Sequence
from datetime import UTC
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.cart.line_items import apply_current_quotes
from shop.actions.cart.locked_carts import prepare_lines
from shop.actions.cart.orders import Checkout, load_checkout
from shop.actions.checkout.payments import insert_payment
from shop.actions.checkout.views import can_pay_online
from shop.actions.context import Context
from shop.actions.drafts.drafts import lock_draft, settle_draft
from shop.actions.drafts.pickups import hand_over
from shop.actions.mail_events import is_mail_on, queue_mails
from shop.actions.payments.completion import complete_uncharged
from shop.base.errors import Conflict, Invalid
from shop.models.cart.orders import Order
from shop.models.checkout.payments import BUILT_IN_METHODS, CASH_METHOD, LINK_METHOD, PaymentMethod
from shop.queries.drafts import drafts
from shop.queries.payments import payments
from shop.rules.mail_events import PAYMENT_ATTENTION, MailRequest

CHANGE_CONFLICT = "The draft has changed since this page was loaded. Check it, and place it again."
_DISPLAYS = ("both", "back_end")


async def list_methods(ctx: Context, order: Order) -> Sequence[PaymentMethod]:
    """Returns the ways to pay that an operator can choose: checks and transfers, cash, and a payment link, for which
    the draft needs an e-mail address.
    """
    methods = [
        method
        for method in await payments.list_methods(ctx.db, _DISPLAYS)
        if method.id not in BUILT_IN_METHODS and not ctx.providers[method.type].needs_source
    ]
    built_in = await payments.list_methods_of(ctx.db, [CASH_METHOD, LINK_METHOD])
    has_link = bool(order.email) and is_mail_on(ctx, PAYMENT_ATTENTION) and await can_pay_online(ctx)
    return [*methods, built_in[CASH_METHOD], *([built_in[LINK_METHOD]] if has_link else [])]


async def place_draft(
    ctx: Context, order_id: UUID, method_id: UUID | None, version: str, *, is_handed_over: bool = False
) -> Order:
    """Completes the draft with a payment of this method; with `is_handed_over`, the customer of a pickup has the goods
    already. Raises Conflict if the draft is not at this version, and TotalMismatch if a price, a tax or the
    stock has changed; `refresh_draft` then applies the changes.
    """
    async with ctx.db.transaction():
        order = await lock_draft(ctx, order_id)
        if version_of(order) != version:
            raise Conflict(CHANGE_CONFLICT)
        await payments.remove_untried(ctx.db, order.id)
        if order.total:
            method = next((each for each in await list_methods(ctx, order) if each.id == method_id), None)
            if method is None:
                raise Invalid({"method": ["is not available; choose another one"]})
            await insert_payment(ctx, order, method, None, order.total_minus_store_credits)
        checkout = await complete_uncharged(ctx, order_id)
        await drafts.delete_draft(ctx.db, order_id)
        if is_handed_over:
            await hand_over(ctx, order_id)
        if order.total and method_id == LINK_METHOD:
            mail = MailRequest(kind=PAYMENT_ATTENTION, ref_id=order.id, order_id=order.id, is_free=True)
            await queue_mails(ctx, [mail])
            await audit(ctx, "payment_link", "done", subject_id=order.id)
    ctx.shared.mail_queued.set()
    return checkout.order


async def refresh_draft(ctx: Context, order_id: UUID) -> None:
    """Applies current prices and stock to a draft that could not be placed: removes what is not available."""
    async with ctx.db.transaction():
        order = await lock_draft(ctx, order_id)
        checkout = await load_checkout(ctx, order)
        cart = await apply_current_quotes(ctx, await prepare_lines(ctx, order))
        await settle_draft(ctx, Checkout(cart.order, cart.lines, (), (), checkout.rates, checkout.payments))
        await audit(ctx, "draft_refresh", "done", subject_id=order_id)


def version_of(order: Order) -> str:
    """Returns a text that changes with every change of the draft."""
    return order.updated_at.astimezone(UTC).isoformat()
