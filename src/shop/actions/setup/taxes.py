"""Creates, updates and deletes tax rates, in the caller's transaction."""

from uuid import UUID

from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.ids import new_id
from shop.models.setup.inputs import TaxRateInput
from shop.models.setup.zones import tax_rates
from shop.queries import writes


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
