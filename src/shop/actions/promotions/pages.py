"""Loads the promotion pages of the dashboard."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import ResourceActions
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.cart.promotions import PromotionAction, PromotionRule
from shop.queries.promotions import pages as queries
from shop.queries.promotions.pages import CountedBatch, CountedPromotion
from shop.rules.promotions.settings import KINDS

PartRow = PromotionRule | PromotionAction
REFERENCE_FORMS = frozenset({"products", "taxons", "groups"})
"""Setting types whose values are ids of records with a name."""


class PromotionParts(msgspec.Struct, frozen=True):
    """The conditions and benefits of a promotion, with the names of the records that they refer to."""

    conditions: Sequence[PromotionRule]
    benefits: Sequence[PromotionAction]
    names: Mapping[UUID, str]


async def get_promotion(ctx: Context, promotion_id: UUID) -> CountedPromotion:
    promotion = await queries.find_promotion(ctx.db, promotion_id)
    if promotion is None:
        raise NotFound()
    return promotion


async def get_parts(ctx: Context, promotion_id: UUID) -> PromotionParts:
    conditions = await queries.list_conditions(ctx.db, promotion_id)
    benefits = await queries.list_benefits(ctx.db, promotion_id)
    ids = {each for part in conditions for each in referenced_ids("condition", part)}
    ids |= {each for part in benefits for each in referenced_ids("benefit", part)}
    return PromotionParts(conditions, benefits, await queries.find_names(ctx.db, ids))


async def get_part(ctx: Context, actions: ResourceActions, promotion_id: UUID, part_id: UUID) -> PartRow:
    """Returns a part of this promotion; raises NotFound for a part of another promotion."""
    part: PartRow = (await records.get(ctx, actions, "id", part_id, {})).row
    if part.promotion_id != promotion_id:
        raise NotFound()
    return part


async def get_batch(ctx: Context, promotion_id: UUID, batch_id: UUID) -> CountedBatch:
    batch = await queries.find_batch(ctx.db, promotion_id, batch_id)
    if batch is None:
        raise NotFound()
    return batch


def referenced_ids(what: str, part: PartRow) -> list[UUID]:
    """Returns the ids of the products, taxons and groups that a part refers to; ignores invalid ids."""
    kind = KINDS[what].get(part.type)
    id_lists = (
        [part.preferences.get(name) for name, form in kind.settings.items() if form in REFERENCE_FORMS] if kind else []
    )
    parsed_ids = [as_uuid(each) for ids in id_lists if isinstance(ids, list) for each in ids]
    return [each for each in parsed_ids if each is not None]
