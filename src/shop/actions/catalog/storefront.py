"""Storefront reads of products with prices, variants and taxons; loads each included relation in one batch."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

import msgspec

from shop.actions.catalog.prices import resolve_pricing
from shop.actions.context import Context
from shop.base.errors import NotFound
from shop.base.listing import Keyset, Page, Sort
from shop.base.record import Link, Record
from shop.models.catalog.filters import TaxonFilters
from shop.models.catalog.product_query import ProductQuery
from shop.models.catalog.storefront import Facets, ProductMoment, StorefrontProduct, StorefrontVariant
from shop.models.catalog.taxons import StorefrontTaxon
from shop.queries.catalog import priced_products, prices, product_lists, storefront, taxons, versions
from shop.queries.catalog.prices import Pricing, ResolvedPrice
from shop.queries.catalog.versions import CatalogState

T = TypeVar("T")
Tree = Mapping[str, "Tree"]
MAX_PRODUCTS = 500
"""The maximum number of products linked from one taxon; the product list has all of them."""


class RowWithId(Protocol):
    """A row of any kind."""

    @property
    def id(self) -> UUID: ...


class Related(msgspec.Struct, frozen=True):
    """A relation given by ids on the row."""

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
        "image": Related("image", "image_id"),
    },
}


async def find_version(ctx: Context, pricing: Pricing) -> CatalogState:
    """Returns the version of all public data, both in the catalog and in `setup`; queried once."""
    if ctx.catalog_version is None:
        ctx.catalog_version = pricing.version or await versions.find_state(ctx.db)
    return ctx.catalog_version


async def get_product(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Record, Pricing]:
    pricing = await resolve_pricing(ctx, currency)
    row = await _find_product(ctx, key, pricing)
    return (await load(ctx, "product", [row], include, pricing))[0], pricing


async def get_product_and_moment(
    ctx: Context, key: UUID | str, currency: str, include: Tree
) -> tuple[Record, ProductMoment]:
    """Returns a product at its regular price, read together with the version of the catalog."""
    row, moment, ctx.catalog_version = await _find_by_key(
        key, lambda each: priced_products.find_product_and_moment(ctx.db, each, currency)
    )
    return (await load(ctx, "product", [row], include, Pricing(currency)))[0], moment


async def get_product_moment(ctx: Context, key: UUID | str) -> ProductMoment:
    """Reads the moment together with the version of the catalog."""
    moment, ctx.catalog_version = await _find_by_key(key, lambda each: priced_products.find_moment(ctx.db, each))
    return moment


async def load_products(ctx: Context, ids: Sequence[UUID], include: Tree, pricing: Pricing) -> list[Record]:
    """Loads the visible products among these ids."""
    return await load(ctx, "product", await _list_products(ctx, ids, pricing), include, pricing) if ids else []


async def find_prices(ctx: Context, pricing: Pricing, variant_ids: Iterable[UUID]) -> dict[UUID, int | None]:
    return {price.variant_id: price.amount for price in (await prices.resolve(ctx.db, pricing, variant_ids)).values()}


async def list_variants(
    ctx: Context, key: UUID | str, currency: str, options: Mapping[str, str], include: Tree
) -> tuple[Sequence[Record], Pricing]:
    """Returns the variants of a product, including the master, that have all given options."""
    pricing = await resolve_pricing(ctx, currency)
    product = await _find_product(ctx, key, pricing)
    rows = await storefront.list_variants_of(ctx.db, product.id)
    required_options = set(options.items())
    matching = [
        row for row in rows if required_options <= {(option["name"], option["value"]) for option in row.options}
    ]
    return await load(ctx, "variant", await _with_prices(ctx, matching, pricing), include, pricing), pricing


class TaxonPage(msgspec.Struct, frozen=True):
    """One page of taxons with the total, or with the cursor of the next page."""

    records: Sequence[Record]
    total: int = 0
    next_cursor: tuple[tuple[UUID, int], UUID] | None = None


async def list_taxons(ctx: Context, filters: TaxonFilters, page: Page | Keyset, include: Tree) -> TaxonPage:
    pricing = await resolve_pricing(ctx, ctx.shared.shop.currencies[0])
    rows = await taxons.list_taxons(ctx.db, filters.active, page)
    records = await load(ctx, "taxon", rows[: page.size], include, pricing)
    if isinstance(page, Page):
        return TaxonPage(records, await taxons.count_taxons(ctx.db, filters.active))
    last = rows[page.size - 1] if len(rows) > page.size else None
    return TaxonPage(records, next_cursor=((last.taxonomy_id, last.lft), last.id) if last else None)


async def get_taxon(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Record, Pricing]:
    """Returns a taxon with its first products, by their position in it."""
    pricing = await resolve_pricing(ctx, currency)
    row = await _find_taxon(ctx, key)
    taxon = (await load(ctx, "taxon", [row], include, pricing))[0]
    by_position = (Sort("position", is_descending=False),)
    query = ProductQuery(currency=currency, taxons=(row.id,), page=Page(1, MAX_PRODUCTS), sort=by_position)
    products = await product_lists.list_products(ctx.db, query, pricing, Facets([], 1, 0), StorefrontProduct)
    product_links: Link = [product.id for product in products]
    if "products" in include:
        product_links = await load(ctx, "product", products, include["products"], pricing)
    return Record(taxon.row, {**taxon.links, "products": product_links}), pricing


async def _find_product(ctx: Context, key: UUID | str, pricing: Pricing) -> StorefrontProduct:
    return await _find_by_key(key, lambda each: priced_products.find_product(ctx.db, each, pricing))


async def _find_by_key(key: UUID | str, find: Callable[[UUID | str], Awaitable[T | None]]) -> T:
    """Finds a product by id or slug.

    If no slug can be derived from a name, the id is the slug; a slug may therefore look like the id of another product.
    """
    result = await find(key)
    if result is None and isinstance(key, UUID):
        result = await find(str(key))
    if result is None:
        raise NotFound()
    return result


async def _find_taxon(ctx: Context, key: UUID | str) -> StorefrontTaxon:
    """Finds a taxon by id or permalink; a permalink may look like an id."""
    rows = await taxons.list_taxons_of(ctx.db, [key]) if isinstance(key, UUID) else []
    row = rows[0] if rows else await taxons.find_taxon_by_permalink(ctx.db, str(key))
    if row is None:
        raise NotFound()
    return row


async def explain_prices(ctx: Context, pricing: Pricing, ids: Sequence[UUID]) -> list[ResolvedPrice]:
    """Returns the resolved price of each variant, with the price list that applies."""
    prices_by_variant = await prices.resolve(ctx.db, pricing, ids)
    return [prices_by_variant[variant_id] for variant_id in dict.fromkeys(ids) if variant_id in prices_by_variant]


async def load_variants(ctx: Context, ids: Sequence[UUID], include: Tree, pricing: Pricing) -> dict[UUID, Record]:
    """Loads variants by id; omits deleted ones."""
    return {
        record.row.id: record
        for record in await load(ctx, "variant", await _variants(ctx, ids, pricing), include, pricing)
    }


async def _list_products(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[StorefrontProduct]:
    return await priced_products.list_products_of(ctx.db, ids, pricing)


async def _variants(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[StorefrontVariant]:
    return await _with_prices(ctx, await storefront.list_variants(ctx.db, ids), pricing)


Amounts = tuple[int | None, int | None]
"""A price and its compare-at price."""


async def _with_prices(
    ctx: Context,
    rows: Sequence[StorefrontVariant],
    pricing: Pricing,
    preloaded_amounts: Mapping[UUID, Amounts] | None = None,
) -> Sequence[StorefrontVariant]:
    """Adds prices to variants; `preloaded_amounts` are those already resolved with their products."""
    amounts = dict(preloaded_amounts or {})
    missing_ids = [row.id for row in rows if row.id not in amounts]
    for variant_id, price in (await prices.resolve(ctx.db, pricing, missing_ids)).items():
        amounts[variant_id] = price.amount, price.compare_at_amount
    no_amounts: Amounts = (None, None)
    return [_with_price(row, pricing.currency, *amounts.get(row.id, no_amounts)) for row in rows]


def _with_price(
    row: StorefrontVariant, currency: str, price: int | None, compare_at_price: int | None
) -> StorefrontVariant:
    return msgspec.structs.replace(row, currency=currency, price=price, compare_at_price=compare_at_price)


_LOADERS: dict[str, Callable[[Context, Sequence[UUID], Pricing], Awaitable[Sequence[RowWithId]]]] = {
    "product": _list_products,
    "option_type": lambda ctx, ids, _: storefront.list_option_types(ctx.db, ids),
    "option_value": lambda ctx, ids, _: storefront.list_option_values(ctx.db, ids),
    "product_property": lambda ctx, ids, _: storefront.list_properties(ctx.db, ids),
    "taxon": lambda ctx, ids, _: taxons.list_taxons_of(ctx.db, ids),
    "taxonomy": lambda ctx, ids, _: storefront.list_taxonomies(ctx.db, ids),
    "image": lambda ctx, ids, _: storefront.list_images(ctx.db, ids),
}


class RowCache(msgspec.Struct, frozen=True):
    """Rows read for one response, by kind and id. Relations can be circular; each row is read once."""

    ctx: Context
    pricing: Pricing
    rows: dict[str, dict[UUID, RowWithId | None]]

    async def _read(self, kind: str, ids: Sequence[UUID]) -> Sequence[RowWithId]:
        if kind != "variant":
            return await _LOADERS[kind](self.ctx, ids, self.pricing)
        # The price of a product is the price of its default variant.
        products = [row for row in self.rows.get("product", {}).values() if isinstance(row, StorefrontProduct)]
        costs = {row.default_variant_id: (row.price, row.compare_at_price) for row in products}
        return await _with_prices(self.ctx, await storefront.list_variants(self.ctx.db, ids), self.pricing, costs)

    async def read(self, kind: str, ids: Iterable[UUID]) -> list[RowWithId]:
        """Returns the existing rows among the ids."""
        rows = self.rows.setdefault(kind, {})
        missing = [record_id for record_id in dict.fromkeys(ids) if record_id not in rows]
        if missing:
            rows |= dict.fromkeys(missing)
            rows |= {row.id: row for row in await self._read(kind, missing)}
        return [row for record_id in dict.fromkeys(ids) if (row := rows[record_id]) is not None]


async def load(ctx: Context, kind: str, rows: Sequence[RowWithId], include: Tree, pricing: Pricing) -> list[Record]:
    """Loads rows with their relations: references, or whole records for included relations."""
    cache = RowCache(ctx, pricing, {kind: {row.id: row for row in rows}})
    return await _load(cache, kind, rows, include)


async def _load(cache: RowCache, kind: str, rows: Sequence[RowWithId], include: Tree) -> list[Record]:
    related = _RELATED.get(kind, {})
    records_by_name: dict[str, Mapping[UUID, Record]] = {}
    for related_kind in dict.fromkeys(related[name].kind for name in include if name in related):
        names = [name for name in include if name in related and related[name].kind == related_kind]
        ids = [record_id for name in names for row in rows for record_id in _ids(row, related[name])]
        related_rows = await cache.read(related_kind, ids)
        # Relations of one kind are read together, so the nested includes of one apply to all of them.
        nested_include = merge_includes([include[name] for name in names])
        records_by_id = {
            record.row.id: record for record in await _load(cache, related_kind, related_rows, nested_include)
        }
        records_by_name |= dict.fromkeys(names, records_by_id)
    return [
        Record(row, {name: _link(row, relation, records_by_name.get(name)) for name, relation in related.items()})
        for row in rows
    ]


def merge_includes(trees: Sequence[Tree]) -> Tree:
    """Merges include trees at every depth."""
    names = dict.fromkeys(name for tree in trees for name in tree)
    return {name: merge_includes([tree[name] for tree in trees if name in tree]) for name in names}


def _ids(row: RowWithId, relation: Related) -> Sequence[UUID]:
    value = getattr(row, relation.field)
    return value if relation.is_many else [value] if value else []


def _link(row: RowWithId, relation: Related, records: Mapping[UUID, Record] | None) -> Link:
    if records is None:
        link: Link = getattr(row, relation.field)
        return link
    links = [records[record_id] for record_id in _ids(row, relation) if record_id in records]
    return links if relation.is_many else links[0] if links else None
