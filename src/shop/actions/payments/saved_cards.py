"""Cards that are kept for those who paid with them, to be paid with again."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from shop.actions.checkout.views import public_method
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.gateways.payments import Result
from shop.models.checkout.payments import CreditCard, PaymentMethod
from shop.queries.payments import payments as queries
from shop.queries.payments import saved_cards

DEFAULT = "default"
_log = structlog.get_logger("shop.payments")


async def list_cards(ctx: Context, method_id: UUID | None = None) -> list[CreditCard]:
    """Mine; of one way to pay, where that is asked for."""
    found = await saved_cards.list_cards(ctx.db, (await ctx.signed_in()).user.id)
    return [card for card in found if method_id in (None, card.payment_method_id)]


async def get_card(ctx: Context, card_id: str) -> CreditCard:
    """By its id, or the one that was paid with last."""
    found = await list_cards(ctx)
    for card in found:
        if str(card.id) == card_id.lower() or (card_id == DEFAULT and card.is_default):
            return card
    raise NotFound()


async def list_methods_of(ctx: Context, found: list[CreditCard]) -> Mapping[UUID, PaymentMethod]:
    methods = await queries.list_methods_of(ctx.db, list({card.payment_method_id for card in found}))
    return {method_id: public_method(ctx, method) for method_id, method in methods.items()}


async def remove_card(ctx: Context, card_id: str) -> None:
    """Gone for its owner whatever the provider says to it."""
    user, wanted = (await ctx.signed_in()).user, as_uuid(card_id)
    removed = await saved_cards.forget_card(ctx.db, user.id, wanted) if wanted else None
    if removed is None:
        raise NotFound()
    reference, method_id = removed
    method = (await queries.list_methods_of(ctx.db, [method_id]))[method_id]
    if reference is None:
        return
    try:
        await ctx.providers[method.type].forget(reference)
    except Exception as error:
        _log.warning("a provider did not forget a card", type=method.type, reason=type(error).__name__)


async def keep_card(ctx: Context, attempt_id: UUID, result: Result) -> None:
    """What the provider told of the card is what is shown of it, whatever the client had said."""
    card = result.card
    if result.outcome != "approved" or card is None:
        return
    told = msgspec.structs.asdict(card)
    is_kept = told.pop("is_kept")
    told["customer_reference"] = told.pop("customer")
    await saved_cards.keep_card(ctx.db, attempt_id, is_kept=is_kept, told=told)
