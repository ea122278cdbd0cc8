"""Pages for the option types and variants of a product."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import VARIANT
from shop.actions.catalog_admin import variants as variant_actions
from shop.actions.catalog_admin.products import get_product
from shop.actions.catalog_admin.variants import NewVariants, fingerprint_variant, get_variant
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import GOODS_USERS, link_uses
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.base.ids import as_uuid
from shop.models.catalog.inputs import VariantInput
from shop.models.catalog.products import Product
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin.products import AdminVariant
from shop.queries.setup.uses import list_goods_uses
from shop.rules.form_values import amount_text, number_text, split_words
from shop.rules.setup.units import label_sizes
from shop.web.input.request import Request
from shop.web.reply import Reply

_NOTICES = {
    "options": "Options saved.",
    "added": "Variant created.",
    "generated": "Variants created. Existing combinations were not changed.",
    "none": "All of these combinations already exist.",
    "saved": "Variant saved.",
    "removed": "Variant removed.",
}
MAX_NAME_LENGTH = 60
_NUMBERS = ("weight", "height", "width", "depth")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _variants(ctx, page_context, product, notice=notice_of(request, _NOTICES))


async def change_options(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    texts = fields.group("values")
    new_values = {key: _names(fields, f"values-{key}", text) for name, text in texts.items() if (key := as_uuid(name))}
    try:
        new_type = fields.line("new_type", most=MAX_NAME_LENGTH)
        fields.check()
        option_type_ids = fields.ids("option_type_ids")
        await variant_actions.set_options(ctx, product.id, option_type_ids, new_values=new_values, new_type=new_type)
    except Invalid as error:
        return await _variants(
            ctx, page_context, product, 422, errors=error.errors, options={**fields.texts, "values": texts}
        )
    return redirect(f"/admin/products/{product.id}/variants?done=options")


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    try:
        price = fields.amount("price", page_context.shop.currencies[0])
        values: VariantInput = {"sku": fields.line("sku", most=100), "option_value_ids": _option_value_ids(fields)}
        if price is not None:
            values["price"] = price
        fields.check()
        await variant_actions.add_variant(ctx, product.id, values)
    except Invalid as error:
        return await _variants(ctx, page_context, product, 422, errors=error.errors, adding=_form_values(fields))
    return redirect(f"/admin/products/{product.id}/variants?done=added")


async def generate(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    value_ids = [_ids(values) for values in fields.group("values").values()]
    try:
        defaults = NewVariants(
            fields.line("sku_prefix", most=50).rstrip("-"), fields.amount("each_price", page_context.shop.currencies[0])
        )
        fields.check()
        count, _ = await variant_actions.generate_variants(ctx, product.id, value_ids, defaults)
    except Invalid as error:
        selected_ids = {value_id for some in value_ids for value_id in some}
        return await _variants(
            ctx, page_context, product, 422, errors=error.errors, making=fields.texts, selected_ids=selected_ids
        )
    return redirect(f"/admin/products/{product.id}/variants?done={'generated' if count else 'none'}")


async def show_one(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, variant = await _one(request, ctx)
    return await _variant(
        ctx, page_context, product, variant, _stored_values(variant), chosen=set(variant.option_value_ids)
    )


async def change_one(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, variant = await _one(request, ctx)
    fields = Fields(request)
    texts: dict[str, Any] = {name: fields.texts.get(name, "") for name in ("sku", "barcode", *_NUMBERS)}
    texts["track_inventory"] = fields.flag("track_inventory")
    option_ids, seen_mark = set(_option_value_ids(fields)), fields.texts.get("seen")
    try:
        values: VariantInput = {
            "sku": fields.line("sku", most=100),
            "barcode": fields.line("barcode", most=50) or None,
            "track_inventory": fields.flag("track_inventory"),
            "option_value_ids": _option_value_ids(fields),
            "weight": fields.number("weight"),
            "height": fields.number("height"),
            "width": fields.number("width"),
            "depth": fields.number("depth"),
        }
        fields.check()
        await variant_actions.change_variant(ctx, product.id, variant.id, values, seen_mark)
    except Invalid as error:
        more = {"errors": error.errors, "seen": seen_mark or ""}
        return await _variant(ctx, page_context, product, variant, texts, 422, chosen=option_ids, **more)
    except ChangedMeanwhile as conflict:
        product, variant = await _one(request, ctx)
        more = {"conflict": conflict.sentence, "theirs": _list_differences(page_context, variant, texts, option_ids)}
        return await _variant(ctx, page_context, product, variant, texts, 409, chosen=option_ids, **more)
    return redirect(f"/admin/products/{product.id}/variants?done=saved")


def _stored_values(variant: AdminVariant) -> dict[str, Any]:
    values = {"sku": variant.sku, "barcode": variant.barcode or "", "track_inventory": variant.track_inventory}
    return values | {name: number_text(getattr(variant, name)) for name in _NUMBERS}


def _list_differences(
    page_context: PageContext, variant: AdminVariant, texts: Mapping[str, Any], option_ids: set[UUID]
) -> dict[str, str]:
    sizes = label_sizes(page_context.shop.weight_unit, page_context.shop.dimension_unit)
    labels = {"sku": "SKU", "barcode": "Barcode", "track_inventory": "Track stock", **sizes}
    options = {} if set(variant.option_value_ids) == option_ids else {"Options": variant.options_text}
    return list_differences(labels, texts, _stored_values(variant)) | options


async def show_remove(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, variant = await _one(request, ctx)
    here = f"/admin/products/{product.id}/variants"
    uses = link_uses(await list_goods_uses(ctx.db, [variant.id]), GOODS_USERS)
    return confirmation_page(
        page_context,
        question=f"Remove {variant.label} from {product.name}?",
        sentence="Customers will no longer be able to buy this variant. Its prices and stock go with it, and what is "
        "expected of it can no longer be received. Existing orders keep it. This cannot be undone.",
        uses=uses,
        action=f"{here}/{variant.id}/remove",
        button="Remove variant",
        back=(here, "Variants"),
    )


async def remove(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product, variant = await _one(request, ctx)
    await records.delete(ctx, VARIANT, variant.id)
    return redirect(f"/admin/products/{product.id}/variants?done=removed")


async def _one(request: Request, ctx: Context) -> tuple[Product, AdminVariant]:
    product = await get_product(ctx, id_of(request, "product_id"))
    return product, await get_variant(ctx, product.id, id_of(request, "variant_id"))


async def _variants(ctx: Context, page_context: PageContext, product: Product, status: int = 200, **more: Any) -> Reply:
    variants = await product_pages.list_variants(ctx.db, product.id)
    others = [variant for variant in variants if not variant.is_master]
    ids = [variant.id for variant in variants]
    types = await product_pages.list_option_types(ctx.db, product.id)
    values = await product_pages.list_option_values(ctx.db, [option_type.id for option_type in types])
    prices = await product_pages.list_prices(ctx.db, ids)
    first = page_context.shop.currencies[0]
    default_price = next(
        (price.amount for price in prices if price.variant_id == ids[0] and price.currency == first), None
    )
    stock = await product_pages.list_stock(ctx.db, ids)
    return page(
        "catalog/products/product_variants.html",
        page_context,
        status,
        **{"options": {"values": {}}, "adding": {}, "making": {}, "selected_ids": set(), **more},
        product=product,
        variants=others or variants,
        has_others=bool(others),
        types=types,
        own=[option_type for option_type in types if option_type.product_position is not None],
        values={
            option_type.id: [value for value in values if value.option_type_id == option_type.id]
            for option_type in types
        },
        prices={(price.variant_id, price.currency): price for price in prices},
        default_price=amount_text(default_price, first),
        stock={key: [item for item in stock if item.variant_id == key] for key in ids},
    )


async def _variant(
    ctx: Context,
    page_context: PageContext,
    product: Product,
    variant: AdminVariant,
    values: dict[str, Any],
    status: int = 200,
    **more: Any,
) -> Reply:
    own = [
        option_type
        for option_type in await product_pages.list_option_types(ctx.db, product.id)
        if option_type.product_position is not None
    ]
    option_values = await product_pages.list_option_values(ctx.db, [option_type.id for option_type in own])
    return page(
        "catalog/products/product_variant.html",
        page_context,
        status,
        product=product,
        variant=variant,
        fields=values,
        sizes=label_sizes(page_context.shop.weight_unit, page_context.shop.dimension_unit),
        own=[] if variant.is_master else own,
        values={
            option_type.id: [value for value in option_values if value.option_type_id == option_type.id]
            for option_type in own
        },
        **{"conflict": None, "theirs": {}, "seen": fingerprint_variant(variant), **more},
    )


def _option_value_ids(fields: Fields) -> list[UUID]:
    """Returns the option value selected for each option type."""
    ids = [as_uuid(value) for value in fields.group("option").values()]
    return [value for value in ids if value is not None]


def _form_values(fields: Fields) -> dict[str, Any]:
    return {**fields.texts, "option": fields.group("option")}


def _ids(values: Any) -> list[UUID]:
    ids = [as_uuid(value) for value in values] if isinstance(values, list) else []
    return list(dict.fromkeys(value for value in ids if value is not None))


def _names(fields: Fields, field: str, text: Any) -> list[str]:
    names = split_words(text) if isinstance(text, str) else []
    if any(len(name) > MAX_NAME_LENGTH or not name.isprintable() for name in names) or len(names) > 100:
        fields.refuse(field, f"must be at most 100 values of at most {MAX_NAME_LENGTH} characters each")
    return names
