"""Pages for the conditions (rules) and benefits (actions) of a promotion; each is edited separately."""

from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.promotions.pages import PartRow, get_part, get_parts, get_promotion
from shop.actions.promotions.resources import PROMOTION_ACTION, PROMOTION_RULE
from shop.actions.records import ResourceActions
from shop.admin.fields import Fields, id_of
from shop.admin.listing import text_param
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.admin.promotions.fields import (
    MAX_SEARCH_RESULTS,
    build_settings,
    get_stored_texts,
    get_submitted_texts,
    labels_of,
    read_settings,
)
from shop.admin.promotions.promotions import NOTICES, PATH, POLICIES
from shop.admin.promotions.summary import summarize_parts
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.queries.promotions.pages import CountedPromotion
from shop.rules.promotions.settings import KINDS, normalize_preferences
from shop.web.input.request import Request
from shop.web.reply import Reply

_NOTICES = {
    **NOTICES,
    "added": "Added.",
    "changed": "Saved.",
    "removed": "Removed.",
}

_EFFECTS = {
    "product": "Met by carts that contain one of these products. Discounts on items apply only to these.",
    "taxon": "Met by carts that contain a product of these categories. Discounts on items apply only to these.",
    "customer_group": "Met by customers in these groups.",
    "first_order": "Met by signed-in customers who have not ordered yet.",
    "item_total": "Met by carts whose items cost at least this much.",
    "percent_off_items": "Takes a percentage off each line.",
    "amount_off_items": "Takes an amount off each unit.",
    "buy_some_get_some": "Discounts the cheapest items: those to get, for each group of items to buy.",
    "free_shipping": "Makes shipping free.",
    "percent_off_order": "Takes a percentage off the order.",
    "amount_off_order": "Takes an amount off the order.",
}
"""What conditions and benefits do, by kind; those of extensions have only their label."""
_CONFLICT = "was changed by someone else meanwhile. It is shown as it is now; your changes were not saved."


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
    parts = summarize_parts(await get_parts(ctx, promotion.id), page_context.shop.default_locale)
    return page(
        "promotions/promotion_rules.html",
        page_context,
        promotion=promotion,
        sections=[(form, parts[form.what]) for form in FORMS],
        policies=POLICIES,
        notice=notice_of(request, _NOTICES),
    )


class PartContext(msgspec.Struct, frozen=True):
    """The edited part of a promotion, or a new part of a kind."""

    promotion: CountedPromotion
    kind: str
    part_id: UUID | None = None
    seen_at: str = ""
    """When the part was changed last, as the form showed it."""


class PartForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of conditions or of benefits."""

    what: str
    actions: ResourceActions
    path: str
    heading: str
    none: str

    @property
    def kinds(self) -> dict[str, str]:
        return {key: kind.label for key, kind in KINDS[self.what].items()}

    async def new(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
        return await self._page(ctx, page_context, PartContext(promotion, self._kind(text_param(request, "kind"))), {})

    async def create(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        promotion, fields = await get_promotion(ctx, id_of(request, "promotion_id")), Fields(request)
        at = PartContext(promotion, self._kind(fields.texts.get("kind", "")))
        if fields.flag("find"):
            return await self._page_with_errors(ctx, page_context, at, fields)
        try:
            preferences = self._read(at.kind, fields)
            await records.create(
                ctx, self.actions, {"promotion_id": promotion.id, "type": at.kind, "preferences": preferences}
            )
        except Invalid as error:
            return await self._page_with_errors(ctx, page_context, at, fields, error.errors)
        return redirect(f"{PATH}/{promotion.id}/parts?done=added")

    async def show(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        at, part = await self._part(request, ctx)
        return await self._page(ctx, page_context, at, get_stored_texts(self.what, part))

    async def change(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        (at, part), fields = await self._part(request, ctx), Fields(request)
        if fields.flag("find"):
            return await self._page_with_errors(ctx, page_context, at, fields)
        try:
            preferences, seen_at = self._read(at.kind, fields), fields.texts.get("seen_at")
            await records.update(ctx, self.actions, part.id, {"preferences": preferences}, seen_at)
        except Invalid as error:
            return await self._page_with_errors(ctx, page_context, at, fields, error.errors)
        except ChangedMeanwhile:
            # The page shows their settings, since those of two operators can hardly be compared here.
            at, part = await self._part(request, ctx)
            texts = get_stored_texts(self.what, part)
            return await self._page(
                ctx, page_context, at, texts, errors={"base": [f"This {self.what} {_CONFLICT}"]}, status=409
            )
        return redirect(f"{PATH}/{at.promotion.id}/parts?done=changed")

    async def remove(self, request: Request, ctx: Context, _page_context: PageContext) -> Reply:
        promotion_id = id_of(request, "promotion_id")
        part = await get_part(ctx, self.actions, promotion_id, id_of(request, "part_id"))
        await records.delete(ctx, self.actions, part.id)
        return redirect(f"{PATH}/{promotion_id}/parts?done=removed")

    def _kind(self, kind: str) -> str:
        if kind not in KINDS[self.what]:
            raise NotFound()
        return kind

    async def _part(self, request: Request, ctx: Context) -> tuple[PartContext, PartRow]:
        promotion = await get_promotion(ctx, id_of(request, "promotion_id"))
        part = await get_part(ctx, self.actions, promotion.id, id_of(request, "part_id"))
        # A part of an unknown kind can only be removed.
        return PartContext(promotion, self._kind(part.type), part.id, part.updated_at.isoformat()), part

    def _read(self, kind: str, fields: Fields) -> dict[str, Any]:
        values = read_settings(self.what, kind, fields)
        fields.check()
        return normalize_preferences(self.what, kind, values)

    async def _page_with_errors(
        self, ctx: Context, page_context: PageContext, at: PartContext, fields: Fields, errors: Any = None
    ) -> Reply:
        """Renders the form again with the submitted values and the search results."""
        search = fields.texts.get("q", "").strip()[:100]
        at = msgspec.structs.replace(at, seen_at=fields.texts.get("seen_at", ""))
        return await self._page(ctx, page_context, at, get_submitted_texts(self.what, at.kind, fields), search, errors)

    async def _page(
        self,
        ctx: Context,
        page_context: PageContext,
        at: PartContext,
        texts: dict[str, Any],
        search: str = "",
        errors: Any = None,
        status: int = 422,
    ) -> Reply:
        return page(
            "promotions/promotion_part.html",
            page_context,
            status if errors else 200,
            at=at,
            form=self,
            heading=KINDS[self.what][at.kind].label,
            effect=_EFFECTS.get(at.kind, f"A {self.what} of this promotion."),
            settings=await build_settings(ctx, page_context.shop, self.what, at.kind, texts, search),
            labels=labels_of(self.what, at.kind),
            here=f"{PATH}/{at.promotion.id}/{self.path}/{at.part_id or 'new'}",
            back=f"{PATH}/{at.promotion.id}/parts",
            search=search,
            most=MAX_SEARCH_RESULTS,
            errors=errors or {},
        )


CONDITION_FORM = PartForm(
    what="condition",
    actions=PROMOTION_RULE,
    path="conditions",
    heading="Conditions",
    none="None. The promotion applies to every cart.",
)
BENEFIT_FORM = PartForm(
    what="benefit",
    actions=PROMOTION_ACTION,
    path="benefits",
    heading="Benefits",
    none="None yet. The promotion gives no discount.",
)
FORMS = (CONDITION_FORM, BENEFIT_FORM)
