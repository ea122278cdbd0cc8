"""All that an operator sees of one promotion."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import Noun
from shop.base.errors import NotFound
from shop.base.ids import as_uuid
from shop.models.cart.promotions import PromotionAction, PromotionRule
from shop.queries.promotions import pages as queries
from shop.queries.promotions.pages import CountedBatch, CountedPromotion
from shop.rules.promotions.settings import KINDS

PartRow = PromotionRule | PromotionAction
NAMED = frozenset({"products", "taxons", "groups"})
"""What is settled as ids of records that have a name."""


class PromotionParts(msgspec.Struct, frozen=True):
    """Its conditions and benefits, with what the records that they name are called."""

    conditions: Sequence[PromotionRule]
    benefits: Sequence[PromotionAction]
    names: Mapping[UUID, str]


async def get_promotion(ctx: Context, promotion_id: UUID) -> CountedPromotion:
    found = await queries.find_promotion(ctx.db, promotion_id)
    if found is None:
        raise NotFound()
    return found


async def get_parts(ctx: Context, promotion_id: UUID) -> PromotionParts:
    conditions = await queries.list_conditions(ctx.db, promotion_id)
    benefits = await queries.list_benefits(ctx.db, promotion_id)
    ids = {each for part in conditions for each in named_ids("condition", part)}
    ids |= {each for part in benefits for each in named_ids("benefit", part)}
    return PromotionParts(conditions, benefits, await queries.find_names(ctx.db, ids))


async def get_part(ctx: Context, noun: Noun, promotion_id: UUID, part_id: UUID) -> PartRow:
    """One of this promotion; another's is not there."""
    found: PartRow = (await records.get(ctx, noun, "id", part_id, {})).row
    if found.promotion_id != promotion_id:
        raise NotFound()
    return found


async def get_batch(ctx: Context, promotion_id: UUID, batch_id: UUID) -> CountedBatch:
    found = await queries.find_batch(ctx.db, promotion_id, batch_id)
    if found is None:
        raise NotFound()
    return found


def named_ids(what: str, part: PartRow) -> list[UUID]:
    """The products, taxons and groups that it is about; what is no id was spoiled by hand."""
    kind = KINDS[what].get(part.type)
    given = [part.preferences.get(name) for name, form in kind.settings.items() if form in NAMED] if kind else []
    found = [as_uuid(each) for ids in given if isinstance(ids, list) for each in ids]
    return [each for each in found if each is not None]
