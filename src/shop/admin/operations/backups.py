"""Backups page: the list of backups, and what about them needs attention."""

import msgspec

from shop.actions.context import Context
from shop.admin.listing import SIZE, paginate_rows, read_cursor
from shop.admin.pages import PageContext, page
from shop.gateways.backup_places import describe_place
from shop.queries.backups import backups as queries
from shop.queries.backups.backups import PlaceState
from shop.rules.backups.schedule import is_overdue
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/backups"


class BackupNotice(msgspec.Struct, frozen=True):
    """What needs attention: scheduled backups fail, the newest is old, there is none yet, or none is scheduled."""

    kind: str
    """`failed`, `old`, `none` or `unscheduled`."""
    state: PlaceState | None = None


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    settings, cursor = ctx.shared.settings, read_cursor(request)
    rows = await queries.list_backups(ctx.db, cursor, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="started_at", params={})
    return page(
        "operations/backups.html",
        page_context,
        backups=page_rows,
        pages=pages,
        count=await queries.count_backups(ctx.db),
        backup_notice=await find_notice(ctx),
        place=describe_place(settings.backup_url) if settings.backup_url else None,
        settings=settings,
    )


async def find_notice(ctx: Context) -> BackupNotice | None:
    settings = ctx.shared.settings
    if settings.backup_url is None:
        return BackupNotice("unscheduled")
    state = await queries.find_place_state(ctx.db, describe_place(settings.backup_url))
    if state.failure_count:
        return BackupNotice("failed", state)
    if is_overdue(settings.backup_hours, state.seconds_since_complete):
        return BackupNotice("old", state)
    return BackupNotice("none", state) if state.seconds_since_complete is None else None
