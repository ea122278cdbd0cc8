"""Generic create, edit and delete pages for setup records; each kind declares its form."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import ResourceActions
from shop.actions.relations import Tree
from shop.admin.fields import Fields, id_of, list_differences
from shop.admin.pages import PageContext, confirmation_page, page, redirect
from shop.admin.uses import in_use_page, link_uses
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.listing import ListQuery, Page, Sort
from shop.base.record import Record
from shop.queries.setup.uses import list_uses
from shop.web.input.request import Request
from shop.web.reply import Reply

Values = dict[str, Any]
MAX_RECORDS = 500
DISPLAYS = {"both": "Shop and dashboard", "front_end": "Shop only", "back_end": "Dashboard only"}
NOTICES = {"made": "Created.", "saved": "Saved.", "deleted": "Deleted."}


def no_values(_record: Record) -> Values:
    return {}


async def no_choices(_ctx: Context, _page_context: PageContext, _record: Record | None) -> Values:
    return {}


class SetupForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of one kind of record."""

    actions: ResourceActions
    noun: str
    base: str
    """Base path; a record is at `{base}/{id}`."""
    home: tuple[str, str]
    """Path and title of the list page."""
    template: str
    labels: Mapping[str, str]
    defaults: Mapping[str, Any]
    """Initial values of a new form: texts, flags, sets of ids, groups of texts."""
    read: Callable[[Fields, Context, UUID | None], Awaitable[Values]]
    form_values: Callable[[Record], Values] = no_values
    """Form values that differ from the record's columns."""
    link_values: Callable[[Record], Values] = no_values
    """Current values outside the record's columns; the same value sent again is not a change."""
    choices: Callable[[Context, PageContext, Record | None], Awaitable[Values]] = no_choices
    include: Tree = {}
    delete_note: str = ""
    """What a deletion will do."""
    use_note: str = ""
    """When the record can be deleted, if not always."""
    required_ids: frozenset[UUID] = frozenset()
    """Ids of records that the shop needs and that cannot be deleted."""

    async def new(self, _request: Request, ctx: Context, page_context: PageContext) -> Reply:
        return await self._page(ctx, page_context, None, dict(self.defaults))

    async def create(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        fields = Fields(request)
        try:
            values = await self.read(fields, ctx, None)
            fields.check()
            await records.create(ctx, self.actions, values)
        except Invalid as error:
            return await self._page(ctx, page_context, None, self._form_values(fields), 422, error.errors)
        return redirect(f"{self.home[0]}?done=made")

    async def show(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        record = await self._get(request, ctx)
        return await self._page(ctx, page_context, record, self._texts(record))

    async def change(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        record, fields = await self._get(request, ctx), Fields(request)
        try:
            values = await self.read(fields, ctx, record.row.id)
            fields.check()
            was = self.link_values(record)
            changes = {name: value for name, value in values.items() if name not in was or was[name] != value}
            await records.update(ctx, self.actions, record.row.id, changes, fields.texts.get("seen_at"))
        except Invalid as error:
            return await self._page(ctx, page_context, record, self._form_values(fields), 422, error.errors)
        except Conflict as conflict:
            record = await self._get(request, ctx)
            values = self._form_values(fields)
            more = {"conflict": conflict.sentence, "theirs": list_differences(self.labels, values, self._texts(record))}
            return await self._page(ctx, page_context, record, values, 409, **more)
        return redirect(f"{self.home[0]}?done=saved")

    async def show_delete(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        return await self._confirmation_page(ctx, page_context, await self._get_deletable(request, ctx))

    async def delete(self, request: Request, ctx: Context, page_context: PageContext) -> Reply:
        record = await self._get_deletable(request, ctx)
        try:
            await records.delete(ctx, self.actions, record.row.id)
        except Invalid as error:
            return await self._confirmation_page(ctx, page_context, record, 422, errors=error.errors)
        return redirect(f"{self.home[0]}?done=deleted")

    async def _get(self, request: Request, ctx: Context) -> Record:
        return await records.get(ctx, self.actions, "id", id_of(request, "record_id"), self.include)

    async def _get_deletable(self, request: Request, ctx: Context) -> Record:
        record = await self._get(request, ctx)
        if record.row.id in self.required_ids:
            raise NotFound()
        return record

    def _texts(self, record: Record) -> Values:
        own = {
            name: value if isinstance(default, bool) else "" if value is None else str(value)
            for name, default in self.defaults.items()
            for value in [getattr(record.row, name, None)]
        }
        return own | self.form_values(record)

    def _form_values(self, fields: Fields) -> Values:
        return {name: _submitted_value(fields, name, default) for name, default in self.defaults.items()}

    async def _confirmation_page(
        self, ctx: Context, page_context: PageContext, record: Record, status: int = 200, **more: Any
    ) -> Reply:
        """Asks for the confirmation, or says what uses the record."""
        here, table = f"{self.base}/{record.row.id}", self.actions.records.table
        uses = await list_uses(ctx.db, table, record.row.id)
        # A record with a time of deletion is hidden, and what uses it keeps it.
        if uses and "deleted_at" not in table.c:
            return in_use_page(page_context, record.row.name, here, link_uses(uses), status=status)
        question = {
            "question": f"Delete {self.noun} “{record.row.name}”?",
            "sentence": f"{self.delete_note} This cannot be undone.".strip(),
            "button": f"Delete {self.noun}",
        }
        back = (here, record.row.name)
        links = link_uses(uses)
        return confirmation_page(
            page_context, status, **question, action=f"{here}/delete", back=back, uses=links, **more
        )

    async def _page(
        self,
        ctx: Context,
        page_context: PageContext,
        record: Record | None,
        values: Values,
        status: int = 200,
        errors: Any = None,
        **more: Any,
    ) -> Reply:
        context = {"form": self, "record": record and record.row, "values": values, "errors": errors or {}}
        context = {"conflict": None, "theirs": {}, **context, **more}
        choices = {"labels": self.labels, **await self.choices(ctx, page_context, record)}
        return page(self.template, page_context, status, **context, **choices)


def _submitted_value(fields: Fields, name: str, default: Any) -> Any:
    match default:
        case bool():
            return fields.flag(name)
        case frozenset():
            return {str(each) for each in fields.ids(name)}
        case dict():
            return {key: value for key, value in fields.group(name).items() if isinstance(value, str)}
    return fields.texts.get(name, "")


async def list_all(
    ctx: Context, actions: ResourceActions, include: Tree | None = None, by: str = "name"
) -> Sequence[Record]:
    """Lists all records of a kind; a shop has few of them."""
    return (
        await records.list_page(ctx, actions, ListQuery(Sort(by, False), Page(1, MAX_RECORDS)), include or {})
    ).records


async def names_of(ctx: Context, actions: ResourceActions) -> dict[str, str]:
    """Returns the names of all records by id, as options of a field."""
    return {str(record.row.id): record.row.name for record in await list_all(ctx, actions)}


def linked_rows(record: Record, name: str) -> list[Any]:
    links = record.links.get(name)
    related = links if isinstance(links, Sequence) else (links,)
    return [each.row for each in related if isinstance(each, Record)]


def linked_ids(record: Record, name: str) -> list[UUID]:
    return sorted(row.id for row in linked_rows(record, name))
