"""What a promotion gives and for what: its conditions and benefits, each added, changed and removed by itself."""

from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.promotions.pages import PartRow, get_part, get_parts, get_promotion
from shop.actions.promotions.resources import PROMOTION_ACTION, PROMOTION_RULE
from shop.actions.records import Noun
from shop.admin.fields import Fields, id_of
from shop.admin.listing import text_param
from shop.admin.pages import Visit, notice_of, page, redirect
from shop.admin.promotions.fields import MOST_FOUND, kept_texts, labels_of, read_settings, settings_of, typed_texts
from shop.admin.promotions.promotions import HERE, NOTICES, POLICIES
from shop.admin.promotions.summary import said_all
from shop.base.errors import Invalid, NotFound
from shop.queries.promotions.pages import CountedPromotion
from shop.rules.promotions.settings import KINDS, kept
from shop.web.reply import Reply
from shop.web.request import Request

_NOTICES = {
    **NOTICES,
    "added": "It is added.",
    "changed": "It is changed.",
    "removed": "It is removed.",
}


async def show(request: Request, ctx: Context, visit: Visit) -> Reply:
    found = await get_promotion(ctx, id_of(request, "promotion_id"))
    parts = said_all(await get_parts(ctx, found.id), visit.shop.default_locale)
    return page(
        "promotion_rules.html",
        visit,
        found=found,
        sections=[(form, parts[form.what]) for form in FORMS],
        policies=POLICIES,
        notice=notice_of(request, _NOTICES),
    )


class At(msgspec.Struct, frozen=True):
    """Where somebody is: at a part of a promotion, or at a new one of a kind."""

    found: CountedPromotion
    kind: str
    part_id: UUID | None = None


class PartForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of conditions, or that of benefits."""

    what: str
    noun: Noun
    path: str
    heading: str
    none: str

    @property
    def kinds(self) -> dict[str, str]:
        return {key: kind.label for key, kind in KINDS[self.what].items()}

    async def new(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        found = await get_promotion(ctx, id_of(request, "promotion_id"))
        return await self._page(ctx, visit, At(found, self._kind(text_param(request, "kind"))), {})

    async def create(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        found, fields = await get_promotion(ctx, id_of(request, "promotion_id")), Fields(request)
        at = At(found, self._kind(fields.typed.get("kind", "")))
        if fields.flag("find"):
            return await self._again(ctx, visit, at, fields)
        try:
            preferences = self._read(at.kind, fields)
            await records.create(
                ctx, self.noun, {"promotion_id": found.id, "type": at.kind, "preferences": preferences}
            )
        except Invalid as wrong:
            return await self._again(ctx, visit, at, fields, wrong.errors)
        return redirect(f"{HERE}/{found.id}/parts?done=added")

    async def show(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        at, part = await self._part(request, ctx)
        return await self._page(ctx, visit, at, kept_texts(self.what, part))

    async def change(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        (at, part), fields = await self._part(request, ctx), Fields(request)
        if fields.flag("find"):
            return await self._again(ctx, visit, at, fields)
        try:
            await records.update(ctx, self.noun, part.id, {"preferences": self._read(at.kind, fields)})
        except Invalid as wrong:
            return await self._again(ctx, visit, at, fields, wrong.errors)
        return redirect(f"{HERE}/{at.found.id}/parts?done=changed")

    async def remove(self, request: Request, ctx: Context, _visit: Visit) -> Reply:
        promotion_id = id_of(request, "promotion_id")
        part = await get_part(ctx, self.noun, promotion_id, id_of(request, "part_id"))
        await records.delete(ctx, self.noun, part.id)
        return redirect(f"{HERE}/{promotion_id}/parts?done=removed")

    def _kind(self, kind: str) -> str:
        if kind not in KINDS[self.what]:
            raise NotFound()
        return kind

    async def _part(self, request: Request, ctx: Context) -> tuple[At, PartRow]:
        found = await get_promotion(ctx, id_of(request, "promotion_id"))
        part = await get_part(ctx, self.noun, found.id, id_of(request, "part_id"))
        # One of a kind that this program does not know can be removed, and that is all.
        return At(found, self._kind(part.type), part.id), part

    def _read(self, kind: str, fields: Fields) -> dict[str, Any]:
        values = read_settings(self.what, kind, fields)
        fields.check()
        return kept(self.what, kind, values)

    async def _again(self, ctx: Context, visit: Visit, at: At, fields: Fields, errors: Any = None) -> Reply:
        """With what was typed, and what is searched for."""
        search = fields.typed.get("q", "").strip()[:100]
        return await self._page(ctx, visit, at, typed_texts(self.what, at.kind, fields), search, errors)

    async def _page(
        self, ctx: Context, visit: Visit, at: At, texts: dict[str, Any], search: str = "", errors: Any = None
    ) -> Reply:
        return page(
            "promotion_part.html",
            visit,
            422 if errors else 200,
            at=at,
            form=self,
            heading=KINDS[self.what][at.kind].label,
            settings=await settings_of(ctx, visit.shop, self.what, at.kind, texts, search),
            labels=labels_of(self.what, at.kind),
            here=f"{HERE}/{at.found.id}/{self.path}/{at.part_id or 'new'}",
            back=f"{HERE}/{at.found.id}/parts",
            search=search,
            most=MOST_FOUND,
            errors=errors or {},
        )


CONDITION_FORM = PartForm(
    what="condition",
    noun=PROMOTION_RULE,
    path="conditions",
    heading="Conditions",
    none="None: it counts for every cart.",
)
BENEFIT_FORM = PartForm(
    what="benefit", noun=PROMOTION_ACTION, path="benefits", heading="Benefits", none="None yet: it gives nothing."
)
FORMS = (CONDITION_FORM, BENEFIT_FORM)
