"""Exports the personal data of a customer, read from one snapshot."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.base.listing import Page, Sort
from shop.base.money import major_units
from shop.base.record import Record
from shop.models.access.sessions import Session
from shop.models.access.users import User
from shop.models.cart.orders import CartLine, Order
from shop.models.checkout.payments import CreditCard
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.exports import (
    CompletePersonalData,
    ExportedAddress,
    ExportedCard,
    ExportedCredit,
    ExportedLine,
    ExportedMail,
    ExportedOrder,
    ExportedProfile,
    ExportedSession,
    ExportedWish,
    ExportedWishlist,
    PersonalData,
)
from shop.models.customers.wishlists import WishedItem
from shop.queries.access import session_admin
from shop.queries.access import sessions as access
from shop.queries.cart import line_items, orders
from shop.queries.checkout import store_credit
from shop.queries.checkout.store_credit import CreditEntry
from shop.queries.customers import customer_orders, users
from shop.queries.customers import wishlists as lists
from shop.queries.payments import saved_cards

MAX_ORDERS = 1000
MAX_ENTRIES = 1000
_NEWEST = Sort("completed_at", is_descending=True)


async def export_personal_data(ctx: Context) -> PersonalData:
    """Returns everything the shop stores about the customer; at most the newest 1,000 orders and ledger entries."""
    user = (await ctx.signed_in()).user
    async with ctx.db.transaction(is_snapshot=True):
        rows = await orders.list_completed(ctx.db, user.id, Page(1, MAX_ORDERS), _NEWEST)
        return PersonalData(**await _collect(ctx, user, rows))


async def export_for_operator(ctx: Context, user: User) -> CompletePersonalData:
    """Returns the same with notes, tags, e-mails, carts, and orders that a guest placed with the verified address."""
    async with ctx.db.transaction(is_snapshot=True):
        rows = await customer_orders.list_orders(ctx.db, user.id, None, most=MAX_ORDERS)
        mails = await users.list_mails(ctx.db, user.email_key, most=MAX_ENTRIES)
        personal_data = CompletePersonalData(
            **await _collect(ctx, user, rows),
            tags=user.tags,
            note=user.note,
            private_metadata=user.private_metadata,
            e_mails=[ExportedMail(kind=mail.kind, created_at=mail.created_at, sent_at=mail.sent_at) for mail in mails],
        )
    async with ctx.db.transaction():
        await audit(ctx, "customer_exported", "done", subject_id=user.id)
    return personal_data


async def audit_bulk_export(ctx: Context, kind: str) -> None:
    """Audits a file with the personal data of many: `customers` or `orders`."""
    async with ctx.db.transaction():
        await audit(ctx, f"{kind}_exported", "done")


async def _collect(ctx: Context, user: User, rows: Sequence[Order]) -> dict[str, Any]:
    addresses = await users.list_addresses(ctx.db, user.id)
    entries = await store_credit.list_entries(ctx.db, user.id, most=MAX_ENTRIES)
    return {
        "exported_at": await session_admin.read_clock(ctx.db),
        "profile": _profile(user),
        "addresses": [_address(address, user) for address in addresses],
        "orders": await export_orders(ctx, rows),
        "wishlists": await _list_wishlists(ctx, user),
        "cards": [_card(card) for card in await saved_cards.list_cards(ctx.db, user.id)],
        "store_credit": [_credit(entry) for entry in entries],
        "sessions": [_session(session) for session in await access.list_sessions(ctx.db, user.id)],
    }


async def export_orders(ctx: Context, rows: Sequence[Order]) -> list[ExportedOrder]:
    """Returns what an export contains of orders."""
    lines_by_order: dict[UUID, list[CartLine]] = {order.id: [] for order in rows}
    for line in await line_items.list_lines_of(ctx.db, list(lines_by_order)):
        lines_by_order[line.order_id].append(line)
    address_ids = {each for order in rows for each in (order.bill_address_id, order.ship_address_id) if each}
    addresses = await users.find_addresses(ctx.db, list(address_ids))
    return [_order(order, lines_by_order[order.id], addresses) for order in rows]


async def _list_wishlists(ctx: Context, user: User) -> list[ExportedWishlist]:
    wishlists = await lists.list_lists(ctx.db, user.id)
    items = await lists.list_items(ctx.db, [wishlist.id for wishlist in wishlists])
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    variants = await storefront.load_variants(ctx, [item.variant_id for item in items], {"product": {}}, pricing)
    return [
        ExportedWishlist(
            name=wishlist.name,
            is_private=wishlist.is_private,
            is_default=wishlist.is_default,
            created_at=wishlist.created_at,
            items=[_wish(item, variants.get(item.variant_id)) for item in items if item.wishlist_id == wishlist.id],
        )
        for wishlist in wishlists
    ]


def _profile(user: User) -> ExportedProfile:
    return ExportedProfile(
        email=user.email,
        first_name=user.first_name,
        last_name=user.last_name,
        phone=user.phone,
        locale=user.selected_locale,
        customer_since=user.created_at,
        metadata=user.public_metadata,
    )


def _address(address: AddressWithCountry, user: User | None = None) -> ExportedAddress:
    return ExportedAddress(
        label=address.label,
        firstname=address.firstname,
        lastname=address.lastname,
        company=address.company,
        address1=address.address1,
        address2=address.address2,
        city=address.city,
        state=address.state_name,
        zipcode=address.zipcode,
        country=address.country_name,
        phone=address.phone,
        is_billing_default=user is not None and user.bill_address_id == address.id,
        is_shipping_default=user is not None and user.ship_address_id == address.id,
    )


def _order(order: Order, lines: Sequence[CartLine], addresses: Mapping[UUID, AddressWithCountry]) -> ExportedOrder:
    currency = order.currency
    ship_address = addresses.get(order.ship_address_id) if order.ship_address_id else None
    bill_address = addresses.get(order.bill_address_id) if order.bill_address_id else None
    return ExportedOrder(
        number=order.number,
        completed_at=order.completed_at,
        canceled_at=order.canceled_at,
        payment_state=order.payment_state,
        shipment_state=order.shipment_state,
        email=order.email,
        special_instructions=order.special_instructions,
        currency=currency,
        item_total=major_units(order.item_total, currency),
        shipping=major_units(order.ship_total, currency),
        discounts=major_units(order.promo_total, currency),
        tax=major_units(order.tax_total, currency),
        total=major_units(order.total, currency),
        shipping_address=_address(ship_address) if ship_address else None,
        billing_address=_address(bill_address) if bill_address else None,
        items=[_line(line) for line in lines],
    )


def _line(line: CartLine) -> ExportedLine:
    return ExportedLine(
        name=line.name,
        options=line.options_text,
        sku=line.sku,
        quantity=line.quantity,
        price=None if line.price is None else major_units(line.price, line.currency),
        total=major_units(line.total, line.currency),
    )


def _wish(item: WishedItem, variant: Record | None) -> ExportedWish:
    product = variant.links["product"] if variant else None
    return ExportedWish(
        name=product.row.name if isinstance(product, Record) else None,
        sku=variant.row.sku if variant else None,
        options=variant.row.options_text if variant else None,
        quantity=item.quantity,
        added_at=item.created_at,
    )


def _card(card: CreditCard) -> ExportedCard:
    return ExportedCard(
        type=card.cc_type,
        last_digits=card.last_digits,
        month=card.month,
        year=card.year,
        name=card.name,
        last_used_at=card.used_at,
    )


def _credit(entry: CreditEntry) -> ExportedCredit:
    return ExportedCredit(
        at=entry.created_at,
        action=entry.action,
        currency=entry.currency,
        amount=major_units(entry.amount, entry.currency),
        balance=major_units(entry.user_total_amount, entry.currency),
        reason=entry.reason,
        order=entry.order_number,
    )


def _session(session: Session) -> ExportedSession:
    return ExportedSession(
        signed_in_at=session.created_at,
        last_active_at=session.refreshed_at,
        ip_address=session.source,
        user_agent=session.user_agent,
    )
