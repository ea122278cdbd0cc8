"""Writes tax categories and tax rates, in the caller's transaction."""

from uuid import UUID

from msgspec.structs import replace

from shop.actions.context import Context
from shop.actions.event_subjects import TAX_CATEGORY
from shop.actions.events import note_change
from shop.actions.records import Values
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.setup.inputs import TaxRateInput
from shop.models.setup.taxes import tax_categories
from shop.models.setup.zones import tax_rates
from shop.queries import writes
from shop.queries.setup import methods


async def create_tax_category(ctx: Context, values: Values) -> UUID:
    category_id = new_id()
    await _unset_default(ctx, values, category_id)
    await writes.insert_record(ctx.db, tax_categories, category_id, values)
    return category_id


async def update_tax_category(ctx: Context, category_id: UUID, values: Values) -> None:
    await _unset_default(ctx, values, category_id)
    await writes.update_record(ctx.db, tax_categories, category_id, values)


async def _unset_default(ctx: Context, values: Values, but: UUID) -> None:
    """Makes room for another default category, of which there is at most one."""
    if values.get("is_default"):
        for former in await methods.unset_default_category(ctx.db, but):
            note_change(ctx, TAX_CATEGORY, former.id, replace(former, is_default=True))


async def create_tax_rate(ctx: Context, values: TaxRateInput) -> UUID:
    _check_rate(values)
    rate_id = new_id()
    await writes.insert_record(ctx.db, tax_rates, rate_id, values)
    return rate_id


async def update_tax_rate(ctx: Context, rate_id: UUID, values: TaxRateInput) -> None:
    _check_rate(values)
    await writes.update_record(ctx.db, tax_rates, rate_id, values)


async def delete_tax_rate(ctx: Context, rate_id: UUID) -> None:
    if not await writes.delete_record(ctx.db, tax_rates, rate_id):
        raise NotFound()


def _check_rate(values: TaxRateInput) -> None:
    amount = values.get("amount")
    if amount is not None and not (0 <= amount < 10 and amount == round(amount, 5)):
        raise Invalid({"amount": ["must be a share like 0.19, with at most five decimals"]})
