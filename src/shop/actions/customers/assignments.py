"""How operators put customers into groups and onto price lists: by e-mail address, many at once."""

from uuid import UUID

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import Noun
from shop.base.errors import Invalid, NotFound
from shop.base.listing import Condition, Page, Sort, Wishes
from shop.queries.customers import customers
from shop.queries.records import find_record, list_records
from shop.rules.form_values import read_addresses, too_many


async def assign(ctx: Context, noun: Noun, owner: tuple[str, UUID], text: str) -> int:
    """Links an owner's record with each customer named, a line each; says how many were new. All or none."""
    keys, wrong = read_addresses(text)
    wrong = too_many(keys) or wrong
    found = await customers.find_by_keys(ctx.db, keys)
    wrong += [f"{key} is no customer's address." for key in keys if key not in found]
    if wrong or not keys:
        raise Invalid({"emails": wrong or ["must be given"]})
    column, owner_id = owner
    async with ctx.db.transaction():
        conditions = (Condition(((column,),), "eq", owner_id), Condition((("user_id",),), "in", list(found.values())))
        wishes = Wishes(Sort("id", is_descending=False), Page(size=len(found)), conditions)
        present = {link.user_id for link in await list_records(ctx.db, noun.records, wishes)}
        new = [user_id for user_id in found.values() if user_id not in present]
        for user_id in new:
            await records.make(ctx, noun, {column: owner_id, "user_id": user_id})
    return len(new)


async def unassign(ctx: Context, noun: Noun, owner: tuple[str, UUID], link_id: UUID) -> None:
    column, owner_id = owner
    link = await find_record(ctx.db, noun.records, "id", link_id)
    if link is None or getattr(link, column) != owner_id:
        raise NotFound()
    await records.delete(ctx, noun, link_id)
