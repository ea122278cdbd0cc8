"""Imports and exports customers with their default addresses as CSV; the e-mail address identifies a customer."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from functools import partial
from typing import cast
from uuid import UUID

from shop.actions import records
from shop.actions.context import Context
from shop.actions.customers.account import (
    MAX_ADDRESSES,
    address_fields,
    insert_address,
    update_or_replace,
)
from shop.actions.customers.customers import check_tags
from shop.actions.customers.users import USER
from shop.actions.event_subjects import CUSTOMER
from shop.actions.events import note_change
from shop.actions.imports.batch_runner import ImportLine, ImportReport, Outcomes, run_import
from shop.actions.imports.exports import BATCH
from shop.base.csv_cells import csv_line
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.models.access.users import User
from shop.models.customers.record_inputs import CustomerInput
from shop.queries.customers import csv_customers as queries
from shop.queries.customers import users
from shop.queries.imports.csv_imports import is_stored
from shop.rules.customers.csv_customers import (
    CustomerRow,
    changed_address,
    changed_details,
    customer_cells,
    name_columns,
    new_address,
)
from shop.rules.imports.csv_columns import CUSTOMER_COLUMNS
from shop.rules.imports.rows import Errors

_NOT_STORED = "is not imported: the file was deleted, because a customer was erased"
_ERASED_ADDRESS = "is the address of an erased customer"


async def export_customers(ctx: Context) -> AsyncGenerator[bytes]:
    """Yields customers in the order of their ids, without erased accounts."""
    yield csv_line(CUSTOMER_COLUMNS).encode()
    user_id = UUID(int=0)
    while True:
        batch = await queries.list_customers_after(ctx.db, user_id, BATCH)
        if not batch:
            return
        user_id = batch[-1].id
        address_ids = {user.id: user.ship_address_id or user.bill_address_id for user in batch}
        addresses = await users.find_addresses(ctx.db, [each for each in address_ids.values() if each])
        lines = [customer_cells(user, addresses.get(cast(UUID, address_ids[user.id]))) for user in batch]
        yield "".join(map(csv_line, lines)).encode()


async def import_customers(
    ctx: Context, import_id: UUID | None, lines: AsyncIterator[ImportLine[CustomerRow]], *, dry_run: bool
) -> ImportReport:
    """Imports customers, of a stored file only as long as it exists: erasing a customer deletes it."""
    work = partial(_import_batch, import_id=import_id)
    return await run_import(ctx, lines, work, "customers_imported", dry_run=dry_run, has_personal_keys=True)


async def _import_batch(ctx: Context, rows: Sequence[CustomerRow], *, import_id: UUID | None) -> Outcomes:
    if import_id and not await is_stored(ctx.db, import_id):
        return [{"email": [_NOT_STORED]} for _ in rows]
    present = await queries.lock_customers(ctx.db, [row.email_key for row in rows])
    return [await _save(ctx, row, present.get(row.email_key)) for row in rows]


async def _save(ctx: Context, row: CustomerRow, user: User | None) -> str | Errors:
    if user and user.erased_at:
        return {"email": [_ERASED_ADDRESS]}
    try:
        async with ctx.db.savepoint():
            if user is None:
                return await _create(ctx, row)
            if user.verified_at is None:
                return await _confirm(ctx, row, user)
            has_changed = await _change_details(ctx, row, user)
            return "updated" if await _save_address(ctx, row, user) or has_changed else "unchanged"
    except Invalid as error:
        return name_columns(error.errors)


async def _create(ctx: Context, row: CustomerRow) -> str:
    values = {"email": row.email, **row.texts, "tags": check_tags(row.tags or ())}
    user_id = await records.make(ctx, USER, cast(CustomerInput, values))
    await _save_address(ctx, row, await users.lock_user(ctx.db, user_id))
    return "created"


async def _confirm(ctx: Context, row: CustomerRow, user: User) -> str:
    """Makes an address that someone entered for a sign-in code a customer, without the names that they entered."""
    note_change(ctx, CUSTOMER, user.id)
    names = {name: row.texts.get(name) for name in ("first_name", "last_name")}
    await users.verify_user(ctx.db, user.id, **names)
    user = await users.lock_user(ctx.db, user.id)
    await _change_details(ctx, row, user)
    await _save_address(ctx, row, user)
    return "created"


async def _change_details(ctx: Context, row: CustomerRow, user: User) -> bool:
    values: dict[str, object] = dict(changed_details(row, user))
    if row.tags is not None and check_tags(row.tags) != sorted(user.tags):
        values["tags"] = check_tags(row.tags)
    return bool(values) and await records.change(ctx, USER, user.id, values)


async def _save_address(ctx: Context, row: CustomerRow, user: User) -> bool:
    """Changes the default address, or adds one; returns whether anything changed. The customer is locked."""
    default_id = user.ship_address_id or user.bill_address_id
    if default_id:
        address = (await users.find_addresses(ctx.db, [default_id]))[default_id]
        if changes := changed_address(row, address):
            await update_or_replace(ctx, user, default_id, await address_fields(ctx, changes, address))
        return changes is not None
    # With the details that were just saved: a first address is saved together with them.
    current_user = await users.lock_user(ctx.db, user.id)
    if values := new_address(row, current_user):
        if len(await users.list_addresses(ctx.db, user.id)) >= MAX_ADDRESSES:
            raise Invalid({"base": [f"an account has at most {MAX_ADDRESSES} addresses; change or delete one"]})
        await insert_address(ctx, current_user, new_id(), await address_fields(ctx, values, None))
    return values is not None
