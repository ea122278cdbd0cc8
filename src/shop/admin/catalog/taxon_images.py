"""Form handlers for a taxon's image: upload, replace, describe and delete. The taxon's page shows it."""

from uuid import UUID

from shop.actions import records
from shop.actions.catalog import images
from shop.actions.catalog.resources import IMAGE
from shop.actions.catalog_admin.taxons import get_taxon
from shop.actions.context import Context
from shop.admin.catalog.taxons import PATH, taxon_page
from shop.admin.fields import Fields, id_of
from shop.admin.pages import PageContext, redirect
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.images import Image
from shop.queries.catalog.images import find_taxon_image
from shop.web.input.request import Request
from shop.web.reply import Reply


async def upload(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    taxon, fields = await get_taxon(ctx, id_of(request, "taxon_id")), Fields(request)
    data, alt = request.file("files"), fields.line("new_alt")
    if not data:
        fields.refuse("files", "must be chosen")
    try:
        fields.check()
        await images.set_taxon_image(ctx, taxon.id, data or b"", alt=alt or None)
    except Invalid as error:
        errors = {"files" if name == "attachment" else name: texts for name, texts in error.errors.items()}
        form_values = {"new_alt": fields.texts.get("new_alt", "")}
        return await taxon_page(ctx, page_context, taxon, form_values, status=422, errors=errors)
    return redirect(f"{PATH}/{taxon.id}?done=image-saved")


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    taxon, fields = await get_taxon(ctx, id_of(request, "taxon_id")), Fields(request)
    image = await _get_image(ctx, taxon.id)
    try:
        alt = fields.line("alt")
        fields.check()
        await records.update(ctx, IMAGE, image.id, {"alt": alt or None})
    except Invalid as error:
        return await taxon_page(
            ctx, page_context, taxon, {"alt": fields.texts.get("alt", "")}, status=422, errors=error.errors
        )
    return redirect(f"{PATH}/{taxon.id}?done=image-saved")


async def remove(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    taxon = await get_taxon(ctx, id_of(request, "taxon_id"))
    await images.remove_image(ctx, (await _get_image(ctx, taxon.id)).id)
    return redirect(f"{PATH}/{taxon.id}?done=image-removed")


async def _get_image(ctx: Context, taxon_id: UUID) -> Image:
    image = await find_taxon_image(ctx.db, taxon_id)
    if image is None:
        raise NotFound()
    return image
