"""What shoppers look at: products with their prices, variants, taxons; each relation that is asked for is loaded for
all records at once.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.actions.pricing import pricing_for
from shop.base.browsing import ProductWishes
from shop.base.errors import NotFound
from shop.base.listing import Page
from shop.base.loaded import Link, Loaded, Named
from shop.models.catalog import Facet, ShownProduct, ShownVariant
from shop.models.taxons import ShownTaxon
from shop.queries import browse, catalog, prices, taxons
from shop.queries.prices import Pricing, Resolved

Tree = Mapping[str, "Tree"]
MOST_PRODUCTS = 500
"""Of a taxon so many products are named with it; the rest is for the list of products."""


class Related(msgspec.Struct, frozen=True):
    """A relation by ids on the row."""

    kind: str
    field: str
    is_many: bool = False


_RELATED: dict[str, dict[str, Related]] = {
    "product": {
        "variants": Related("variant", "variant_ids", is_many=True),
        "option_types": Related("option_type", "option_type_ids", is_many=True),
        "product_properties": Related("product_property", "property_ids", is_many=True),
        "taxons": Related("taxon", "taxon_ids", is_many=True),
        "images": Related("image", "image_ids", is_many=True),
        "default_variant": Related("variant", "default_variant_id"),
        "primary_variant": Related("variant", "master_id"),
    },
    "variant": {
        "product": Related("product", "product_id"),
        "images": Related("image", "image_ids", is_many=True),
        "option_values": Related("option_value", "option_value_ids", is_many=True),
    },
    "option_type": {"option_values": Related("option_value", "option_value_ids", is_many=True)},
    "option_value": {"option_type": Related("option_type", "option_type_id")},
    "taxon": {
        "parent": Related("taxon", "parent_id"),
        "taxonomy": Related("taxonomy", "taxonomy_id"),
        "children": Related("taxon", "child_ids", is_many=True),
    },
}


class Listed(msgspec.Struct, frozen=True):
    """One page of products, how many there are in all, and what they may be filtered by."""

    records: Sequence[Loaded]
    total: int
    is_estimate: bool
    facets: Sequence[Facet]
    pricing: Pricing


async def list_products(ctx: Context, wishes: ProductWishes, include: Tree) -> Listed:
    pricing = await pricing_for(ctx, wishes.currency)
    rows = await catalog.list_products(ctx.db, wishes, pricing)
    total, is_estimate = await _total(ctx, wishes, pricing, len(rows))
    facets = await browse.list_facets(ctx.db, wishes.taxons or ())
    return Listed(await load(ctx, "product", rows, include, pricing), total, is_estimate, facets, pricing)


async def _total(ctx: Context, wishes: ProductWishes, pricing: Pricing, found: int) -> tuple[int, bool]:
    page = wishes.page
    if 0 < found < page.size or (found == 0 and page.number == 1):
        return page.offset + found, False  # The last page tells how many there are without a count.
    return await catalog.count_products(ctx.db, wishes, pricing)


async def get_product(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Loaded, Pricing]:
    pricing = await pricing_for(ctx, currency)
    row = await catalog.find_product(ctx.db, key, pricing)
    if row is None:
        raise NotFound()
    return (await load(ctx, "product", [row], include, pricing))[0], pricing


async def list_variants(
    ctx: Context, key: UUID | str, currency: str, options: Mapping[str, str], include: Tree
) -> tuple[Sequence[Loaded], Pricing]:
    """A product's variants with the master, or those that have all of the options."""
    pricing = await pricing_for(ctx, currency)
    product = await catalog.find_product(ctx.db, key, pricing)
    if product is None:
        raise NotFound()
    found = await browse.list_variants_of(ctx.db, product.id)
    wanted = set(options.items())
    fitting = [row for row in found if wanted <= {(option["name"], option["value"]) for option in row.options}]
    return await load(ctx, "variant", await _priced(ctx, fitting, pricing), include, pricing), pricing


async def list_taxons(
    ctx: Context, filters: Mapping[str, Any], page: Page, include: Tree
) -> tuple[Sequence[Loaded], int, Pricing]:
    pricing = await pricing_for(ctx, ctx.shared.shop.currencies[0])
    rows, total = await taxons.list_taxons(ctx.db, filters, page)
    return await load(ctx, "taxon", rows, include, pricing), total, pricing


async def get_taxon(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Loaded, Pricing]:
    """With its products: the first of them, in the order of their places in it."""
    pricing = await pricing_for(ctx, currency)
    row = await _find_taxon(ctx, key)
    loaded = (await load(ctx, "taxon", [row], include, pricing))[0]
    wishes = ProductWishes(currency=currency, taxons=(row.id,), page=Page(1, MOST_PRODUCTS))
    found = await catalog.list_products(ctx.db, wishes, pricing)
    shown: Link = [Loaded(Named(product.id)) for product in found]
    if "products" in include:
        shown = await load(ctx, "product", found, include["products"], pricing)
    return Loaded(loaded.row, {**loaded.links, "products": shown}), pricing


async def _find_taxon(ctx: Context, key: UUID | str) -> ShownTaxon:
    if isinstance(key, UUID):
        rows = await taxons.list_taxons_of(ctx.db, [key])
        row = rows[0] if rows else None
    else:
        row = await taxons.find_taxon_by_permalink(ctx.db, key)
    if row is None:
        raise NotFound()
    return row


async def explain_prices(ctx: Context, pricing: Pricing, records: Sequence[Loaded]) -> list[Resolved]:
    """Which list decided for each of these products or variants."""
    ids = [getattr(record.row, "default_variant_id", record.row.id) for record in records]
    found = await prices.resolve(ctx.db, pricing, ids)
    return [found[variant_id] for variant_id in dict.fromkeys(ids) if variant_id in found]


async def _products(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownProduct]:
    return await catalog.list_products_of(ctx.db, ids, pricing)


async def _variants(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownVariant]:
    return await _priced(ctx, await browse.list_variants(ctx.db, ids), pricing)


async def _priced(ctx: Context, rows: Sequence[ShownVariant], pricing: Pricing) -> Sequence[ShownVariant]:
    found = await prices.resolve(ctx.db, pricing, [row.id for row in rows])
    return [
        msgspec.structs.replace(
            row,
            currency=pricing.currency,
            price=found[row.id].amount if row.id in found else None,
            compare_at_price=found[row.id].compare_at_amount if row.id in found else None,
        )
        for row in rows
    ]


_LOADERS: dict[str, Callable[[Context, Sequence[UUID], Pricing], Awaitable[Sequence[Any]]]] = {
    "product": _products,
    "variant": _variants,
    "option_type": lambda ctx, ids, _: browse.list_option_types(ctx.db, ids),
    "option_value": lambda ctx, ids, _: browse.list_option_values(ctx.db, ids),
    "product_property": lambda ctx, ids, _: browse.list_properties(ctx.db, ids),
    "taxon": lambda ctx, ids, _: taxons.list_taxons_of(ctx.db, ids),
    "taxonomy": lambda ctx, ids, _: browse.list_taxonomies(ctx.db, ids),
    "image": lambda ctx, ids, _: browse.list_images(ctx.db, ids),
}


async def load(ctx: Context, kind: str, rows: Sequence[Any], include: Tree, pricing: Pricing) -> list[Loaded]:
    """Rows with their relations: links alone, or the related records too where they are asked for."""
    related = _RELATED.get(kind, {})
    known: dict[str, Mapping[UUID, Loaded]] = {}
    for kind_asked in dict.fromkeys(related[name].kind for name in include if name in related):
        names = [name for name in include if name in related and related[name].kind == kind_asked]
        ids = {found for name in names for row in rows for found in _ids(row, related[name])}
        theirs = await _LOADERS[kind_asked](ctx, list(ids), pricing)
        # Relations of one kind are read together; what is asked of any of them is loaded for all.
        deeper: Tree = {key: tree for name in names for key, tree in include[name].items()}
        loaded = {record.row.id: record for record in await load(ctx, kind_asked, theirs, deeper, pricing)}
        known |= dict.fromkeys(names, loaded)
    return [
        Loaded(row, {name: _link(row, relation, known.get(name)) for name, relation in related.items()}) for row in rows
    ]


def _ids(row: Any, relation: Related) -> Sequence[UUID]:
    found = getattr(row, relation.field)
    return found if relation.is_many else [found] if found else []


def _link(row: Any, relation: Related, known: Mapping[UUID, Loaded] | None) -> Link:
    ids = _ids(row, relation)
    if not ids:
        return [] if relation.is_many else None
    found = [Loaded(Named(each)) for each in ids] if known is None else [known[each] for each in ids if each in known]
    return found if relation.is_many else found[0] if found else None
