"""One statement that tells which kinds of background work are due, instead of one for each kind."""

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, exists, func, literal_column, or_, select

from shop.db.pool import DatabaseSession
from shop.db.statements import into, seconds, statement
from shop.models.accounts.erasures import erasures
from shop.models.accounts.merges import customer_merges
from shop.models.cart.order_index import order_index_progress
from shop.models.cart.orders import stock_holds
from shop.models.catalog.product_index import listings
from shop.models.catalog.products import products
from shop.models.catalog_bulk.batches import OPEN_STATES, product_batches
from shop.models.checkout.payments import payment_attempts, unsettled_attempts
from shop.models.customers.wishlists import restocked_variants
from shop.models.events import event_counters, events
from shop.models.extensions.listeners import extension_listeners
from shop.models.extensions.webhooks import extension_webhooks
from shop.models.imports.csv_imports import csv_imports
from shop.models.journal import outbox_mails
from shop.models.operations.report_days import report_states, stale_days
from shop.models.setup.shop import shops
from shop.models.webhooks.deliveries import webhook_deliveries
from shop.models.webhooks.endpoints import webhook_endpoints
from shop.queries.operations.report_days import ARE_CARTS_DUE

_now = func.now()


class DueWork(msgspec.Struct, frozen=True):
    """Whether work of each kind is due; at most more often than the work itself finds something to do."""

    mails: bool
    events: bool
    """Whether events have no number yet."""
    numbered_events: bool
    """Whether the index of orders, reports or listeners have not read the log to its end."""
    tasks: bool
    batches: bool
    imports: bool
    erasures: bool
    merges: bool
    webhooks: bool
    """Whether an endpoint has no process that delivers to it, or a disabled one has deliveries."""
    extension_webhooks: bool
    shop_version: int


def _is_free(until: ColumnElement[Any]) -> ColumnElement[bool]:
    return or_(until.is_(None), until <= _now)


def _is_one_of(column: ColumnElement[Any], *words: str) -> ColumnElement[bool]:
    return column.in_([literal_column(f"'{word}'") for word in words])


_last_position = select(event_counters.c.last_position).scalar_subquery()
_zone = select(shops.c.time_zone).scalar_subquery()
_KINDS: dict[str, ColumnElement[bool]] = {
    "mails": exists().where(
        outbox_mails.c.sent_at.is_(None),
        outbox_mails.c.dead_at.is_(None),
        outbox_mails.c.next_at <= _now,
        _is_free(outbox_mails.c.locked_until),
    ),
    "events": exists().where(events.c.position.is_(None)),
    "numbered_events": or_(
        exists().where(
            or_(order_index_progress.c.position.is_distinct_from(_last_position), ~order_index_progress.c.is_filled)
        ),
        exists().where(
            or_(
                report_states.c.position != _last_position,
                report_states.c.time_zone.is_distinct_from(_zone),
                ARE_CARTS_DUE,
            )
        ),
        exists().select_from(stale_days),
        exists().where(
            extension_listeners.c.position < _last_position,
            _is_free(extension_listeners.c.leased_until),
            _is_free(extension_listeners.c.next_at),
        ),
    ),
    "tasks": or_(
        exists().where(
            unsettled_attempts.c.attempt_id == payment_attempts.c.id,
            payment_attempts.c.created_at < _now - seconds("age"),
            func.coalesce(payment_attempts.c.looked_at < _now - seconds("pause"), literal_column("true")),
        ),
        exists().where(stock_holds.c.expires_at < _now),
        exists().where(
            products.c.status == literal_column("'draft'"),
            products.c.make_active_at <= _now,
            products.c.deleted_at.is_(None),
        ),
        exists().where(listings.c.next_look_at <= _now),
        exists().select_from(restocked_variants),
    ),
    "batches": exists().where(_is_one_of(product_batches.c.state, *OPEN_STATES)),
    "imports": exists().where(
        _is_one_of(csv_imports.c.state, "checking", "running"), _is_free(csv_imports.c.leased_until)
    ),
    "erasures": exists().where(erasures.c.ended_at.is_(None)),
    "merges": exists().select_from(customer_merges),
    "webhooks": or_(
        exists().where(
            webhook_endpoints.c.enabled,
            webhook_endpoints.c.deleted_at.is_(None),
            _is_free(webhook_endpoints.c.leased_until),
        ),
        exists().where(
            and_(~webhook_endpoints.c.enabled, webhook_deliveries.c.endpoint_id == webhook_endpoints.c.id),
            webhook_deliveries.c.state == literal_column("'pending'"),
        ),
    ),
    "extension_webhooks": exists().where(
        extension_webhooks.c.handled_at.is_(None),
        extension_webhooks.c.next_at <= _now,
        _is_free(extension_webhooks.c.leased_until),
    ),
}
_version = select(shops.c.version).scalar_subquery()
_FIND = statement(
    select(*(clause.label(name) for name, clause in _KINDS.items()), _version.label("shop_version")), into(DueWork)
)


async def find_due_work(db: DatabaseSession, *, age: int, pause: int) -> DueWork | None:
    """Returns what is due; unsettled payment attempts are `age` seconds after they began, and every `pause` seconds."""
    return await db.one(_FIND, age=age, pause=pause)
