"""Price list forms; each form saves all of its rows or none."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from shop.actions import records
from shop.actions.catalog.resources import PRICE_LIST, PRICE_LIST_ENTRY, PRICE_LIST_GROUP
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.base.values import REQUIRED
from shop.models.catalog.prices import PriceList
from shop.queries.catalog_admin import price_lists as price_list_pages
from shop.queries.catalog_admin import variants
from shop.queries.catalog_admin.price_lists import CountedList
from shop.queries.records import find_record, lock_record
from shop.rules.form_values import read_entries, too_many


async def get_price_list(ctx: Context, list_id: UUID) -> CountedList:
    price_list = await price_list_pages.find_price_list(ctx.db, list_id)
    if price_list is None:
        raise NotFound()
    return price_list


async def save_entry(ctx: Context, list_id: UUID, sku: str, min_quantity: int, amount: Decimal) -> None:
    variant_id = (await variants.find_variants(ctx.db, [sku])).get(sku)
    if variant_id is None:
        raise Invalid({"sku": ["does not exist"]})
    fields = {"variant_id": variant_id, "min_quantity": min_quantity, "amount": amount}
    try:
        await records.create(ctx, PRICE_LIST_ENTRY, {"price_list_id": list_id, **fields})
    except Invalid as error:
        # The unique constraint covers list, variant and quantity; the error names the last column.
        if "min_quantity" in error.errors:
            raise Invalid({"min_quantity": ["already has a price for this SKU; change it below"]}) from None
        raise


async def paste_entries(ctx: Context, price_list: PriceList, text: str) -> tuple[int, int]:
    """Creates or updates entries from lines of `sku,min quantity,amount`; returns both counts, created first."""
    lines, errors = read_entries(text, price_list.currency)
    errors = too_many(lines) or errors
    variant_ids = await variants.find_variants(ctx.db, [line.sku for line in lines])
    errors += [
        f"Line {line.number} ({line.sku[:60]}) has a SKU that does not exist."
        for line in lines
        if line.sku not in variant_ids
    ]
    if errors or not lines:
        raise Invalid({"lines": errors or [REQUIRED]})
    created_count = updated_count = 0
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, price_list.id)
        existing = await price_list_pages.find_entries(ctx.db, price_list.id, list(variant_ids.values()))
        for line in lines:
            entry_id = existing.get((variant_ids[line.sku], line.min_quantity))
            if entry_id:
                updated_count += await records.change(ctx, PRICE_LIST_ENTRY, entry_id, {"amount": line.amount})
            else:
                fields = {"variant_id": variant_ids[line.sku], "min_quantity": line.min_quantity, "amount": line.amount}
                await records.make(ctx, PRICE_LIST_ENTRY, {"price_list_id": price_list.id, **fields})
                created_count += 1
    return created_count, updated_count


async def change_entries(
    ctx: Context, list_id: UUID, changes: Mapping[UUID, Mapping[str, object]], removed_ids: Sequence[UUID]
) -> None:
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, list_id)
        for entry_id in [*removed_ids, *changes]:
            entry = await find_record(ctx.db, PRICE_LIST_ENTRY.records, "id", entry_id)
            if entry is None or entry.price_list_id != list_id:
                raise NotFound()
            if entry_id in removed_ids:
                await records.remove(ctx, PRICE_LIST_ENTRY, entry_id)
            else:
                await _change_entry(ctx, entry_id, changes[entry_id])


async def _change_entry(ctx: Context, entry_id: UUID, values: Mapping[str, object]) -> None:
    try:
        await records.change(ctx, PRICE_LIST_ENTRY, entry_id, values)
    except Invalid as error:
        raise Invalid({f"{name}-{entry_id}": messages for name, messages in error.errors.items()}) from None


async def change_groups(ctx: Context, list_id: UUID, group_ids: Collection[UUID], former_ids: Collection[UUID]) -> None:
    """Applies the difference of two selections of customer groups; other groups of the price list remain."""
    new_ids, removed_ids = set(group_ids) - set(former_ids), set(former_ids) - set(group_ids)
    async with ctx.db.transaction():
        await lock_record(ctx.db, PRICE_LIST.records, list_id)
        for group in await price_list_pages.list_groups_for(ctx.db, list_id):
            if group.id and group.group_id in removed_ids:
                await records.remove(ctx, PRICE_LIST_GROUP, group.id)
            elif group.id is None and group.group_id in new_ids:
                fields = {"price_list_id": list_id, "customer_group_id": group.group_id}
                await records.make(ctx, PRICE_LIST_GROUP, fields)
