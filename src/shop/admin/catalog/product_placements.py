"""Pages for the taxons and properties of a product."""

from typing import Any

from shop.actions.catalog_admin import products
from shop.actions.catalog_admin.products import get_product
from shop.actions.context import Context
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Invalid
from shop.base.ids import as_uuid
from shop.base.texts import is_line
from shop.models.catalog.products import Product
from shop.queries.catalog_admin import products as product_pages
from shop.queries.catalog_admin import taxons as taxon_pages
from shop.web.input.request import Request
from shop.web.reply import Reply

_NOTICES = {"taxons": "Categories saved.", "properties": "Properties saved."}
MAX_VALUE_LENGTH = 250


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product = await get_product(ctx, id_of(request, "product_id"))
    return await _placements_page(ctx, page_context, product, notice=notice_of(request, _NOTICES))


async def change_taxons(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    existing_ids = {taxon.id for taxon in await taxon_pages.list_taxons(ctx.db)}
    taxon_ids = [taxon_id for taxon_id in fields.ids("taxon_ids") if taxon_id in existing_ids]
    await products.change_taxons(ctx, product.id, taxon_ids, fields.ids("former_ids"))
    return redirect(f"/admin/products/{product.id}/places?done=taxons")


async def change_properties(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    product, fields = await get_product(ctx, id_of(request, "product_id")), Fields(request)
    texts = {name: text.strip() for name, text in fields.group("value").items() if isinstance(text, str)}
    former = {key: text for name, text in fields.group("former").items() if (key := as_uuid(name))}
    try:
        for name, text in texts.items():
            if len(text) > MAX_VALUE_LENGTH or not is_line(text):
                fields.refuse(f"value-{name}", f"must be one line of at most {MAX_VALUE_LENGTH} characters")
        name, value = fields.line("new_name", most=60), fields.line("new_value", most=MAX_VALUE_LENGTH)
        if bool(name) != bool(value):
            fields.refuse("new_value" if name else "new_name", "is required too")
        fields.check()
        values = {key: text for name_, text in texts.items() if (key := as_uuid(name_))}
        changes = {key: text for key, text in values.items() if text != former.get(key)}
        await products.save_properties(ctx, product.id, changes, former, new=(name, value) if name else None)
    except Invalid as error:
        form_values = {**fields.texts, "value": texts}
        return await _placements_page(ctx, page_context, product, 422, errors=error.errors, form_texts=form_values)
    return redirect(f"/admin/products/{product.id}/places?done=properties")


async def _placements_page(
    ctx: Context, page_context: PageContext, product: Product, status: int = 200, **more: Any
) -> Reply:
    taxons = await taxon_pages.list_taxons(ctx.db)
    taxonomies = await taxon_pages.list_taxonomies(ctx.db)
    return page(
        "catalog/products/product_placements.html",
        page_context,
        status,
        **{"form_texts": {"value": {}}, **more},
        product=product,
        trees=[(tree, [taxon for taxon in taxons if taxon.taxonomy_id == tree.id]) for tree in taxonomies],
        selected_ids=set(await taxon_pages.list_taxon_ids_of(ctx.db, product.id)),
        properties=await product_pages.list_product_properties(ctx.db, product.id),
        all_properties=await product_pages.list_properties(ctx.db),
    )
