"""Saved cards: list, show, delete, and save after a payment."""

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
    """Lists the caller's cards, optionally of one payment method."""
    cards = await saved_cards.list_cards(ctx.db, (await ctx.signed_in()).user.id)
    return [card for card in cards if method_id in (None, card.payment_method_id)]


async def get_card(ctx: Context, card_id: str) -> CreditCard:
    """Returns a card by id, or the default card, which is the last one used."""
    cards = await list_cards(ctx)
    for card in cards:
        if str(card.id) == card_id.lower() or (card_id == DEFAULT and card.is_default):
            return card
    raise NotFound()


async def list_methods_of(ctx: Context, cards: list[CreditCard]) -> Mapping[UUID, PaymentMethod]:
    methods = await queries.list_methods_of(ctx.db, list({card.payment_method_id for card in cards}))
    return {method_id: public_method(ctx, method) for method_id, method in methods.items()}


async def remove_card(ctx: Context, card_id: str) -> None:
    """Deletes a saved card, even if the provider fails to delete it."""
    user, card_uuid = (await ctx.signed_in()).user, as_uuid(card_id)
    if card_uuid is None:
        raise NotFound()
    await _remove_card(ctx, user.id, card_uuid)


async def remove_cards_of(ctx: Context, user_id: UUID) -> None:
    """Deletes all saved cards of a customer."""
    for card in await saved_cards.list_cards(ctx.db, user_id):
        await _remove_card(ctx, user_id, card.id)


async def _remove_card(ctx: Context, user_id: UUID, card_id: UUID) -> None:
    async with ctx.db.transaction():
        removed_card = await saved_cards.soft_delete_card(ctx.db, user_id, card_id)
    if removed_card is None:
        raise NotFound()
    reference, method_id = removed_card
    method = (await queries.list_methods_of(ctx.db, [method_id]))[method_id]
    if reference is None:
        return
    try:
        await ctx.providers[method.type].delete_source(reference)
    except Exception as error:
        _log.warning("payment provider did not delete a saved card", type=method.type, reason=type(error).__name__)


async def save_card(ctx: Context, attempt_id: UUID, result: Result) -> None:
    """Saves the card details from the provider, which replace those sent by the client."""
    card = result.card
    if result.outcome != "approved" or card is None:
        return
    fields = msgspec.structs.asdict(card)
    is_saved = fields.pop("is_saved")
    fields["customer_reference"] = fields.pop("customer")
    await saved_cards.save_card_details(ctx.db, attempt_id, is_saved=is_saved, details=fields)
