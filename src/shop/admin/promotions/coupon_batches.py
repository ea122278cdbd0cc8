"""Pages for coupon batches: generate, download as CSV, and delete while no code is used."""

from typing import Any

from shop.actions import records
from shop.actions.context import Context
from shop.actions.promotions.pages import get_batch, get_promotion
from shop.actions.promotions.promotions import MAX_CODES
from shop.actions.promotions.resources import COUPON_BATCH
from shop.admin.fields import Fields, id_of
from shop.admin.listing import SIZE, build_head, paginate_rows, read_cursor, read_sort
from shop.admin.operations.downloads import table_reply
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.promotions.promotions import PATH, SORTS
from shop.admin.uses import UseLink, in_use_page
from shop.base.errors import Invalid
from shop.base.texts import slug_of
from shop.queries.promotions import pages as promotion_pages
from shop.queries.promotions.pages import CountedBatch, CountedPromotion
from shop.web.input.request import Request
from shop.web.reply import Reply

LABELS = {
    "name": "Name",
    "prefix": "Prefix",
    "codes_count": "Number of codes",
    "promotion_id": "The promotion",
    "base": "The batch",
}
_TEXTS = {"name": "", "prefix": "", "codes_count": ""}
_NOTICES = {
    "made": "Codes created. Download them and give each to one customer.",
    "deleted": "Batch deleted. Its codes no longer work.",
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    return await _batches(request, ctx, page_context, promotion, _TEXTS, notice=notice_of(request, _NOTICES))


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion, fields = await get_promotion(ctx, id_of(request, "promotion_id")), Fields(request)
    try:
        values: dict[str, Any] = {
            "name": fields.line("name", most=100, required=True),
            "prefix": fields.line("prefix", most=20),
            "codes_count": fields.whole("codes_count", required=True),
        }
        fields.check()
        await records.create(ctx, COUPON_BATCH, {"promotion_id": promotion.id, **values})
    except Invalid as error:
        texts = {name: fields.texts.get(name, "") for name in _TEXTS}
        return await _batches(request, ctx, page_context, promotion, texts, 422, errors=error.errors)
    return redirect(f"{_path_of(promotion)}?done=made")


async def download(request: Request, ctx: Context, _page_context: PageContext) -> Reply:
    batch = await get_batch(ctx, id_of(request, "promotion_id"), id_of(request, "batch_id"))
    rows = [
        (each.code, each.used_at.isoformat() if each.used_at else "", each.order_number or "")
        for each in await promotion_pages.list_export_codes(ctx.db, batch.id)
    ]
    return table_reply(f"codes-{slug_of(batch.name) or batch.id}", ("code", "used_at", "order_number"), rows)


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return _confirmation_page(
        page_context, await get_batch(ctx, id_of(request, "promotion_id"), id_of(request, "batch_id"))
    )


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    batch = await get_batch(ctx, id_of(request, "promotion_id"), id_of(request, "batch_id"))
    try:
        await records.delete(ctx, COUPON_BATCH, batch.id)
    except Invalid as error:
        return _confirmation_page(page_context, batch, 422, errors=error.errors)
    return redirect(f"{PATH}/{batch.promotion_id}/batches?done=deleted")


def _path_of(promotion: CountedPromotion) -> str:
    return f"{PATH}/{promotion.id}/batches"


async def _batches(
    request: Request,
    ctx: Context,
    page_context: PageContext,
    promotion: CountedPromotion,
    values: dict[str, str],
    status: int = 200,
    **more: Any,
) -> Reply:
    sort = read_sort(request, SORTS)
    order = promotion_pages.BATCH_SORTS[sort]
    cursor = read_cursor(request, order.kind)
    rows = await promotion_pages.list_batches(ctx.db, promotion.id, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params={"sort": sort})
    head = build_head(_path_of(promotion), promotion.batch_count, SORTS, sort, {})
    context = {"batches": page_rows, "head": head, "pages": pages, "here": _path_of(promotion), "most": MAX_CODES}
    return page(
        "promotions/coupon_batches.html",
        page_context,
        status,
        **more,
        **context,
        promotion=promotion,
        values=values,
        labels=LABELS,
    )


def _confirmation_page(page_context: PageContext, batch: CountedBatch, status: int = 200, **more: Any) -> Reply:
    back = f"{PATH}/{batch.promotion_id}/batches"
    if batch.used_count:
        uses = [
            UseLink(str(batch.used_count), "Codes that orders used", f"/admin/orders?promotion={batch.promotion_id}")
        ]
        return in_use_page(page_context, batch.name, back, uses, "It has used codes and cannot be deleted.", status)
    codes = "code" if batch.codes_count == 1 else f"{batch.codes_count:,} codes"
    question = {
        "question": f"Delete batch “{batch.name}”?",
        "sentence": f"Its {codes} will stop working. This cannot be undone.",
        "button": "Delete batch",
    }
    action = f"{back}/{batch.id}/delete"
    return confirmation_page(page_context, status, **question, action=action, back=(back, "Batches"), **more)
