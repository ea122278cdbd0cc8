"""Which tables the file of a whole shop contains, and which it leaves out, with the reasons."""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy import Table

from shop.models.access.applications import application_secrets, applications
from shop.models.access.operators import operator_recovery_codes, operators
from shop.models.access.passkeys import operator_passkeys
from shop.models.access.roles import roles
from shop.models.access.users import customer_group_members, customer_groups, users
from shop.models.accounts.erasures import erasures
from shop.models.accounts.merges import customer_merges, merged_addresses
from shop.models.cart.archived_orders import archived_orders
from shop.models.cart.orders import abandoned_carts, line_items, loose_addresses, orders, stock_holds
from shop.models.cart.promotions import (
    coupon_batches,
    promotion_actions,
    promotion_categories,
    promotion_rules,
    promotions,
)
from shop.models.cart.timeline import timeline_entries
from shop.models.catalog.images import images
from shop.models.catalog.prices import price_list_entries, price_list_groups, price_list_users, price_lists, prices
from shop.models.catalog.product_index import listing_sales
from shop.models.catalog.products import (
    option_types,
    option_values,
    product_option_types,
    product_properties,
    product_slugs,
    products,
    properties,
    variant_option_values,
    variants,
)
from shop.models.catalog.stock import stock_items, stock_locations, stock_movements
from shop.models.catalog.taxons import classifications, taxonomies, taxons
from shop.models.catalog_bulk.batches import product_batch_edits, product_batches
from shop.models.checkout.coupons import adjustments, coupon_codes, order_promotions, promotion_uses
from shop.models.checkout.payments import (
    payment_attempts,
    payment_methods,
    payment_notices,
    payment_sources,
    payments,
    refunds,
)
from shop.models.checkout.shipments import (
    shipment_items,
    shipments,
    shipping_method_amounts,
    shipping_method_categories,
    shipping_method_zones,
    shipping_methods,
    shipping_rates,
)
from shop.models.checkout.store_credit import (
    store_credit_categories,
    store_credit_events,
    store_credit_types,
    store_credits,
)
from shop.models.content.menus import menu_items, menus
from shop.models.content.pages import cms_pages, policies
from shop.models.customers.addresses import addresses
from shop.models.customers.wishlists import restocked_variants, wished_items, wishlists
from shop.models.documents.invoices import invoice_counters, invoices
from shop.models.drafts.drafts import draft_discounts, drafts
from shop.models.events import event_counters, events
from shop.models.extensions.listeners import extension_listeners
from shop.models.extensions.webhooks import extension_webhooks
from shop.models.imports.csv_imports import csv_import_chunks, csv_imports
from shop.models.journal import audit_events, outbox_mails
from shop.models.operations.report_days import (
    adjustment_days,
    cart_days,
    frozen_days,
    payment_days,
    product_days,
    refund_days,
    sales_days,
)
from shop.models.order_edits.approvals import refund_requests
from shop.models.order_edits.notes import order_notes
from shop.models.order_edits.refunds import refund_items
from shop.models.setup.countries import countries, states
from shop.models.setup.shop import shops
from shop.models.setup.taxes import shipping_categories, tax_categories
from shop.models.setup.zones import tax_rates, zone_members, zones
from shop.models.stock.deliveries import stock_deliveries, stock_delivery_lines
from shop.models.stock.thresholds import stock_thresholds
from shop.models.webhooks.deliveries import webhook_attempts, webhook_deliveries
from shop.models.webhooks.endpoints import webhook_endpoints, webhook_secrets

ShopTable = Table
"""A table, for layers that do not import the database library."""


class ExtensionTableSet(msgspec.Struct, frozen=True, eq=False):
    """The tables of an installed extension, each after those that it refers to."""

    name: str
    version: str
    revision: str
    """The newest of its migrations in the database."""
    revisions: Collection[str]
    """All of its migrations."""
    tables: Sequence[Table]


# fmt: off
EXPORT_TABLES: tuple[Table, ...] = (
    # Settings.
    shops, countries, states, zones, zone_members, tax_categories, tax_rates, shipping_categories, shipping_methods,
    shipping_method_amounts, shipping_method_categories, shipping_method_zones, payment_methods, stock_locations,
    store_credit_categories, store_credit_types, roles, operators, operator_passkeys, operator_recovery_codes,
    applications, application_secrets, webhook_endpoints, webhook_secrets,
    # Customers. The lookups of orders refer to addresses.
    users, addresses, merged_addresses, customer_merges, erasures, customer_groups,
    customer_group_members,
    # Catalog.
    products, product_slugs, option_types, option_values, properties, variants, product_option_types,
    product_properties, variant_option_values, prices, price_lists, price_list_entries, price_list_groups,
    price_list_users, taxonomies, taxons, classifications, images, stock_items, stock_movements, stock_thresholds,
    stock_deliveries, stock_delivery_lines, wishlists, wished_items, restocked_variants, cms_pages, policies, menus,
    menu_items, csv_imports, csv_import_chunks, product_batches, product_batch_edits,
    # Promotions and orders.
    promotion_categories, promotions, promotion_rules, promotion_actions, coupon_batches, orders, abandoned_carts,
    loose_addresses, coupon_codes, line_items, adjustments, shipments, shipment_items, shipping_rates, stock_holds,
    order_promotions, promotion_uses, payment_sources, payments, payment_attempts, payment_notices, refunds,
    refund_items, refund_requests, store_credits, store_credit_events, invoices, invoice_counters, order_notes, drafts,
    draft_discounts, timeline_entries, archived_orders,
    # History.
    audit_events, events, event_counters, outbox_mails, webhook_deliveries, webhook_attempts,
    extension_listeners, extension_webhooks,
    # Figures of reports: an import calculates them again, but not those of days whose orders are archived.
    sales_days, product_days, adjustment_days, payment_days, refund_days, cart_days, frozen_days,
    # After the listings of products, which an import rebuilds.
    listing_sales,
)
# fmt: on
"""The tables of the file, each after those that it refers to."""

INITIAL_TABLES = frozenset(
    {
        shops,
        countries,
        states,
        shipping_categories,
        shipping_methods,
        payment_methods,
        stock_locations,
        roles,
        event_counters,
        extension_listeners,
    }
)
"""The tables that have rows in a new shop; an import replaces these rows."""

SECRET_TABLES = frozenset({application_secrets, operator_passkeys, operator_recovery_codes, webhook_secrets})
"""The tables that only a file with secrets contains."""

SECRET_COLUMNS: Mapping[str, frozenset[str]] = {"operators": frozenset({"password_hash", "totp_sealed"})}
"""The columns that only a file with secrets contains."""

INTERNAL_COLUMNS: Mapping[str, frozenset[str]] = {
    "csv_imports": frozenset({"leased_until"}),
    "extension_listeners": frozenset({"leased_until"}),
    "extension_webhooks": frozenset({"leased_until"}),
    "outbox_mails": frozenset({"locked_until"}),
    "shops": frozenset({"version"}),
    "webhook_endpoints": frozenset({"leased_by", "leased_until"}),
}
"""The columns that no file contains: leases of processes and versions of caches."""

_REPORTS = "the progress of reports, which the worker calculates again"
_CREDENTIALS = "credentials that expire: sign in again"
_INDEX = "an index that the import builds again"
_CACHE = "the version of a cache"
LEFT_OUT: Mapping[str, str] = {
    "access_tokens": _CREDENTIALS,
    "archive_states": "the progress of archiving orders, which starts again",
    "backups": "the backups of this database, at places of its own",
    "catalog_versions": _CACHE,
    "customer_lookups": _INDEX,
    "demo_fills": "the progress of the historical orders of a demo",
    "housekeeping_runs": "the last run of housekeeping on this database",
    "idempotency_keys": "answers to repeated requests, which expire within a day",
    "listing_facets": _INDEX,
    "listings": _INDEX,
    "login_requests": _CREDENTIALS,
    "loose_files": "files of images that housekeeping deletes",
    "operator_links": _CREDENTIALS,
    "operator_sessions": _CREDENTIALS,
    "order_index_progress": "the progress of an index that the worker builds again",
    "order_listings": "an index that the worker builds again",
    "order_lookups": _INDEX,
    "product_versions": _CACHE,
    "promotion_versions": _CACHE,
    "rate_counts": "counts of rate limits, which expire",
    "refresh_tokens": _CREDENTIALS,
    "report_states": _REPORTS,
    "server_keys": "the server keys that this database knows",
    "sessions": _CREDENTIALS,
    "setup_versions": _CACHE,
    "stale_days": _REPORTS,
    "stock_levels": _INDEX,
    "unsettled_attempts": _INDEX,
}
"""The tables that the file does not contain, with the reasons."""


def list_tables(*, has_secrets: bool) -> list[Table]:
    """Returns the tables of a file, in order."""
    return [table for table in EXPORT_TABLES if has_secrets or table not in SECRET_TABLES]


def list_columns(table: Table, *, has_secrets: bool) -> list[str]:
    """Returns the names of the columns of a table in a file."""
    hidden_columns = INTERNAL_COLUMNS.get(table.name, frozenset())
    if not has_secrets:
        hidden_columns |= SECRET_COLUMNS.get(table.name, frozenset())
    return [str(column.name) for column in table.columns if column.name not in hidden_columns]


def list_required_columns(table: Table) -> list[str]:
    """Returns the columns that every file must contain: those without a default."""
    return [str(column.name) for column in table.columns if not column.nullable and column.server_default is None]
