"""Assigns customers to groups and price lists by e-mail address, in bulk."""

from uuid import UUID

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import ResourceActions
from shop.base.errors import Invalid, NotFound
from shop.base.listing import Condition, ListQuery, Page, Sort
from shop.queries.customers import customers
from shop.queries.records import find_record, list_records
from shop.rules.form_values import read_addresses, too_many


async def assign(ctx: Context, actions: ResourceActions, owner: tuple[str, UUID], text: str) -> int:
    """Links the owner with each customer in `text`, one address per line, all or none; returns the number added."""
    keys, errors = read_addresses(text)
    errors = too_many(keys) or errors
    user_ids = await customers.find_by_keys(ctx.db, keys)
    errors += [f"{key} is not the address of a customer." for key in keys if key not in user_ids]
    if errors or not keys:
        raise Invalid({"emails": errors or ["is required"]})
    column, owner_id = owner
    async with ctx.db.transaction():
        conditions = (
            Condition(((column,),), "eq", owner_id),
            Condition((("user_id",),), "in", list(user_ids.values())),
        )
        criteria = ListQuery(Sort("id", is_descending=False), Page(size=len(user_ids)), conditions)
        present = {link.user_id for link in await list_records(ctx.db, actions.records, criteria)}
        new = [user_id for user_id in user_ids.values() if user_id not in present]
        for user_id in new:
            await records.make(ctx, actions, {column: owner_id, "user_id": user_id})
    return len(new)


async def unassign(ctx: Context, actions: ResourceActions, owner: tuple[str, UUID], link_id: UUID) -> None:
    column, owner_id = owner
    link = await find_record(ctx.db, actions.records, "id", link_id)
    if link is None or getattr(link, column) != owner_id:
        raise NotFound()
    await records.delete(ctx, actions, link_id)
