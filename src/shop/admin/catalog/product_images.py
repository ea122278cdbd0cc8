"""Pages for product images: add, describe, reorder and remove."""

from typing import Any

from shop.actions import records
from shop.actions.catalog import images as image_actions
from shop.actions.catalog.resources import IMAGE
from shop.actions.catalog_admin import images
from shop.actions.catalog_admin.images import get_image
from shop.actions.catalog_admin.products import get_product
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid
from shop.models.catalog.products import Product
from shop.queries.catalog import images as image_queries
from shop.queries.catalog_admin import products as product_pages
from shop.web.input.request import Request
from shop.web.reply import Reply

_NOTICES = {
    "added": "Images added.",
    "saved": "Image saved.",
    "moved": "Image moved.",
    "removed": "Image deleted.",
    "refused": "Everything else is saved, but some files are not images that can be read. Add them again here.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _images(ctx, page_context, product, notice=notice_of(request, _NOTICES))


async def add(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    alt = fields.line("new_alt")
    files = [data for data in request.files("files") if data]
    if not files:
        fields.refuse("files", "must be chosen")
    if not fields.errors:
        messages = await images.add_images(ctx, product.id, files, alt=alt or None)
        if messages:
            fields.errors["files"] = messages
    if fields.errors:
        return await _images(
            ctx, page_context, product, 422, errors=fields.errors, new_alt=fields.texts.get("new_alt", "")
        )
    return redirect(f"{_path_of(product)}?done=added")


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    image = await get_image(ctx, product.id, id_of(request, "image_id"))
    try:
        values = {"alt": fields.line("alt") or None, "variant_id": fields.id("variant_id")}
        fields.check()
        await records.update(ctx, IMAGE, image.id, values)
    except Invalid as error:
        errors = {f"{name}-{image.id}": sentences for name, sentences in error.errors.items()}
        alt_texts = {image.id: fields.texts.get("alt", "")}
        return await _images(ctx, page_context, product, 422, errors=errors, form_texts=alt_texts)
    return redirect(f"{_path_of(product)}?done=saved#image-{image.id}")


async def up(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    return await _shift(request, ctx, -1)


async def down(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    return await _shift(request, ctx, 1)


async def remove(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    image = await get_image(ctx, product.id, id_of(request, "image_id"))
    await image_actions.remove_image(ctx, image.id)
    return redirect(f"{_path_of(product)}?done=removed")


async def _shift(request: Request, ctx: Context, steps: int) -> Reply:
    product, image_id = await get_product(ctx, id_of(request, "product_id")), id_of(request, "image_id")
    await images.shift(ctx, product.id, image_id, steps)
    return redirect(f"{_path_of(product)}?done=moved#image-{image_id}")


def _path_of(product: Product) -> str:
    return f"/admin/products/{product.id}/images"


async def _images(ctx: Context, page_context: PageContext, product: Product, status: int = 200, **more: Any) -> Reply:
    variants = await product_pages.list_variants(ctx.db, product.id)
    return page(
        "catalog/products/product_images.html",
        page_context,
        status,
        **{"new_alt": "", "form_texts": {}, **more},
        product=product,
        images=await image_queries.list_images(ctx.db, product.id),
        variants={str(variant.id): "All variants" if variant.is_master else variant.label for variant in variants},
    )
