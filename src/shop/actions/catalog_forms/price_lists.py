"""What operators do with the prices of a list: many lines at once, whole or not at all."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import PRICE_LIST, PRICE_LIST_ENTRY, PRICE_LIST_GROUP
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.prices import PriceList
from shop.queries.catalog import skus
from shop.queries.catalog_pages import price_lists as price_list_pages
from shop.queries.catalog_pages.price_lists import CountedList
from shop.queries.records import find_record, lock_record
from shop.rules.form_values import read_entries, too_many


async def get_price_list(ctx: Context, list_id: UUID) -> CountedList:
    found = await price_list_pages.find_price_list(ctx.db, list_id)
    if found is None:
        raise NotFound()
    return found


async def save_entry(ctx: Context, list_id: UUID, sku: str, min_quantity: int, amount: Decimal) -> None:
    variant_id = (await skus.find_variants(ctx.db, [sku])).get(sku)
    if variant_id is None:
        raise Invalid({"sku": ["is no variant's"]})
    fields = {"variant_id": variant_id, "min_quantity": min_quantity, "amount": amount}
    try:
        await records.create(ctx, PRICE_LIST_ENTRY, {"price_list_id": list_id, **fields})
    except Invalid as wrong:
        # Unique are the variant, the list and the quantity together; the last of them is named.
        if "min_quantity" in wrong.errors:
            raise Invalid({"min_quantity": ["has a price for this SKU already; change it below"]}) from None
        raise


async def paste_entries(ctx: Context, price_list: PriceList, text: str) -> tuple[int, int]:
    """Lines of `sku,min quantity,amount`: what is there is changed, the rest is added. How many of each."""
    lines, wrong = read_entries(text, price_list.currency)
    wrong = too_many(lines) or wrong
    found = await skus.find_variants(ctx.db, [line.sku for line in lines])
    wrong += [
        f"Line {line.number} ({line.sku[:60]}) has a SKU that is no variant's."
        for line in lines
        if line.sku not in found
    ]
    if wrong or not lines:
        raise Invalid({"lines": wrong or ["must be given"]})
    made = changed = 0
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, price_list.id)
        present = await price_list_pages.find_entries(ctx.db, price_list.id, list(found.values()))
        for line in lines:
            entry_id = present.get((found[line.sku], line.min_quantity))
            if entry_id:
                changed += await records.change(ctx, PRICE_LIST_ENTRY, entry_id, {"amount": line.amount})
            else:
                fields = {"variant_id": found[line.sku], "min_quantity": line.min_quantity, "amount": line.amount}
                await records.make(ctx, PRICE_LIST_ENTRY, {"price_list_id": price_list.id, **fields})
                made += 1
    return made, changed


async def change_entries(
    ctx: Context, list_id: UUID, changes: Mapping[UUID, Mapping[str, object]], removed: Sequence[UUID]
) -> None:
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, list_id)
        for entry_id in [*removed, *changes]:
            entry = await find_record(ctx.db, PRICE_LIST_ENTRY.records, "id", entry_id)
            if entry is None or entry.price_list_id != list_id:
                raise NotFound()
            if entry_id in removed:
                await records.remove(ctx, PRICE_LIST_ENTRY, entry_id)
            else:
                await _change(ctx, entry_id, changes[entry_id])


async def _change(ctx: Context, entry_id: UUID, values: Mapping[str, object]) -> None:
    try:
        await records.change(ctx, PRICE_LIST_ENTRY, entry_id, values)
    except Invalid as wrong:
        raise Invalid({f"{name}-{entry_id}": said for name, said in wrong.errors.items()}) from None


async def set_groups(ctx: Context, list_id: UUID, group_ids: Sequence[UUID]) -> None:
    """The groups that have the list are these afterwards."""
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, list_id)
        for group in await price_list_pages.list_groups_for(ctx.db, list_id):
            if group.id and group.group_id not in group_ids:
                await records.remove(ctx, PRICE_LIST_GROUP, group.id)
            elif group.id is None and group.group_id in group_ids:
                fields = {"price_list_id": list_id, "customer_group_id": group.group_id}
                await records.make(ctx, PRICE_LIST_GROUP, fields)
