"""The devices on which a customer is signed in."""

import msgspec

from shop.actions.context import Context
from shop.actions.customers import account
from shop.base.values import read_lookup_id
from shop.models.access.sessions import Session
from shop.rules.access.devices import device_name
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import Visit

_NOTICES = {
    "ended": "That device is signed out.",
    "others-ended": "All other devices are signed out.",
}


class SessionRow(msgspec.Struct, frozen=True):
    """A session in the list of devices."""

    session: Session
    device: str
    is_current: bool


async def show_list(request: Request, ctx: Context, visit: Visit) -> Reply:
    sessions, current_id = await account.list_sessions(ctx)
    rows = [SessionRow(session, device_name(session.user_agent), session.id == current_id) for session in sessions]
    # The current device first; the others stay in their order, newest first.
    rows.sort(key=lambda row: not row.is_current)
    notice = notice_of(request, _NOTICES)
    return await show_page(ctx, request, visit, "account/sessions.html", title="Devices", rows=rows, notice=notice)


async def end(request: Request, ctx: Context, visit: Visit) -> Reply:
    session_id = read_lookup_id(request.path_params["id"])
    is_current = session_id == (await ctx.signed_in()).session_id
    await account.end_session(ctx, session_id)
    if not is_current:
        return redirect("/account/sessions?done=ended")
    visit.forget_session()
    visit.forget_cart()
    return redirect("/sign-in?done=signed-out")


async def end_others(_request: Request, ctx: Context, _visit: Visit) -> Reply:
    await account.end_other_sessions(ctx)
    return redirect("/account/sessions?done=others-ended")
