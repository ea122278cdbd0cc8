"""What shoppers look at: products with their prices, variants, taxons; each relation that is asked for is loaded for
all records at once.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog.prices import pricing_for
from shop.actions.context import Context
from shop.base.browsing import ProductWishes
from shop.base.errors import NotFound
from shop.base.listing import Keyset, Page, Sort
from shop.base.loaded import Link, Loaded, Named
from shop.models.catalog.storefront import Facet, Facets, ShownProduct, ShownVariant
from shop.models.catalog.taxons import ShownTaxon
from shop.queries.catalog import prices, product_lists, storefront, taxons, versions
from shop.queries.catalog import prices_shown as catalog
from shop.queries.catalog.prices import Pricing, Resolved
from shop.rules.catalog.products import filter_param

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
        "image": Related("image", "image_id"),
    },
}


class Listed(msgspec.Struct, frozen=True):
    """One page of products, how many there are in all, and what they may be filtered by."""

    records: Sequence[Loaded]
    total: int
    is_estimate: bool
    facets: Sequence[Facet]
    pricing: Pricing
    next_place: tuple[Any, UUID] | None = None
    """Where the next page begins, of pages that go by place."""


async def find_version(ctx: Context, pricing: Pricing) -> Any:
    """Of all that can be seen, be it asked for here or in `setup`."""
    return pricing.version or await versions.find_version(ctx.db)


async def list_products(ctx: Context, wishes: ProductWishes, include: Tree) -> Listed:
    pricing = await pricing_for(ctx, wishes.currency)
    facets = await storefront.list_facets(ctx.db, wishes.taxons or (), wishes.currency)
    wishes = await _marked(ctx, wishes)
    rows = await product_lists.list_products(ctx.db, wishes, pricing, facets)
    if isinstance(wishes.page, Keyset):
        page, more = rows[: wishes.page.size], rows[wishes.page.size :]
        next_place = (page[-1].place, page[-1].id) if more else None
        records = await load(ctx, "product", page, include, pricing)
        return Listed(records, 0, False, facets.values, pricing, next_place)
    total, is_estimate = await _total(ctx, wishes, wishes.page, pricing, rows, facets)
    return Listed(await load(ctx, "product", rows, include, pricing), total, is_estimate, facets.values, pricing)


async def _marked(ctx: Context, wishes: ProductWishes) -> ProductWishes:
    """With the ids of what is named; what nobody has finds nothing."""
    if not (wishes.options or wishes.properties):
        return wishes
    if wishes.properties:
        wishes = await _with_property_names(ctx, wishes)
    groups = await product_lists.find_marks(ctx.db, wishes)
    return msgspec.structs.replace(
        wishes,
        marks=tuple(group[0] for group in groups if len(group) == 1),
        any_marks=tuple(group for group in groups if len(group) > 1),
        is_nothing=wishes.is_nothing or not all(groups),
    )


async def _with_property_names(ctx: Context, wishes: ProductWishes) -> ProductWishes:
    """With the name of each property that was named by its slug."""
    names = await product_lists.list_property_names(ctx.db)
    by_slug = {filter_param(name): name for name in reversed(names)} | {name: name for name in names}
    asked = tuple((by_slug.get(name, name), values) for name, values in wishes.properties)
    return msgspec.structs.replace(wishes, properties=asked)


async def _total(
    ctx: Context, wishes: ProductWishes, page: Page, pricing: Pricing, rows: Sequence[ShownProduct], facets: Facets
) -> tuple[int, bool]:
    if wishes.is_plain:
        return facets.in_scope, False  # Kept with every write.
    if 0 < len(rows) < page.size or (not rows and page.number == 1):
        return page.offset + len(rows), False  # The last page tells how many there are without a count.
    return await product_lists.count_products(ctx.db, wishes, pricing, rows[0].total if rows else None)


async def get_product(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Loaded, Pricing]:
    pricing = await pricing_for(ctx, currency)
    row = await _find_product(ctx, key, pricing)
    return (await load(ctx, "product", [row], include, pricing))[0], pricing


async def list_variants(
    ctx: Context, key: UUID | str, currency: str, options: Mapping[str, str], include: Tree
) -> tuple[Sequence[Loaded], Pricing]:
    """A product's variants with the master, or those that have all of the options."""
    pricing = await pricing_for(ctx, currency)
    product = await _find_product(ctx, key, pricing)
    found = await storefront.list_variants_of(ctx.db, product.id)
    wanted = set(options.items())
    fitting = [row for row in found if wanted <= {(option["name"], option["value"]) for option in row.options}]
    return await load(ctx, "variant", await _priced(ctx, fitting, pricing), include, pricing), pricing


class ListedTaxons(msgspec.Struct, frozen=True):
    """One page of taxons: how many there are in all, or where the next page begins."""

    records: Sequence[Loaded]
    total: int = 0
    next_place: tuple[Any, UUID] | None = None


async def list_taxons(ctx: Context, filters: Mapping[str, Any], page: Page | Keyset, include: Tree) -> ListedTaxons:
    pricing = await pricing_for(ctx, ctx.shared.shop.currencies[0])
    rows = await taxons.list_taxons(ctx.db, filters, page)
    records = await load(ctx, "taxon", rows[: page.size], include, pricing)
    if isinstance(page, Page):
        return ListedTaxons(records, await taxons.count_taxons(ctx.db, filters))
    last = rows[page.size - 1] if len(rows) > page.size else None
    return ListedTaxons(records, next_place=((last.taxonomy_id, last.lft), last.id) if last else None)


async def get_taxon(ctx: Context, key: UUID | str, currency: str, include: Tree) -> tuple[Loaded, Pricing]:
    """With its products: the first of them, in the order of their places in it."""
    pricing = await pricing_for(ctx, currency)
    row = await _find_taxon(ctx, key)
    loaded = (await load(ctx, "taxon", [row], include, pricing))[0]
    by_place = (Sort("position", is_descending=False),)
    wishes = ProductWishes(currency=currency, taxons=(row.id,), page=Page(1, MOST_PRODUCTS), sort=by_place)
    found = await product_lists.list_products(ctx.db, wishes, pricing, Facets([], 1, 0))
    shown: Link = [Loaded(Named(product.id)) for product in found]
    if "products" in include:
        shown = await load(ctx, "product", found, include["products"], pricing)
    return Loaded(loaded.row, {**loaded.links, "products": shown}), pricing


async def _find_product(ctx: Context, key: UUID | str, pricing: Pricing) -> ShownProduct:
    """By its id, or by a slug: one without a letter to make it of looks like an id, and may be another's."""
    row = await catalog.find_product(ctx.db, key, pricing)
    if row is None and isinstance(key, UUID):
        row = await catalog.find_product(ctx.db, str(key), pricing)
    if row is None:
        raise NotFound()
    return row


async def _find_taxon(ctx: Context, key: UUID | str) -> ShownTaxon:
    """By its id, or by a permalink, which may look like one as well."""
    found = await taxons.list_taxons_of(ctx.db, [key]) if isinstance(key, UUID) else []
    row = found[0] if found else await taxons.find_taxon_by_permalink(ctx.db, str(key))
    if row is None:
        raise NotFound()
    return row


async def explain_prices(ctx: Context, pricing: Pricing, records: Sequence[Loaded]) -> list[Resolved]:
    """Which list decided for each of these products or variants."""
    ids = [getattr(record.row, "default_variant_id", record.row.id) for record in records]
    found = await prices.resolve(ctx.db, pricing, ids)
    return [found[variant_id] for variant_id in dict.fromkeys(ids) if variant_id in found]


async def load_variants(ctx: Context, ids: Sequence[UUID], include: Tree, pricing: Pricing) -> dict[UUID, Loaded]:
    """Those of these that there still are."""
    return {
        record.row.id: record
        for record in await load(ctx, "variant", await _variants(ctx, ids, pricing), include, pricing)
    }


async def _products(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownProduct]:
    return await catalog.list_products_of(ctx.db, ids, pricing)


async def _variants(ctx: Context, ids: Sequence[UUID], pricing: Pricing) -> Sequence[ShownVariant]:
    return await _priced(ctx, await storefront.list_variants(ctx.db, ids), pricing)


Amounts = tuple[int | None, int | None]
"""A price, and what it is compared with."""


async def _priced(
    ctx: Context, rows: Sequence[ShownVariant], pricing: Pricing, known: Mapping[UUID, Amounts] | None = None
) -> Sequence[ShownVariant]:
    """`known` are those that were resolved with their products."""
    amounts = dict(known or {})
    asked = [row.id for row in rows if row.id not in amounts]
    for variant_id, price in (await prices.resolve(ctx.db, pricing, asked)).items():
        amounts[variant_id] = price.amount, price.compare_at_amount
    nothing: Amounts = (None, None)
    return [_costing(row, pricing.currency, *amounts.get(row.id, nothing)) for row in rows]


def _costing(row: ShownVariant, currency: str, price: int | None, compare_at_price: int | None) -> ShownVariant:
    return msgspec.structs.replace(row, currency=currency, price=price, compare_at_price=compare_at_price)


_LOADERS: dict[str, Callable[[Context, Sequence[UUID], Pricing], Awaitable[Sequence[Any]]]] = {
    "product": _products,
    "option_type": lambda ctx, ids, _: storefront.list_option_types(ctx.db, ids),
    "option_value": lambda ctx, ids, _: storefront.list_option_values(ctx.db, ids),
    "product_property": lambda ctx, ids, _: storefront.list_properties(ctx.db, ids),
    "taxon": lambda ctx, ids, _: taxons.list_taxons_of(ctx.db, ids),
    "taxonomy": lambda ctx, ids, _: storefront.list_taxonomies(ctx.db, ids),
    "image": lambda ctx, ids, _: storefront.list_images(ctx.db, ids),
}


class Gathering(msgspec.Struct, frozen=True):
    """What was read for one answer, by kind and id: relations lead in circles, and nothing is read twice."""

    ctx: Context
    pricing: Pricing
    rows: dict[str, dict[UUID, Any]]

    async def _read(self, kind: str, ids: Sequence[UUID]) -> Sequence[Any]:
        if kind != "variant":
            return await _LOADERS[kind](self.ctx, ids, self.pricing)
        # What a product costs is what its default variant does.
        products = [row for row in self.rows.get("product", {}).values() if row is not None]
        costs = {row.default_variant_id: (row.price, row.compare_at_price) for row in products}
        return await _priced(self.ctx, await storefront.list_variants(self.ctx.db, ids), self.pricing, costs)

    async def read(self, kind: str, ids: Iterable[UUID]) -> list[Any]:
        """Those of these that there are."""
        known = self.rows.setdefault(kind, {})
        missing = [found for found in dict.fromkeys(ids) if found not in known]
        if missing:
            known |= dict.fromkeys(missing)
            known |= {row.id: row for row in await self._read(kind, missing)}
        return [known[found] for found in dict.fromkeys(ids) if known[found] is not None]


async def load(ctx: Context, kind: str, rows: Sequence[Any], include: Tree, pricing: Pricing) -> list[Loaded]:
    """Rows with their relations: links alone, or the related records too where they are asked for."""
    gathering = Gathering(ctx, pricing, {kind: {row.id: row for row in rows}})
    return await _load(gathering, kind, rows, include)


async def _load(gathering: Gathering, kind: str, rows: Sequence[Any], include: Tree) -> list[Loaded]:
    related = _RELATED.get(kind, {})
    known: dict[str, Mapping[UUID, Loaded]] = {}
    for kind_asked in dict.fromkeys(related[name].kind for name in include if name in related):
        names = [name for name in include if name in related and related[name].kind == kind_asked]
        ids = [found for name in names for row in rows for found in _ids(row, related[name])]
        theirs = await gathering.read(kind_asked, ids)
        # Relations of one kind are read together; what is asked of any of them is loaded for all.
        deeper = merged([include[name] for name in names])
        loaded = {record.row.id: record for record in await _load(gathering, kind_asked, theirs, deeper)}
        known |= dict.fromkeys(names, loaded)
    return [
        Loaded(row, {name: _link(row, relation, known.get(name)) for name, relation in related.items()}) for row in rows
    ]


def merged(trees: Sequence[Tree]) -> Tree:
    """All that any of them asks for, at every depth."""
    names = dict.fromkeys(name for tree in trees for name in tree)
    return {name: merged([tree[name] for tree in trees if name in tree]) for name in names}


def _ids(row: Any, relation: Related) -> Sequence[UUID]:
    found = getattr(row, relation.field)
    return found if relation.is_many else [found] if found else []


def _link(row: Any, relation: Related, known: Mapping[UUID, Loaded] | None) -> Link:
    ids = _ids(row, relation)
    if not ids:
        return [] if relation.is_many else None
    found = [Loaded(Named(each)) for each in ids] if known is None else [known[each] for each in ids if each in known]
    return found if relation.is_many else found[0] if found else None
