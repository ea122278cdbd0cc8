"""Reads of the website's catalog pages, each in a fixed number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Page
from shop.models.catalog.images import Image
from shop.models.catalog.product_query import ProductQuery
from shop.models.catalog.storefront import (
    Facets,
    StorefrontOptionType,
    StorefrontProduct,
    StorefrontProperty,
    StorefrontVariant,
)
from shop.models.catalog.taxons import StorefrontTaxon
from shop.models.setup.website import MAX_FEATURED, WebsiteSettings
from shop.queries.catalog import priced_products as products
from shop.queries.catalog import prices, product_lists, stock, taxons
from shop.queries.catalog import storefront as queries
from shop.queries.catalog.prices import Pricing, ResolvedPrice

MAX_LEVELS = 32
"""Longer permalinks are not looked up."""
NEW_PRODUCTS = 8
"""The number of products on a home page without featured ones."""
RELATED_PRODUCTS = 4
_NO_FACETS = Facets([], 0, 0)
"""Makes the product list walk its index, which is fastest for the first products of the whole shop."""
Images = Mapping[UUID, Image]


class Category(msgspec.Struct, frozen=True):
    """A taxon with its ancestors, from the root down, and its children."""

    taxon: StorefrontTaxon
    ancestors: Sequence[StorefrontTaxon]
    children: Sequence[StorefrontTaxon]


class HomeContent(msgspec.Struct, frozen=True):
    """The categories and products of the home page, with their images by id."""

    hero_taxon: StorefrontTaxon | None
    taxons: Sequence[StorefrontTaxon]
    taxon_image_ids: Mapping[UUID, UUID | None]
    """A taxon's own image, or else the first one of its products."""
    products: Sequence[StorefrontProduct]
    images: Images


class ProductDetails(msgspec.Struct, frozen=True):
    """A product with everything that its page shows."""

    product: StorefrontProduct
    variants: Sequence[StorefrontVariant]
    """The variants, or the master if there are no others."""
    prices: Mapping[UUID, ResolvedPrice]
    option_types: Sequence[StorefrontOptionType]
    properties: Sequence[StorefrontProperty]
    path: Sequence[StorefrontTaxon]
    """Its category with all ancestors, from the root down; empty if it has none."""
    counts_on_hand: Mapping[UUID, int]
    """By variant, of those whose stock is tracked."""
    related: Sequence[StorefrontProduct]
    images: Images


async def get_category(ctx: Context, permalink: str) -> Category:
    if permalink.count("/") >= MAX_LEVELS:
        raise NotFound()
    rows = await taxons.list_path(ctx.db, permalink)
    taxon = next((row for row in rows if row.permalink == permalink), None)
    if taxon is None:
        raise NotFound()
    children = [row for row in rows if row.parent_id == taxon.id]
    return Category(taxon, [row for row in rows if row.depth < taxon.depth], children)


async def list_top_categories(ctx: Context) -> list[StorefrontTaxon]:
    """Returns the categories with products below the root of the first taxonomy."""
    rows = [row for row in await taxons.list_taxons(ctx.db, {"depth": 1}, Page(1, 100)) if row.has_products]
    return [row for row in rows if row.taxonomy_id == rows[0].taxonomy_id][:MAX_FEATURED]


async def load_images(ctx: Context, ids: Iterable[UUID | None]) -> Images:
    """Returns the existing images among these ids, by id."""
    image_ids = [image_id for image_id in dict.fromkeys(ids) if image_id is not None]
    return {image.id: image for image in await queries.list_images(ctx.db, image_ids)}


async def load_first_images(ctx: Context, rows: Iterable[StorefrontProduct]) -> Images:
    """Returns the first image of each product, by the image's id."""
    return await load_images(ctx, map(first_image_id, rows))


def first_image_id(product: StorefrontProduct) -> UUID | None:
    return product.image_ids[0] if product.image_ids else None


async def load_home(ctx: Context, settings: WebsiteSettings) -> HomeContent:
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    hero_taxon, featured_taxons = await _list_home_taxons(ctx, settings)
    rows = await _list_home_products(ctx, settings.featured_product_ids, pricing)
    without_image = [taxon.id for taxon in featured_taxons if taxon.image_id is None]
    product_image_ids = await taxons.list_first_image_ids(ctx.db, without_image)
    taxon_image_ids = {taxon.id: taxon.image_id or product_image_ids.get(taxon.id) for taxon in featured_taxons}
    hero_ids = [settings.hero_image_id, hero_taxon.image_id if hero_taxon else None]
    images = await load_images(ctx, [*hero_ids, *taxon_image_ids.values(), *map(first_image_id, rows)])
    return HomeContent(hero_taxon, featured_taxons, taxon_image_ids, rows, images)


async def _list_home_taxons(
    ctx: Context, settings: WebsiteSettings
) -> tuple[StorefrontTaxon | None, Sequence[StorefrontTaxon]]:
    """Returns the taxon of the hero and the featured taxons, or else the top categories."""
    featured_ids, hero_id = settings.featured_taxon_ids, settings.hero_taxon_id
    rows = await taxons.list_taxons_of(ctx.db, [*featured_ids, *([hero_id] if hero_id else [])])
    by_id = {row.id: row for row in rows}
    featured_taxons = [by_id[taxon_id] for taxon_id in featured_ids if taxon_id in by_id]
    return by_id.get(hero_id) if hero_id else None, featured_taxons or await list_top_categories(ctx)


async def _list_home_products(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[StorefrontProduct]:
    """Returns the featured products that are for sale, or else the newest products."""
    by_id = {row.id: row for row in await products.list_products_of(ctx.db, ids, pricing) if row.available}
    if featured_products := [by_id[product_id] for product_id in ids if product_id in by_id]:
        return featured_products
    return await product_lists.list_products(
        ctx.db,
        ProductQuery(currency=pricing.currency, page=Page(1, NEW_PRODUCTS)),
        pricing,
        _NO_FACETS,
        StorefrontProduct,
    )


async def suggest_products(ctx: Context, text: str, most: int) -> tuple[Sequence[StorefrontProduct], Images]:
    """Returns the best matches of a search text, with their first images."""
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    query = ProductQuery(currency=pricing.currency, q=text, page=Page(1, most))
    rows = await product_lists.list_products(ctx.db, query, pricing, _NO_FACETS, StorefrontProduct)
    return rows, await load_first_images(ctx, rows)


async def get_product_details(ctx: Context, key: UUID | str) -> ProductDetails:
    record, pricing = await storefront.get_product(ctx, key, ctx.shared.shop.currencies[0], {})
    product: StorefrontProduct = record.row
    variant_ids = product.variant_ids or [product.master_id]
    rows = {row.id: row for row in await queries.list_variants(ctx.db, variant_ids)}
    variants = [rows[variant_id] for variant_id in variant_ids if variant_id in rows]
    path = _find_path(product, await taxons.list_with_ancestors(ctx.db, product.taxon_ids))
    related: Sequence[StorefrontProduct] = ()
    if path:
        related = await products.list_neighbors(ctx.db, product.id, path[-1].id, pricing, RELATED_PRODUCTS)
    return ProductDetails(
        product=product,
        variants=variants,
        prices=await prices.resolve(ctx.db, pricing, variant_ids),
        option_types=await queries.list_option_types(ctx.db, product.option_type_ids),
        properties=await queries.list_properties(ctx.db, product.property_ids),
        path=path,
        counts_on_hand=await stock.list_counts_on_hand(
            ctx.db, [row.id for row in variants if row.track_inventory and row.in_stock]
        ),
        related=related,
        images=await load_images(ctx, [*product.image_ids, *map(first_image_id, related)]),
    )


def _find_path(product: StorefrontProduct, rows: Sequence[StorefrontTaxon]) -> list[StorefrontTaxon]:
    """Returns the deepest category of the product in the first taxonomy, after its ancestors."""
    own = [row for row in rows if row.id in product.taxon_ids and row.taxonomy_id == rows[0].taxonomy_id]
    if not own:
        return []
    taxon = max(own, key=lambda row: row.depth)
    return [
        row for row in rows if row.taxonomy_id == taxon.taxonomy_id and row.lft <= taxon.lft and row.rgt >= taxon.rgt
    ]
