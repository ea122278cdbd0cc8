"""How the records by which a shop is set up are made, changed and deleted: each kind says what its form holds."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions import records
from shop.actions.context import Context
from shop.actions.records import Noun, Tree
from shop.admin.fields import Fields, id_of
from shop.admin.pages import Visit, page, redirect
from shop.base.errors import Invalid, NotFound
from shop.base.listing import Page, Sort, Wishes
from shop.base.loaded import Loaded
from shop.web.reply import Reply
from shop.web.request import Request

Values = dict[str, Any]
MOST = 500
DISPLAYS = {"both": "The shop and the dashboard", "front_end": "The shop alone", "back_end": "The dashboard alone"}
NOTICES = {"made": "It is made.", "saved": "Saved. It counts from now on.", "deleted": "It is deleted."}


def nothing(_record: Loaded) -> Values:
    return {}


async def no_choices(_ctx: Context, _visit: Visit, _record: Loaded | None) -> Values:
    return {}


class SetupForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of one kind of record."""

    noun: Noun
    word: str
    base: str
    """Where they are: one of them is under its id."""
    home: tuple[str, str]
    """The list, and what it is called."""
    template: str
    labels: Mapping[str, str]
    usual: Mapping[str, Any]
    """What the form of a new one shows: texts, flags, sets of ids, groups of texts."""
    read: Callable[[Fields, Context, UUID | None], Awaitable[Values]]
    shown: Callable[[Loaded], Values] = nothing
    """What the form shows of a record where that is not what its columns hold."""
    linked: Callable[[Loaded], Values] = nothing
    """What a record has beside its columns; sent again, it is no change."""
    choices: Callable[[Context, Visit, Loaded | None], Awaitable[Values]] = no_choices
    include: Tree = {}
    farewell: str = "This cannot be undone."
    kept: frozenset[UUID] = frozenset()
    """Those without which the shop does not work."""

    async def new(self, _request: Request, ctx: Context, visit: Visit) -> Reply:
        return await self._page(ctx, visit, None, dict(self.usual))

    async def create(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        fields = Fields(request)
        try:
            values = await self.read(fields, ctx, None)
            fields.check()
            await records.create(ctx, self.noun, values)
        except Invalid as wrong:
            return await self._page(ctx, visit, None, self._typed(fields), 422, wrong.errors)
        return redirect(f"{self.home[0]}?done=made")

    async def show(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        record = await self._get(request, ctx)
        return await self._page(ctx, visit, record, self._texts(record))

    async def change(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        record, fields = await self._get(request, ctx), Fields(request)
        try:
            values = await self.read(fields, ctx, record.row.id)
            fields.check()
            was = self.linked(record)
            changed = {name: value for name, value in values.items() if name not in was or was[name] != value}
            await records.update(ctx, self.noun, record.row.id, changed)
        except Invalid as wrong:
            return await self._page(ctx, visit, record, self._typed(fields), 422, wrong.errors)
        return redirect(f"{self.home[0]}?done=saved")

    async def show_delete(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        return self._sure(visit, await self._get_loose(request, ctx))

    async def delete(self, request: Request, ctx: Context, visit: Visit) -> Reply:
        record = await self._get_loose(request, ctx)
        try:
            await records.delete(ctx, self.noun, record.row.id)
        except Invalid as wrong:
            return self._sure(visit, record, 422, errors=wrong.errors)
        return redirect(f"{self.home[0]}?done=deleted")

    async def _get(self, request: Request, ctx: Context) -> Loaded:
        return await records.get(ctx, self.noun, "id", id_of(request, "record_id"), self.include)

    async def _get_loose(self, request: Request, ctx: Context) -> Loaded:
        record = await self._get(request, ctx)
        if record.row.id in self.kept:
            raise NotFound()
        return record

    def _texts(self, record: Loaded) -> Values:
        own = {
            name: value if isinstance(usual, bool) else "" if value is None else str(value)
            for name, usual in self.usual.items()
            for value in [getattr(record.row, name, None)]
        }
        return own | self.shown(record)

    def _typed(self, fields: Fields) -> Values:
        return {name: _again(fields, name, usual) for name, usual in self.usual.items()}

    def _sure(self, visit: Visit, record: Loaded, status: int = 200, **more: Any) -> Reply:
        here = f"{self.base}/{record.row.id}"
        question = {"question": f"Delete {record.row.name}?", "sentence": self.farewell, "button": "Delete it"}
        back = {"action": f"{here}/delete", "back": here, "back_name": record.row.name}
        return page("sure.html", visit, status, **question, **back, **more)

    async def _page(
        self, ctx: Context, visit: Visit, record: Loaded | None, values: Values, status: int = 200, errors: Any = None
    ) -> Reply:
        shown = {"form": self, "record": record and record.row, "values": values, "errors": errors or {}}
        choices = {"labels": self.labels, **await self.choices(ctx, visit, record)}
        return page(self.template, visit, status, **shown, **choices)


def _again(fields: Fields, name: str, usual: Any) -> Any:
    match usual:
        case bool():
            return fields.flag(name)
        case frozenset():
            return {str(each) for each in fields.ids(name)}
        case dict():
            return {key: value for key, value in fields.group(name).items() if isinstance(value, str)}
    return fields.typed.get(name, "")


async def list_all(ctx: Context, noun: Noun, include: Tree | None = None, by: str = "name") -> Sequence[Loaded]:
    """A shop has few of them."""
    return (await records.list_page(ctx, noun, Wishes(Sort(by, False), Page(1, MOST)), include or {})).records


async def names_of(ctx: Context, noun: Noun) -> dict[str, str]:
    """What a field offers to choose from."""
    return {str(record.row.id): record.row.name for record in await list_all(ctx, noun)}


def linked_rows(record: Loaded, name: str) -> list[Any]:
    found = record.links.get(name) or ()
    return [each.row for each in found] if not isinstance(found, Loaded) else [found.row]


def linked_ids(record: Loaded, name: str) -> list[UUID]:
    return sorted(row.id for row in linked_rows(record, name))
