"""The page of refunds that wait for the approval of a second operator."""

from collections.abc import Mapping, Sequence
from typing import cast

from shop.actions.context import Context
from shop.actions.order_edits import approvals
from shop.actions.orders.operations import load_refund_limits
from shop.admin.fields import id_of
from shop.admin.listing import SIZE, build_head, count_list, paginate_rows, read_cursor, read_sort
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.base.money import major_units
from shop.queries.order_edits.approvals import ListedRequest, count_open_requests, list_open_requests
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/approvals"
_SORTS = {"oldest": "Oldest", "newest": "Newest"}
_NOTICES = {"approved": "Refund approved and made.", "declined": "Refund declined."}


async def listing(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    return await _listing_page(request, ctx, page_context, notice=notice_of(request, _NOTICES))


async def approve(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    try:
        await approvals.approve_refund(ctx, id_of(request, "request_id"))
    except (Invalid, Conflict) as error:
        return await _refusal_page(request, ctx, page_context, error)
    return redirect(f"{PATH}?done=approved")


async def decline(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    try:
        await approvals.decline_refund(ctx, id_of(request, "request_id"))
    except (Invalid, Conflict) as error:
        return await _refusal_page(request, ctx, page_context, error)
    return redirect(f"{PATH}?done=declined")


async def _refusal_page(request: Request, ctx: Context, page_context: PageContext, error: Invalid | Conflict) -> Reply:
    sentences = [text for texts in error.errors.values() for text in texts] if isinstance(error, Invalid) else []
    return await _listing_page(request, ctx, page_context, error.status, errors={"base": sentences or [error.sentence]})


async def _listing_page(
    request: Request,
    ctx: Context,
    page_context: PageContext,
    status: int = 200,
    *,
    errors: Mapping[str, Sequence[str]] | None = None,
    notice: str | None = None,
) -> Reply:
    cursor, sort, limits = read_cursor(request), read_sort(request, _SORTS), await load_refund_limits(ctx)
    rows = await list_open_requests(ctx.db, cursor, sort=sort, most=SIZE + 1)
    page_rows, pages = paginate_rows(request, rows, cursor, by="created_at", params={"sort": sort}, path=PATH)
    requests = cast(Sequence[ListedRequest], page_rows)
    count = await count_list(rows, cursor, lambda: count_open_requests(ctx.db))
    return page(
        "order_edits/approvals.html",
        page_context,
        status,
        requests=requests,
        approvable_ids={
            each.id
            for each in requests
            if not limits.find_refusal(major_units(each.amount, each.currency), is_approved=True)
        },
        head=build_head(PATH, count, _SORTS, sort, {}),
        pages=pages,
        own_id=page_context.operator_session.operator.id,
        limit=page_context.shop.refund_approval_amount,
        errors=errors or {},
        notice=notice,
    )
