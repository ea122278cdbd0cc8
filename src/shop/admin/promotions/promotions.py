"""Promotion pages: search, create, edit name, period and usage limits, and delete."""

from datetime import tzinfo
from typing import Any

from shop.actions import records
from shop.actions.context import Context
from shop.actions.promotions.pages import get_promotion
from shop.actions.promotions.resources import PROMOTION
from shop.admin.fields import Fields, id_of, list_differences, moment_text
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort, text_param
from shop.admin.pages import PageContext, confirmation_page, notice_of, page, redirect
from shop.admin.uses import in_use_page, link_uses, list_website_uses
from shop.base.errors import ChangedMeanwhile, Invalid
from shop.models.cart.promotions import Promotion
from shop.models.cart.promotions import promotions as promotion_table
from shop.queries.promotions import pages as promotion_pages
from shop.queries.promotions.pages import CountedPromotion
from shop.queries.setup.uses import list_uses
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/promotions"
ACTIVATIONS = {
    "automatic": ("Automatic", "Applies to every cart that meets the conditions."),
    "code": ("One code", "Applies when a customer enters the code, within the limits below."),
    "batches": ("Batches of codes", "Generated codes, each valid for one order."),
}
POLICIES = {"all": "All conditions must be met", "any": "Any condition is enough"}
LABELS = {
    "base": "The promotion",
    "name": "Name",
    "description": "Description",
    "way": "Activation",
    "code": "Code",
    "match_policy": "Conditions",
    "usage_limit": "Total uses",
    "customer_limit": "Uses per customer",
    "starts_at": "Begins",
    "expires_at": "Ends",
}
_TEXTS = tuple(name for name in LABELS if name != "base")
_NEW = dict.fromkeys(_TEXTS, "") | {"way": "automatic", "match_policy": "all"}
SORTS = {"newest": "Newest", "oldest": "Oldest", "name": "Name"}
NOTICES = {
    "made": "Promotion created. Add conditions and benefits next.",
    "saved": "Saved.",
    "deleted": "Promotion deleted.",
}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    params, sort = {"q": text_param(request, "q")}, read_sort(request, SORTS)
    order = promotion_pages.SORTS[sort]
    cursor = read_cursor(request, order.kind)
    rows = await promotion_pages.list_promotions(ctx.db, params["q"], cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by=order.field, params={**params, "sort": sort})
    count = await count_list(rows, cursor, lambda: promotion_pages.count_promotions(ctx.db, params["q"]))
    return page(
        "promotions/promotions.html",
        page_context,
        promotions=page_rows,
        head=build_head(PATH, count, SORTS, sort, params),
        pages=pages,
        params=params,
        notice=notice_of(request, NOTICES),
    )


async def new(_request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    return _new(page_context, _NEW)


async def create(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        values = _read(fields, page_context.shop.zone, None)
        fields.check()
        promotion_id = await records.create(ctx, PROMOTION, values)
    except Invalid as error:
        return _new(page_context, _form_texts(fields), 422, error.errors)
    return redirect(f"{PATH}/{promotion_id}/parts?done=made")


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    texts = _texts(promotion, page_context.shop.zone)
    return _one(page_context, promotion, texts, notice=notice_of(request, NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion, fields = await get_promotion(ctx, id_of(request, "promotion_id")), Fields(request)
    try:
        values = _read(fields, page_context.shop.zone, promotion)
        fields.check()
        await records.update(ctx, PROMOTION, promotion.id, values, fields.texts.get("seen_at"))
    except Invalid as error:
        seen_at = fields.texts.get("seen_at", "")
        return _one(page_context, promotion, _form_texts(fields), 422, errors=error.errors, seen_at=seen_at)
    except ChangedMeanwhile as conflict:
        texts, promotion = _form_texts(fields), await get_promotion(ctx, promotion.id)
        current_texts = _texts(promotion, page_context.shop.zone)
        more = {"conflict": conflict.sentence, "theirs": list_differences(LABELS, texts, current_texts)}
        return _one(page_context, promotion, texts, 409, **more)
    return redirect(f"{PATH}/{promotion.id}?done=saved")


async def show_delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    return await _confirmation_page(ctx, page_context, promotion)


async def delete(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    try:
        await records.delete(ctx, PROMOTION, promotion.id)
    except Invalid as error:
        return await _confirmation_page(ctx, page_context, promotion, 422, errors=error.errors)
    return redirect(f"{PATH}?done=deleted")


def _read(fields: Fields, zone: tzinfo, present: Promotion | None) -> dict[str, Any]:
    way = fields.choice("way", ACTIVATIONS)
    code = fields.line("code", most=100, required=way == "code").lower()
    values: dict[str, Any] = {
        "name": fields.line("name", required=True),
        "description": fields.line("description") or None,
        "is_automatic": way == "automatic",
        # A code is ignored unless the promotion is redeemed by code.
        "code": code if way == "code" else None,
        "match_policy": fields.choice("match_policy", POLICIES),
        "usage_limit": fields.whole("usage_limit", least=1),
        "customer_limit": fields.whole("customer_limit", least=1),
        "starts_at": fields.moment("starts_at", zone, present.starts_at if present else None),
        "expires_at": fields.moment("expires_at", zone, present.expires_at if present else None),
    }
    if values["starts_at"] and values["expires_at"] and values["expires_at"] <= values["starts_at"]:
        fields.refuse("expires_at", "must be later than it begins")
    return values


def _texts(promotion: Promotion, zone: tzinfo) -> dict[str, Any]:
    own = {
        name: "" if getattr(promotion, name) is None else str(getattr(promotion, name))
        for name in _TEXTS
        if name != "way"
    }
    moments = {name: moment_text(getattr(promotion, name), zone) for name in ("starts_at", "expires_at")}
    return {**own, **moments, "way": "automatic" if promotion.is_automatic else "code" if promotion.code else "batches"}


def _form_texts(fields: Fields) -> dict[str, Any]:
    return {name: fields.texts.get(name, "") for name in _TEXTS}


def _new(page_context: PageContext, values: dict[str, Any], status: int = 200, errors: Any = None) -> Reply:
    return page("promotions/promotion_new.html", page_context, status, **_choices(values), errors=errors or {})


def _one(
    page_context: PageContext, promotion: CountedPromotion, values: dict[str, Any], status: int = 200, **more: Any
) -> Reply:
    more = {"conflict": None, "theirs": {}, "seen_at": promotion.updated_at.isoformat(), **more}
    return page("promotions/promotion.html", page_context, status, **more, **_choices(values), promotion=promotion)


def _choices(values: dict[str, Any]) -> dict[str, Any]:
    return {"values": values, "labels": LABELS, "ways": ACTIVATIONS, "policies": POLICIES}


async def _confirmation_page(
    ctx: Context, page_context: PageContext, promotion: Promotion, status: int = 200, **more: Any
) -> Reply:
    """Asks for the confirmation, or says which orders used the promotion."""
    here = f"{PATH}/{promotion.id}"
    if uses := await list_uses(ctx.db, promotion_table, promotion.id):
        sentence = "Orders used it, so it cannot be deleted. To stop it, set an end date."
        users = {"promotion_uses": ("Orders", f"/admin/orders?promotion={promotion.id}")}
        return in_use_page(page_context, promotion.name, here, link_uses(uses, users), sentence, status)
    question = {
        "question": f"Delete promotion “{promotion.name}”?",
        "sentence": "Its conditions, benefits and codes will be deleted too, and carts will lose the discount. This"
        " cannot be undone.",
        "button": "Delete promotion",
    }
    return confirmation_page(
        page_context,
        status,
        **question,
        uses=link_uses(list_website_uses(page_context.shop, promotion.id)),
        action=f"{here}/delete",
        back=(here, promotion.name),
        **more,
    )
