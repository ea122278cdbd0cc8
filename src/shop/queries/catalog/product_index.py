"""Maintains `listings`, the index table of product lists, by rebuilding the rows of changed products.

Every write that changes how a product is displayed calls `refresh` in the same transaction. It locks the products
first, so that the later of two writers sees the changes of the earlier one.
"""

from collections.abc import Iterable
from hashlib import md5
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    and_,
    case,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.base.texts import DOUBLE_LETTERS, MARKS, OTHER_LETTERS, SEPARATORS
from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, statement
from shop.models.catalog.images import images
from shop.models.catalog.prices import prices
from shop.models.catalog.product_index import listing_facets, listings
from shop.models.catalog.products import (
    option_types,
    option_values,
    product_option_types,
    product_properties,
    products,
    variant_option_values,
    variants,
)
from shop.models.catalog.stock import stock_items, stock_locations
from shop.models.catalog.taxons import classifications, taxons

ROOT_SCOPE_ID = UUID(int=0)
"""The scope of facets that are counted over all products."""


def currency_facet(currency: str) -> UUID:
    """Returns the facet id of a currency; the hash is not used for security."""
    return UUID(bytes=md5(currency.encode(), usedforsecurity=False).digest())


_IDS = ARRAY(PG_UUID(as_uuid=True))
_any_id = any_of("ids", PG_UUID(as_uuid=True))

_LOCK = statement(
    # FOR NO KEY UPDATE, so that inserts of rows that refer to the product, and lock it next, do not wait.
    select(products.c.id).where(products.c.id == _any_id).order_by(products.c.id).with_for_update(key_share=True),
    lambda record: cast(UUID, record[0]),
)


def fold_text(text: Any) -> ColumnElement[str]:
    """Folds text for search like `base/texts.folded`. Punctuation is removed so that the parser finds plain words, not
    signed numbers, addresses or paths, whose parts could not be found.
    """
    base_letters = func.regexp_replace(func.normalize(text, literal_column("NFKD")), MARKS, "", "g")
    lower_text = func.lower(func.normalize(base_letters, literal_column("NFC")))
    result = func.translate(lower_text, "".join(OTHER_LETTERS), "".join(OTHER_LETTERS.values()))
    for letter, letters in DOUBLE_LETTERS.items():
        result = func.replace(result, letter, letters)
    result = func.regexp_replace(result, SEPARATORS, " ", "g")
    # Most texts are ASCII (bytes equal characters) and need no folding, which is the most expensive step.
    is_plain = func.octet_length(text) == func.char_length(text)
    return case((is_plain, func.regexp_replace(func.lower(text), SEPARATORS, " ", "g")), else_=result)


def _array(clause: Any, kind: Any = _IDS) -> ColumnElement[Any]:
    return func.array(clause.scalar_subquery(), type_=kind)


def _texts(clause: Any) -> ColumnElement[str]:
    return func.array_to_string(func.array(clause.scalar_subquery()), " ")


def _words(weight: str, *texts: ColumnElement[Any]) -> ColumnElement[Any]:
    # PostgreSQL refuses to index much longer texts.
    content = func.left(func.concat_ws(literal_column("' '"), *texts), literal_column("50000"))
    return func.setweight(
        func.to_tsvector(literal_column("'simple'::regconfig"), fold_text(content)), literal_column(weight)
    )


def _if_in_future(moment: Any) -> ColumnElement[Any]:
    return case((moment > func.now(), moment), else_=null())


# Availability of each variant, summed over the active locations.
_supply = (
    select(
        variants.c.id,
        variants.c.product_id,
        variants.c.is_master,
        variants.c.position,
        variants.c.sku,
        or_(~variants.c.track_inventory, func.coalesce(func.sum(stock_items.c.count_on_hand), 0) > 0).label("in_stock"),
        func.coalesce(func.bool_or(stock_items.c.backorderable), False).label("backorderable"),
        and_(variants.c.discontinue_on.is_not(None), variants.c.discontinue_on <= func.now()).label("has_ended"),
        _if_in_future(variants.c.discontinue_on).label("ends_at"),
        # A window over the groups: whether the product has variants besides its master.
        func.bool_or(~variants.c.is_master).over(partition_by=variants.c.product_id).label("has_others"),
    )
    .select_from(
        variants.outerjoin(
            stock_items.join(
                stock_locations,
                and_(stock_items.c.stock_location_id == stock_locations.c.id, stock_locations.c.active),
            ),
            stock_items.c.variant_id == variants.c.id,
        )
    )
    .where(variants.c.product_id == _any_id, variants.c.deleted_at.is_(None))
    .group_by(variants.c.id)
    .cte("supply")
)
_is_sold = and_(~_supply.c.has_ended, or_(~_supply.c.is_master, ~_supply.c.has_others))
_is_available = and_(~_supply.c.has_ended, or_(_supply.c.in_stock, _supply.c.backorderable))


def _in_order(column: Any, *order: Any, only: ColumnElement[bool] | None = None) -> Any:
    aggregate = func.array_agg(column, type_=ARRAY(column.type)).aggregate_order_by(*order)
    # A filter, even one without effect, adds the parentheses that a subscript needs.
    return aggregate.filter(true() if only is None else only)


_variant_order = (_supply.c.position, _supply.c.id)
_variant_summary = (
    select(
        _supply.c.product_id,
        func.array_agg(_supply.c.id, type_=_IDS).filter(_supply.c.is_master)[1].label("master_id"),
        _in_order(_supply.c.id, _supply.c.is_master, ~_is_available, *_variant_order)[1].label("default_variant_id"),
        func.coalesce(
            _in_order(_supply.c.id, *_variant_order, only=~_supply.c.is_master), literal_column("'{}'::uuid[]")
        ).label("variant_ids"),
        _in_order(_supply.c.sku, _supply.c.sku == "", ~_supply.c.is_master, *_variant_order)[1].label("sku"),
        func.string_agg(_supply.c.sku, literal_column("' '")).aggregate_order_by(*_variant_order).label("skus"),
        func.coalesce(func.bool_or(_supply.c.in_stock).filter(_is_sold), False).label("in_stock"),
        func.coalesce(func.bool_or(_supply.c.backorderable).filter(_is_sold), False).label("backorderable"),
        func.min(_supply.c.ends_at).label("ends_at"),
    )
    .group_by(_supply.c.product_id)
    .cte("sold")
)

_ancestors = taxons.alias("above")
_classification_taxons = classifications.join(taxons, taxons.c.id == classifications.c.taxon_id)
_is_of_product = classifications.c.product_id == products.c.id
_taxon_ids = _array(
    select(classifications.c.taxon_id)
    .select_from(_classification_taxons)
    .where(_is_of_product)
    .order_by(taxons.c.taxonomy_id, taxons.c.lft)
    .correlate(products)
)
_within_taxon_ids = _array(
    select(_ancestors.c.id)
    .distinct()
    .select_from(
        _classification_taxons.join(
            _ancestors,
            and_(
                _ancestors.c.taxonomy_id == taxons.c.taxonomy_id,
                _ancestors.c.lft <= taxons.c.lft,
                _ancestors.c.rgt >= taxons.c.rgt,
            ),
        )
    )
    .where(_is_of_product)
    .correlate(products)
)
_taxon_names = _texts(
    select(taxons.c.pretty_name)
    .select_from(_classification_taxons)
    .where(_is_of_product)
    .order_by(taxons.c.id)
    .correlate(products)
)
_variant_options = (
    variants.join(variant_option_values, variant_option_values.c.variant_id == variants.c.id)
    .join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
    .join(option_types, option_types.c.id == option_values.c.option_type_id)
)
_is_variant_of = and_(variants.c.product_id == products.c.id, variants.c.deleted_at.is_(None))
_facet_ids = _array(
    union_all(
        select(option_values.c.id).distinct().select_from(_variant_options).where(_is_variant_of).correlate(products),
        select(product_properties.c.facet_id)
        .where(product_properties.c.product_id == products.c.id)
        .correlate(products),
        select(sql_cast(func.md5(prices.c.currency), PG_UUID(as_uuid=True)))
        .where(prices.c.variant_id == _variant_summary.c.default_variant_id)
        .correlate(_variant_summary),
    )
)
_option_names = _texts(
    select(option_values.c.presentation)
    .distinct()
    .select_from(_variant_options)
    .where(_is_variant_of)
    .order_by(option_values.c.presentation)
    .correlate(products)
)
_option_type_ids = _array(
    select(product_option_types.c.option_type_id)
    .where(product_option_types.c.product_id == products.c.id)
    .order_by(product_option_types.c.position, product_option_types.c.id)
    .correlate(products)
)
_property_ids = _array(
    select(product_properties.c.id)
    .where(product_properties.c.product_id == products.c.id, product_properties.c.show_property)
    .order_by(product_properties.c.position, product_properties.c.id)
    .correlate(products)
)
_image_ids = _array(
    select(images.c.id)
    .where(images.c.product_id == products.c.id)
    .order_by(images.c.position, images.c.id)
    .correlate(products)
)


_LISTING_VALUES: dict[str, Any] = {
    "product_id": products.c.id,
    "master_id": _variant_summary.c.master_id,
    "default_variant_id": _variant_summary.c.default_variant_id,
    "variant_ids": _variant_summary.c.variant_ids,
    "option_type_ids": _option_type_ids,
    "property_ids": _property_ids,
    "taxon_ids": _taxon_ids,
    "image_ids": _image_ids,
    "within_taxon_ids": _within_taxon_ids,
    "facet_ids": _facet_ids,
    "currencies": _array(
        select(prices.c.currency)
        .where(prices.c.variant_id == _variant_summary.c.default_variant_id)
        .order_by(prices.c.currency)
        .correlate(_variant_summary),
        ARRAY(Text()),
    ),
    "sku": _variant_summary.c.sku,
    "in_stock": _variant_summary.c.in_stock,
    "backorderable": _variant_summary.c.backorderable,
    "is_active": and_(
        products.c.status == "active",
        products.c.deleted_at.is_(None),
        or_(products.c.available_on.is_(None), products.c.available_on <= func.now()),
        or_(products.c.discontinue_on.is_(None), products.c.discontinue_on > func.now()),
    ),
    "next_look_at": func.least(
        _if_in_future(products.c.available_on), _if_in_future(products.c.discontinue_on), _variant_summary.c.ends_at
    ),
    "available_on": products.c.available_on,
    "discontinue_on": products.c.discontinue_on,
    # Weights for ranking and the filter by name: A is the name; B SKUs, keywords and tags; C taxons and options;
    # D the description.
    "search": _words("'A'", products.c.name)
    .op("||")(
        _words("'B'", _variant_summary.c.skus, products.c.meta_keywords, func.array_to_string(products.c.tags, " "))
    )
    .op("||")(_words("'C'", _taxon_names, _option_names))
    # Strips HTML tags from descriptions.
    .op("||")(_words("'D'", func.regexp_replace(products.c.description, "</?[A-Za-z][^<>]*>", " ", "g"))),
}
_FACET_COLUMNS = ("within_taxon_ids", "facet_ids", "is_active")
_before = select(*(listings.c[name] for name in _FACET_COLUMNS)).where(listings.c.product_id == _any_id).cte("before")
_insert = insert(listings).from_select(
    list(_LISTING_VALUES),
    select(*(column.label(name) for name, column in _LISTING_VALUES.items())).select_from(
        products.join(_variant_summary, _variant_summary.c.product_id == products.c.id)
    ),
)
_after = (
    _insert.on_conflict_do_update(
        index_elements=["product_id"],
        set_={name: _insert.excluded[name] for name in _LISTING_VALUES if name != "product_id"},
    )
    .returning(*(listings.c[name] for name in _FACET_COLUMNS))
    .cte("after")
)


def _facet_counts(rows: Any, sign: str) -> Any:
    within = func.unnest(func.array_append(rows.c.within_taxon_ids, literal(ROOT_SCOPE_ID, PG_UUID(as_uuid=True))))
    scopes = within.table_valued("scope_id", name=f"scopes_{sign}").render_derived()
    facets = func.unnest(rows.c.facet_ids).table_valued("facet_id", name=f"facets_{sign}").render_derived()
    n = literal_column("1" if sign == "more" else "-1", BigInteger)
    return (
        select(scopes.c.scope_id, facets.c.facet_id, n.label("n"))
        .select_from(rows, scopes, facets)
        .where(rows.c.is_active)
    )


_both = union_all(_facet_counts(_before, "less"), _facet_counts(_after, "more")).subquery("both")
_count_changes = (
    select(_both.c.scope_id, _both.c.facet_id, func.sum(_both.c.n).label("n"))
    .group_by(_both.c.scope_id, _both.c.facet_id)
    .having(func.sum(_both.c.n) != 0)
    # Every writer locks the counts in this order; most change none.
    .order_by(_both.c.scope_id, _both.c.facet_id)
)
_count = insert(listing_facets).from_select(["scope_id", "facet_id", "product_count"], _count_changes)
_REFRESH = statement(
    _count.on_conflict_do_update(
        index_elements=["scope_id", "facet_id"],
        set_={"product_count": listing_facets.c.product_count + _count.excluded.product_count},
    ).returning(listing_facets.c.facet_id),
    lambda record: cast(UUID, record[0]),
)


async def lock_products(db: DatabaseSession, product_ids: Iterable[UUID]) -> None:
    """Locks products in id order, as every writer does."""
    await db.all(_LOCK, ids=list(set(product_ids)))


async def refresh(db: DatabaseSession, product_ids: Iterable[UUID]) -> None:
    """Rebuilds the listings of products; call it after the write, in the same transaction."""
    ids = list(set(product_ids))
    if ids:
        await lock_products(db, ids)
        await db.all(_REFRESH, ids=ids)


_DUE = statement(
    select(listings.c.product_id).where(listings.c.next_look_at <= func.now()).limit(literal_column("100")),
    lambda record: cast(UUID, record[0]),
)


async def list_due(db: DatabaseSession) -> list[UUID]:
    """Returns up to 100 products whose `available_on` or `discontinue_on` has passed since the last refresh."""
    return await db.all(_DUE)
