"""Batch lookups of the related rows of products: variants, options, properties, taxonomies, images and facets."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PG_UUID

from shop.db.pool import DatabaseSession
from shop.db.statements import any_of, into, statement
from shop.models.catalog.images import Image, images
from shop.models.catalog.product_index import listing_facets
from shop.models.catalog.products import (
    OptionValue,
    option_types,
    option_values,
    product_properties,
    properties,
    variant_option_values,
    variants,
)
from shop.models.catalog.storefront import Facet, Facets, StorefrontOptionType, StorefrontProperty, StorefrontVariant
from shop.models.catalog.taxons import Taxonomy, taxonomies
from shop.queries.catalog.columns import BACKORDERABLE, IN_STOCK, VARIANT_COLUMNS
from shop.queries.catalog.product_index import ROOT_SCOPE_ID, currency_facet

_ID = PG_UUID(as_uuid=True)
_IDS = ARRAY(_ID)
_any_id = any_of("ids", _ID)


def _array(clause: Any) -> ColumnElement[Any]:
    return func.array(clause.scalar_subquery(), type_=_IDS)


_variant_options = (
    variant_option_values.join(option_values, option_values.c.id == variant_option_values.c.option_value_id)
).join(option_types, option_types.c.id == option_values.c.option_type_id)
_is_of_variant = variant_option_values.c.variant_id == variants.c.id
_options = func.coalesce(
    select(
        func.jsonb_agg(
            func.jsonb_build_object(
                "name",
                option_types.c.name,
                "value",
                option_values.c.name,
                "presentation",
                option_values.c.presentation,
                "presentation_of_type",
                option_types.c.presentation,
            )
        ).aggregate_order_by(option_types.c.position, option_types.c.name)
    )
    .select_from(_variant_options)
    .where(_is_of_variant)
    .correlate(variants)
    .scalar_subquery(),
    literal_column("'[]'::jsonb"),
)
_variant = select(
    variants,
    IN_STOCK.label("in_stock"),
    BACKORDERABLE.label("backorderable"),
    VARIANT_COLUMNS["available"].label("available"),
    _options.label("options"),
    _array(
        select(option_values.c.id)
        .select_from(_variant_options)
        .where(_is_of_variant)
        .order_by(option_types.c.position, option_types.c.name)
        .correlate(variants)
    ).label("option_value_ids"),
    _array(
        select(images.c.id)
        .where(images.c.variant_id == variants.c.id)
        .order_by(images.c.position, images.c.id)
        .correlate(variants)
    ).label("image_ids"),
)
_VARIANTS = statement(
    _variant.where(variants.c.id == _any_id, variants.c.deleted_at.is_(None)), into(StorefrontVariant)
)
_VARIANTS_OF = statement(
    _variant.where(
        variants.c.product_id == bindparam("product_id", type_=variants.c.id.type), variants.c.deleted_at.is_(None)
    ).order_by(variants.c.is_master.desc(), variants.c.position, variants.c.id),
    into(StorefrontVariant),
)
_OPTION_TYPES = statement(
    select(
        option_types,
        _array(
            select(option_values.c.id)
            .where(option_values.c.option_type_id == option_types.c.id)
            .order_by(option_values.c.position, option_values.c.id)
            .correlate(option_types)
        ).label("option_value_ids"),
    ).where(option_types.c.id == _any_id),
    into(StorefrontOptionType),
)
_OPTION_VALUES = statement(select(option_values).where(option_values.c.id == _any_id), into(OptionValue))
_PROPERTIES = statement(
    select(product_properties, properties.c.name, properties.c.presentation.label("description"))
    .join(properties, properties.c.id == product_properties.c.property_id)
    .where(product_properties.c.id == _any_id),
    into(StorefrontProperty),
)
_TAXONOMIES = statement(select(taxonomies).where(taxonomies.c.id == _any_id), into(Taxonomy))
_IMAGES = statement(select(images).where(images.c.id == _any_id), into(Image))

_facet_counts = (
    select(listing_facets.c.facet_id, func.max(listing_facets.c.product_count).label("product_count"))
    .where(listing_facets.c.scope_id == any_of("scopes", _ID), listing_facets.c.product_count > 0)
    .group_by(listing_facets.c.facet_id)
    .cte("counted")
)
# Reads the display value from any product that has it.
_property_value = (
    select(product_properties.c.property_id, product_properties.c.value, product_properties.c.filter_param)
    .where(
        product_properties.c.facet_id == _facet_counts.c.facet_id,
        # Facet ids of property values are UUIDs of version 5; other facets have no property value.
        func.substr(sql_cast(_facet_counts.c.facet_id, Text), 15, 1) == "5",
    )
    .limit(literal_column("1"))
    .lateral("property_value")
)
_FACETS = statement(
    union_all(
        select(
            literal_column("'option'", Text).label("kind"),
            option_types.c.id.label("owner_id"),
            option_types.c.name.label("owner_name"),
            option_types.c.presentation.label("owner_presentation"),
            option_types.c.position.label("owner_position"),
            option_values.c.id,
            option_values.c.name,
            option_values.c.presentation,
            option_values.c.position,
            _facet_counts.c.product_count,
        )
        .select_from(_facet_counts)
        .join(option_values, option_values.c.id == _facet_counts.c.facet_id)
        .join(option_types, option_types.c.id == option_values.c.option_type_id)
        .where(option_types.c.filterable),
        select(
            literal_column("'property'", Text),
            properties.c.id,
            properties.c.name,
            properties.c.presentation,
            literal_column("0", BigInteger),
            _facet_counts.c.facet_id,
            _property_value.c.filter_param,
            _property_value.c.value,
            literal_column("0", BigInteger),
            _facet_counts.c.product_count,
        )
        .select_from(_facet_counts)
        .join(_property_value, literal_column("true"))
        .join(properties, properties.c.id == _property_value.c.property_id)
        .where(properties.c.filterable),
        # Total counts, in the scopes and in the whole shop.
        select(
            case((listing_facets.c.scope_id == literal(ROOT_SCOPE_ID, _ID), "everywhere"), else_="scope"),
            listing_facets.c.scope_id,
            *(literal_column("''", Text) for _ in range(2)),
            literal_column("0", BigInteger),
            listing_facets.c.facet_id,
            *(literal_column("''", Text) for _ in range(2)),
            literal_column("0", BigInteger),
            listing_facets.c.product_count,
        ).where(
            listing_facets.c.facet_id == bindparam("currency_facet", type_=_ID),
            or_(
                listing_facets.c.scope_id == any_of("scopes", _ID),
                listing_facets.c.scope_id == literal(ROOT_SCOPE_ID, _ID),
            ),
        ),
    ),
    into(Facet),
)


async def list_variants(db: DatabaseSession, ids: Sequence[UUID]) -> list[StorefrontVariant]:
    return await db.all(_VARIANTS, ids=list(ids)) if ids else []


async def list_variants_of(db: DatabaseSession, product_id: UUID) -> list[StorefrontVariant]:
    """Returns a product's variants, the master first."""
    return await db.all(_VARIANTS_OF, product_id=product_id)


async def list_option_types(db: DatabaseSession, ids: Sequence[UUID]) -> list[StorefrontOptionType]:
    return await db.all(_OPTION_TYPES, ids=list(ids)) if ids else []


async def list_option_values(db: DatabaseSession, ids: Sequence[UUID]) -> list[OptionValue]:
    return await db.all(_OPTION_VALUES, ids=list(ids)) if ids else []


async def list_properties(db: DatabaseSession, ids: Sequence[UUID]) -> list[StorefrontProperty]:
    return await db.all(_PROPERTIES, ids=list(ids)) if ids else []


async def list_taxonomies(db: DatabaseSession, ids: Sequence[UUID]) -> list[Taxonomy]:
    return await db.all(_TAXONOMIES, ids=list(ids)) if ids else []


async def list_images(db: DatabaseSession, ids: Sequence[UUID]) -> list[Image]:
    return await db.all(_IMAGES, ids=list(ids)) if ids else []


async def list_facets(db: DatabaseSession, taxon_ids: Sequence[UUID], currency: str) -> Facets:
    """Returns the facets and the number of products in these taxons, or in the whole shop."""
    rows = await db.all(_FACETS, scopes=list(taxon_ids) or [ROOT_SCOPE_ID], currency_facet=currency_facet(currency))
    values = [facet for facet in rows if facet.kind in {"option", "property"}]
    everywhere = next((facet.product_count for facet in rows if facet.kind == "everywhere"), 0)
    in_scopes = [facet.product_count for facet in rows if facet.kind == "scope"]
    return Facets(values, everywhere, sum(in_scopes) if taxon_ids else everywhere)
