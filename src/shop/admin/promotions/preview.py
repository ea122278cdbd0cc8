"""Promotion preview page: the effect of a promotion on a cart, or why it does not apply."""

from shop.actions.context import Context
from shop.actions.orders.pages import get_order
from shop.actions.promotions.pages import get_parts, get_promotion
from shop.actions.promotions.preview import preview_promotion
from shop.admin.fields import id_of
from shop.admin.listing import text_param
from shop.admin.pages import PageContext, page
from shop.admin.promotions.promotions import POLICIES
from shop.admin.promotions.summary import summarize_parts
from shop.base.errors import NotFound
from shop.queries.promotions import pages as promotion_pages
from shop.web.input.request import Request
from shop.web.reply import Reply

MAX_CARTS = 10


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    number = text_param(request, "order").upper()
    result, errors = None, {}
    if number:
        try:
            result = await preview_promotion(ctx, promotion.id, await get_order(ctx, number))
        except NotFound:
            errors = {"order": ["No cart or order has this number."]}
    return page(
        "promotions/promotion_preview.html",
        page_context,
        422 if errors else 200,
        promotion=promotion,
        number=number,
        preview=result,
        errors=errors,
        part_summaries=summarize_parts(await get_parts(ctx, promotion.id), page_context.shop.default_locale),
        policies=POLICIES,
        carts=await promotion_pages.list_open_carts(ctx.db, most=MAX_CARTS),
    )
