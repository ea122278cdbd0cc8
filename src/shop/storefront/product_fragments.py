"""Products and lists of them from cached fragments: the encoded document of each product, with what it includes.

A fragment is valid while the version of its product, read with every request, is unchanged. It has no host name and the
regular prices; the origin of image addresses and a customer's own prices are inserted into each response.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.catalog import storefront
from shop.actions.context import Context
from shop.base.record import Record
from shop.jsonapi.document import Extras, Rendering, RenderOptions, encode_extras, join_document, list_included
from shop.jsonapi.encoder import ENCODED_MARK, MARK, encoder
from shop.jsonapi.resource import RenderContext, Resource
from shop.models.catalog.storefront import ProductMoment, ProductOnPage
from shop.queries.catalog.prices import Pricing
from shop.storefront.resources.catalog import PRODUCT
from shop.web.image_urls import ImageOptions

PART_BYTES = 300
"""What a part takes in memory in addition to its text."""
_encode = msgspec.json.Encoder().encode


class ShownAmounts(msgspec.Struct, frozen=True, gc=False):
    """The amounts of a product or a variant."""

    currency: str
    price: int | None
    compare_at_price: int | None


class FragmentPart(msgspec.Struct, frozen=True, gc=False):
    """An encoded record. If it shows amounts, they are the text from `start` to `end`; `has_origin` is whether it shows
    image addresses.
    """

    type: str
    id: UUID
    body: bytes
    has_origin: bool
    start: int = 0
    end: int = 0
    variant_id: UUID | None = None
    """The variant whose price it shows."""
    compare_at_price: int | None = None


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """The document of a product at a version: the product, and what it includes; `digest` is the hash of both."""

    version: tuple[Any, ...]
    digest: bytes
    data: FragmentPart
    included: tuple[FragmentPart, ...]


class ShownProduct(msgspec.Struct, frozen=True, gc=False):
    """A product of a list with its fragment."""

    row: ProductOnPage
    fragment: Fragment


async def find_products(
    ctx: Context, rows: Sequence[ProductOnPage], options: RenderOptions, pricing: Pricing
) -> list[ShownProduct]:
    """Returns the products with their fragments; loads those that are missing or out of date."""
    include, variation = options.query.include, _variation(options, pricing.currency)
    common = await _find_common_version(ctx, variation, pricing)
    cache, fragments = ctx.shared.fragments, dict[UUID, Fragment]()
    for row in rows:
        fragment: Fragment | None = cache.find((row.id, variation))
        if fragment is not None and fragment.version == (row.version, row.available, common) and not row.is_due:
            fragments[row.id] = fragment
    missing = {row.id: row for row in rows if row.id not in fragments}
    regular_pricing = Pricing(pricing.currency)
    for record in await storefront.load_products(ctx, list(missing), include or {}, regular_pricing):
        row = missing[record.row.id]
        fragments[row.id] = fragment = _build_fragment(record, options, (row.version, row.available, common))
        if not row.is_due:
            cache.save((row.id, variation), fragment, len(variation) + _size_of(fragment))
    return [ShownProduct(row, fragments[row.id]) for row in rows if row.id in fragments]


async def find_product(ctx: Context, key: UUID | str, options: RenderOptions, currency: str) -> Fragment:
    """Returns the fragment of the product with this id or slug, at its regular price."""
    variation = _variation(options, currency)
    cache, cache_key = ctx.shared.fragments, (str(key), variation)
    fragment: Fragment | None = cache.find(cache_key)
    if fragment is not None:
        moment = await storefront.get_product_moment(ctx, key)
        if fragment.version == await _find_version(ctx, variation, moment, currency) and not moment.is_due:
            return fragment
    # One statement reads the product and its version.
    include = options.query.include or {}
    record, moment = await storefront.get_product_and_moment(ctx, key, currency, include)
    fragment = _build_fragment(record, options, await _find_version(ctx, variation, moment, currency))
    if not moment.is_due:
        cache.save(cache_key, fragment, len(variation) + len(cache_key[0]) + _size_of(fragment))
    return fragment


def _variation(options: RenderOptions, currency: str) -> bytes:
    """Returns what the fragments of a product differ in."""
    fields = {name: sorted(names) for name, names in options.query.fields.items()}
    context = options.render_context
    return _encode((currency, context.locale, options.query.include, fields, context.props.image_options.size))


async def _find_common_version(ctx: Context, variation: bytes, pricing: Pricing) -> tuple[Any, ...]:
    """Returns the version of what the documents of all products show."""
    state = await storefront.find_version(ctx, pricing)
    # A taxon shows whether it has any products.
    return ctx.shared.shop.version, state.shared, state.facets if b'"taxons"' in variation else None


async def _find_version(ctx: Context, variation: bytes, moment: ProductMoment, currency: str) -> tuple[Any, ...]:
    common = await _find_common_version(ctx, variation, Pricing(currency))
    return moment.product_id, moment.version, moment.available, common


def _size_of(fragment: Fragment) -> int:
    return sum(len(part.body) + PART_BYTES for part in (fragment.data, *fragment.included))


def _build_fragment(record: Record, options: RenderOptions, version: tuple[Any, ...]) -> Fragment:
    context = options.render_context
    image_options = ImageOptions(MARK, context.props.image_options.size)
    context = RenderContext(context.locale, msgspec.structs.replace(context.props, image_options=image_options))
    options = RenderOptions(options.resources, context, options.query)
    related = () if options.query.include is None else list_included(PRODUCT, [record], options)
    data = _build_part(PRODUCT, record, options)
    included = tuple([_build_part(*each, options) for each in related])
    return Fragment(version, _digest(part.body for part in (data, *included)), data, included)


def _digest(parts: Iterable[bytes]) -> bytes:
    return blake2b(b",".join(parts), digest_size=16).digest()


def _build_part(resource: Resource, record: Record, options: RenderOptions) -> FragmentPart:
    row, encode = record.row, encoder(resource, options.query.fields.get(resource.type))
    before, after = encode.encode_around_amounts(record, options.render_context)
    has_origin = ENCODED_MARK in before or ENCODED_MARK in after
    if not encode.has_amounts:
        return FragmentPart(resource.type, row.id, before, has_origin)
    amounts = encode.encode_amounts(row, options.render_context)
    start, variant_id = len(before), getattr(row, "default_variant_id", row.id)
    end = start + len(amounts)
    body = before + amounts + after
    return FragmentPart(resource.type, row.id, body, has_origin, start, end, variant_id, row.compare_at_price)


async def render_list(
    ctx: Context, products: Sequence[ShownProduct], options: RenderOptions, pricing: Pricing, extras: Extras
) -> Rendering:
    """Renders the document of a list; what several products include appears once."""
    data = [product.fragment.data for product in products]
    included: dict[tuple[str, UUID], FragmentPart] = {}
    for product in products:
        for part in product.fragment.included:
            included.setdefault((part.type, part.id), part)
    related = list(included.values())
    if pricing.is_personal:
        prices = await _find_prices(ctx, products, [*data, *related], pricing)
        data, related = ([_with_price(part, prices, options, pricing) for part in parts] for parts in (data, related))
    origin, others = _encoded_origin(options), encode_extras(extras)
    included_body = None if options.query.include is None else _join_included(related, origin)
    body = join_document(b"[%b]" % b",".join([part.body for part in data]), included_body, others)
    # A document with a customer's prices has no ETag. Any other follows from its fragments.
    digest = b"" if pricing.is_personal else _digest([*(each.fragment.digest for each in products), origin, others])
    return Rendering(body, digest)


def render_product(fragment: Fragment, options: RenderOptions) -> Rendering:
    """Renders the document of one product."""
    if options.query.include is None:
        return Rendering(join_document(fragment.data.body), fragment.digest)
    origin = _encoded_origin(options)
    body = join_document(fragment.data.body, _join_included(fragment.included, origin))
    return Rendering(body, _digest((fragment.digest, origin)))


def _encoded_origin(options: RenderOptions) -> bytes:
    return _encode(options.render_context.props.image_options.origin)[:-1]


def _join_included(parts: Iterable[FragmentPart], origin: bytes) -> bytes:
    return b",".join([part.body.replace(ENCODED_MARK, origin) if part.has_origin else part.body for part in parts])


async def _find_prices(
    ctx: Context, products: Sequence[ShownProduct], parts: Sequence[FragmentPart], pricing: Pricing
) -> Mapping[UUID, int | None]:
    """Returns the customer's prices by variant; those of default variants are known from the list."""
    prices = {product.row.default_variant_id: product.row.price for product in products}
    others = {part.variant_id for part in parts if part.variant_id is not None} - prices.keys()
    return prices | await storefront.find_prices(ctx, pricing, others)


def _with_price(
    part: FragmentPart, prices: Mapping[UUID, int | None], options: RenderOptions, pricing: Pricing
) -> FragmentPart:
    """Replaces the amounts of a part."""
    if part.variant_id is None:
        return part
    encode = encoder(options.resources[part.type], options.query.fields.get(part.type))
    amounts = ShownAmounts(pricing.currency, prices.get(part.variant_id), part.compare_at_price)
    text = encode.encode_amounts(amounts, options.render_context)
    return FragmentPart(part.type, part.id, part.body[: part.start] + text + part.body[part.end :], part.has_origin)
