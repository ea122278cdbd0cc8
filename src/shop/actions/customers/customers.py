"""Operator actions on customers: create them and change their details."""

from collections.abc import Collection, Sequence
from uuid import UUID

from shop.actions import records
from shop.actions.context import Context
from shop.actions.customers.account import lock_account
from shop.actions.customers.users import USER
from shop.actions.records import ResourceActions
from shop.base.errors import Conflict, Invalid
from shop.base.listing import Condition, ListQuery, Page, Sort
from shop.models.access.users import User
from shop.models.customers.record_inputs import CustomerInput
from shop.queries.records import list_records
from shop.rules.form_values import fingerprint

MAX_TAGS = 20
MAX_TAG_LENGTH = 40
MAX_NOTE_LENGTH, MAX_PHONE_LENGTH = 2000, 50
MAX_LINKS = 1000
DETAILS = ("email", "first_name", "last_name", "phone", "note", "tags")
_CONFLICT = "Someone else changed this customer while you were editing."


async def create_customer(ctx: Context, values: CustomerInput) -> UUID:
    """Creates a customer whose address counts as verified; they sign in with a code like everyone else."""
    return await records.create(ctx, USER, {**values, "tags": check_tags(values.get("tags", []))})


async def change_customer(ctx: Context, user_id: UUID, values: CustomerInput, *, expected_fingerprint: str) -> None:
    """Saves the details. A new e-mail address ends all sessions, and both addresses are told."""
    async with ctx.db.transaction():
        user = await lock_account(ctx, user_id)
        if fingerprint_details(user) != expected_fingerprint:
            raise Conflict(_CONFLICT)
        await records.change(ctx, USER, user_id, {**values, "tags": check_tags(values.get("tags", []))})


def fingerprint_details(user: User) -> str:
    """Returns a fingerprint for the form; a save is rejected if the details have changed since."""
    return fingerprint({name: getattr(user, name) for name in DETAILS})


def check_tags(tags: Sequence[str]) -> list[str]:
    """Returns distinct tags in lowercase, sorted."""
    distinct = sorted({tag.casefold() for tag in tags})
    if len(distinct) > MAX_TAGS:
        raise Invalid({"tags": [f"must be at most {MAX_TAGS}"]})
    if any(len(tag) > MAX_TAG_LENGTH for tag in distinct):
        raise Invalid({"tags": [f"must be at most {MAX_TAG_LENGTH} characters long each"]})
    return distinct


async def change_links(
    ctx: Context,
    actions: ResourceActions,
    column: str,
    user_id: UUID,
    ids: Collection[UUID],
    former_ids: Collection[UUID],
) -> None:
    """Applies the difference of two selections of groups or price lists; other links of the customer remain."""
    async with ctx.db.transaction():
        await lock_account(ctx, user_id)
        links = await _list_links(ctx, actions, column, user_id)
        new_ids = (links.keys() - (set(former_ids) - set(ids))) | (set(ids) - set(former_ids))
        await replace_links(ctx, actions, column, user_id, new_ids)


async def replace_links(
    ctx: Context, actions: ResourceActions, column: str, user_id: UUID, ids: Collection[UUID]
) -> None:
    """Gives a locked customer exactly these groups or price lists."""
    links = await _list_links(ctx, actions, column, user_id)
    for owner_id in sorted(links.keys() - set(ids)):
        await records.remove(ctx, actions, links[owner_id])
    for owner_id in sorted(set(ids) - links.keys()):
        await records.make(ctx, actions, {column: owner_id, "user_id": user_id})


async def list_linked_ids(ctx: Context, actions: ResourceActions, column: str, user_id: UUID) -> list[UUID]:
    """Returns the ids of the groups or price lists of a customer."""
    return sorted(await _list_links(ctx, actions, column, user_id))


async def _list_links(ctx: Context, actions: ResourceActions, column: str, user_id: UUID) -> dict[UUID, UUID]:
    criteria = ListQuery(Sort("id", is_descending=False), Page(size=MAX_LINKS), (_of_user(user_id),))
    return {getattr(link, column): link.id for link in await list_records(ctx.db, actions.records, criteria)}


def _of_user(user_id: UUID) -> Condition:
    return Condition((("user_id",),), "eq", user_id)
