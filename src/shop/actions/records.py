"""Lists, loads, creates, updates and deletes records of any declared resource; audits each change."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from time import monotonic
from typing import Any, TypedDict, TypeVar
from uuid import UUID

import msgspec

from shop.actions.audit import audit_change
from shop.actions.context import Context
from shop.actions.events import Subject, note_change, note_deletion
from shop.actions.relations import RecordRow, Tree, links_by_id, load_relations
from shop.base.errors import ChangedMeanwhile, Invalid, NotFound
from shop.base.ids import new_id
from shop.base.listing import ListQuery, Page
from shop.base.money import major_units, plain_decimal
from shop.base.record import Record
from shop.db.pool import ConstraintViolation
from shop.queries import records, writes
from shop.queries.record_counts import EXACT, count_records
from shop.queries.records import Records
from shop.queries.relations import list_related_ids

T = TypeVar("T")
Values = Mapping[str, object]
"""The fields of a record to set, by name; each resource has its own typed dictionary."""
LARGE_TOTAL = 2 * EXACT
ESTIMATE_SECONDS = 5.0
"""How long the estimated total of a large table is used; its statistics are refreshed less often."""
# `Any`, because each resource has its own types of rows and values.
Create = Callable[[Context, Any], Awaitable[UUID]]
Update = Callable[[Context, UUID, Any], Awaitable[None]]
Delete = Callable[[Context, UUID], Awaitable[None]]
Present = Callable[[Context, Any, Any], Awaitable[Values]]


class RecordPage(msgspec.Struct, frozen=True):
    """One page of records, with the total count or the cursor of the next page."""

    records: Sequence[Record]
    total: int = 0
    is_estimate: bool = False
    next_cursor: tuple[object, UUID] | None = None


class ResourceActions(msgspec.Struct, frozen=True, eq=False):
    """A resource and its write actions; `name` is its wire type and its name in the audit log."""

    name: str
    records: Records
    create: Create | None = None
    update: Update | None = None
    delete: Delete | None = None
    lock_parent: Delete | None = None
    """Locks the parent row first, to keep one lock order with other actions that change both."""
    present: Present | None = None
    """Returns the current values of fields that are not columns of the record's row."""
    has_events: bool = True
    """Whether each change is an event; the actions of the parts of an order note their changes themselves, because open
    carts have no events.
    """

    @property
    def subject(self) -> Subject:
        """The subject of its events."""
        return Subject(self.name, self.records)


class WriteActions(TypedDict):
    """The write actions of a resource, by their names in `ResourceActions`."""

    create: Create
    update: Update
    delete: Delete


def default_actions(table_records: Records) -> WriteActions:
    """Returns create, update and delete actions without checks beyond the database constraints."""
    table = table_records.table

    async def create(ctx: Context, values: Values) -> UUID:
        record_id = new_id()
        await writes.insert_record(ctx.db, table, record_id, values)
        return record_id

    async def update(ctx: Context, record_id: UUID, values: Values) -> None:
        await writes.update_record(ctx.db, table, record_id, values)

    async def delete(ctx: Context, record_id: UUID) -> None:
        await writes.delete_record(ctx.db, table, record_id)

    return {"create": create, "update": update, "delete": delete}


async def list_page(
    ctx: Context,
    actions: ResourceActions,
    query: ListQuery,
    include: Tree,
    relations: Collection[str] | None = None,
) -> RecordPage:
    """Returns a page of records with all their relations, or with the named ones."""
    links = links_by_id(actions.records, include, relations)
    linked_rows = await records.list_linked_records(ctx.db, actions.records, query, tuple(links.values()))
    rows = [row for row, _ in linked_rows]
    ids = [{row.id: ids[index] for row, ids in linked_rows} for index in range(len(links))]
    results = await load_relations(ctx, actions.records, rows[: query.page.size], include, relations, ids)
    if isinstance(query.page, Page):
        return RecordPage(results, *await _count(ctx, actions, query))
    next_cursor = None
    if len(rows) > query.page.size:
        last = results[-1].row
        next_cursor = (getattr(last, query.sort.name), last.id)
    return RecordPage(results, next_cursor=next_cursor)


async def _count(ctx: Context, actions: ResourceActions, query: ListQuery) -> tuple[int, bool]:
    """Returns the total number of records and whether it is an estimate. To find out that a whole table is large takes
    longer than to read a page of it, so this is not repeated for some seconds.
    """
    known_total, until = ctx.shared.estimated_totals.get(actions.name, (0, 0.0))
    if not query.conditions and monotonic() < until:
        return known_total, True
    total, is_estimate = await count_records(ctx.db, actions.records, query)
    if not query.conditions and total > LARGE_TOTAL:
        ctx.shared.estimated_totals[actions.name] = total, monotonic() + ESTIMATE_SECONDS
    return total, is_estimate


async def get(ctx: Context, actions: ResourceActions, by: str, value: object, include: Tree) -> Record:
    row = await records.find_record(ctx.db, actions.records, by, value)
    if row is None:
        raise NotFound()
    return (await load_relations(ctx, actions.records, [row], include))[0]


async def create(ctx: Context, actions: ResourceActions, values: Values) -> UUID:
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return idempotency.existing_id
        record_id = await make(ctx, actions, values)
        idempotency.record(record_id)
    return record_id


async def update(
    ctx: Context, actions: ResourceActions, record_id: UUID, values: Values, seen_at: str | None = None
) -> None:
    """Updates a record; raises ChangedMeanwhile if it changed after `seen_at`, the last change that a form showed."""
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return
        if seen_at is not None:
            row: Any = await _lock_record(ctx, actions, record_id)
            if row.updated_at.isoformat() != seen_at:
                raise ChangedMeanwhile()
        await change(ctx, actions, record_id, values)
        idempotency.record(record_id)


async def delete(ctx: Context, actions: ResourceActions, record_id: UUID) -> None:
    async with ctx.db.transaction():
        await remove(ctx, actions, record_id)


async def make(ctx: Context, actions: ResourceActions, values: Values) -> UUID:
    """Creates a record. Like `change` and `remove`, runs in the caller's transaction."""
    if actions.create is None:
        raise NotFound()
    record_id = await _await_write(actions, actions.create(ctx, values))
    changes = {name: (None, value) for name, value in plain_values(values).items()}
    audit_change(ctx, f"{actions.name}_created", actions.name, record_id, changes=changes)
    if actions.has_events:
        note_change(ctx, actions.subject, record_id)
    return record_id


async def change(ctx: Context, actions: ResourceActions, record_id: UUID, values: Values) -> bool:
    """Updates a record; returns whether any value differed."""
    if actions.update is None:
        raise NotFound()
    row = await _lock_record(ctx, actions, record_id)
    current = await _current_values(ctx, actions, row, values)
    changes = {name: value for name, value in values.items() if current[name] != value}
    if changes.keys() & actions.records.amounts and "currency" in values:
        changes["currency"] = values["currency"]
    if changes:
        if actions.has_events:
            has_other_changes = any(not hasattr(row, name) for name in changes)
            note_change(ctx, actions.subject, record_id, row, has_other_changes=has_other_changes)
        await _await_write(actions, actions.update(ctx, record_id, changes))
        current, values = plain_values(current), plain_values(changes)
        pairs = {name: (current[name], value) for name, value in values.items()}
        audit_change(ctx, f"{actions.name}_updated", actions.name, record_id, changes=pairs)
    return bool(changes)


async def remove(ctx: Context, actions: ResourceActions, record_id: UUID) -> None:
    if actions.delete is None:
        raise NotFound()
    row = await _lock_record(ctx, actions, record_id)
    if actions.has_events:
        note_deletion(ctx, actions.subject, row)
    try:
        await actions.delete(ctx, record_id)
    except ConstraintViolation:
        raise Invalid({"base": ["is still in use; remove it from the records that use it first"]}) from None
    audit_change(ctx, f"{actions.name}_deleted", actions.name, record_id)


async def _lock_record(ctx: Context, actions: ResourceActions, record_id: UUID) -> RecordRow:
    if actions.lock_parent:
        await actions.lock_parent(ctx, record_id)
    row: RecordRow | None = await records.lock_record(ctx.db, actions.records, record_id)
    if row is None:
        raise NotFound()
    return row


async def _await_write(actions: ResourceActions, write: Awaitable[T]) -> T:
    """Awaits a write; converts a constraint violation into a validation error of its field."""
    try:
        return await write
    except ConstraintViolation as error:
        names = writes.fields_of(actions.records.table, error.constraint)
        # The unique constraint of an e-mail is on `email_key`; the API field is `email`.
        name = names[-1].removesuffix("_key") if names else "base"
        raise Invalid({name: [_REFUSALS[error.why]]}) from None


_REFUSALS = {"unique": "is taken", "reference": "names a record that does not exist", "check": "is not acceptable"}


async def _current_values(ctx: Context, actions: ResourceActions, row: RecordRow, values: Values) -> dict[str, object]:
    """Returns the current values of these fields in API form: amounts as decimals, links as lists of ids."""
    current = {name: _current_value(row, name, value) for name, value in values.items()}
    for name in values.keys() & {f"{link.removesuffix('s')}_ids" for link in actions.records.relation_links}:
        link = actions.records.relation_links[f"{name.removesuffix('_ids')}s"]
        (ids_by_record,) = await list_related_ids(ctx.db, [link], [row.id])
        current[name] = ids_by_record[row.id]
    return current | ({} if actions.present is None else dict(await actions.present(ctx, row, values)))


def _current_value(row: RecordRow, name: str, value: object) -> object:
    current = getattr(row, name, None)
    if isinstance(value, Decimal) and isinstance(current, int):
        return major_units(current, getattr(row, "currency", ""))
    return current


def plain_values(values: Values) -> dict[str, object]:
    """Returns values as JSON has them."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case Decimal():
            return plain_decimal(value)
        case list():
            return [_plain(item) for item in value]
    return value
