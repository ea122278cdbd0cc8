"""Dashboard pages of extensions, as routes; and their panels on the order page."""

from collections.abc import Awaitable, Sequence
from urllib.parse import quote

import msgspec
from markupsafe import Markup

from shop.actions.context import Context
from shop.actions.extensions.declarations import (
    DashboardForm,
    DashboardPage,
    ExtensionRequest,
    OrderPanel,
    PageContent,
    PageRedirect,
)
from shop.actions.extensions.extension_context import ExtensionContext
from shop.actions.extensions.isolation import run_isolated, run_panel
from shop.actions.installed_extensions import InstalledExtension
from shop.admin.pages import PageContext, notice_of, page, redirect, render_part
from shop.admin.route_builder import RouteBuilder
from shop.admin.session import Page, form
from shop.base.errors import InternalError
from shop.models.cart.orders import Order
from shop.queries.extensions.records import OrderSummary
from shop.rules.access.permissions import SELF
from shop.web.endpoint import Route
from shop.web.input.request import Request
from shop.web.reply import Reply


class RenderedPanel(msgspec.Struct, frozen=True):
    """A panel of the order page; without a body, it could not be shown."""

    id: str
    title: str
    body: Markup | None


def page_path(name: str, path: str) -> str:
    """Returns the path of a page of an extension."""
    return f"/admin/x/{name}/{path.strip('/')}".rstrip("/")


def build_page_routes(builder: RouteBuilder, extensions: Sequence[InstalledExtension]) -> tuple[Route, ...]:
    """Returns the routes of all pages and forms of extensions."""
    routes: list[Route] = []
    for extension in extensions:
        for each in extension.declaration.pages:
            path, show = page_path(extension.name, each.path), _make_handler(extension, each)
            routes.append(builder.page(path, show, each.summary, permission=each.permission))
        for each in extension.declaration.forms:
            path, submit = page_path(extension.name, each.path), _make_handler(extension, each)
            routes.append(builder.act(path, submit, each.summary, permission=each.permission))
    return tuple(routes)


def _make_handler(extension: InstalledExtension, part: DashboardPage | DashboardForm) -> Page:
    notices = part.notices if isinstance(part, DashboardPage) else {}

    async def answer(request: Request, ctx: Context, page_context: PageContext) -> Reply:
        params = {name: value for name, value in request.params.items() if isinstance(value, str)}
        fields = form(request) if isinstance(part, DashboardForm) else {}
        extension_request = ExtensionRequest(path_params=request.path_params, params=params, fields=fields)
        work = part.handler(ExtensionContext(ctx, extension), extension_request)
        return await run_isolated(
            extension.name, f"page {part.path}", _reply(extension.name, work, page_context, notice_of(request, notices))
        )

    return answer


async def _reply(
    name: str, work: Awaitable[PageContent | PageRedirect], page_context: PageContext, notice: str | None
) -> Reply:
    content = await work
    if isinstance(content, PageRedirect):
        query = f"?done={quote(content.notice)}" if content.notice else ""
        return redirect(page_path(name, quote(content.path)) + query)
    values = {"notice": notice, **content.values}
    return page(f"{name}:{content.template}", page_context, content.status, **values)


async def load_panels(ctx: Context, page_context: PageContext, order: Order) -> list[RenderedPanel]:
    """Returns the panels of extensions on the order page; one that fails is replaced by a sentence."""
    panels: list[RenderedPanel] = []
    for extension in ctx.shared.extensions.extensions:
        for number, panel in enumerate(extension.declaration.order_panels):
            if panel.permission != SELF and not page_context.can(panel.permission):
                continue
            body = await _render_panel(ctx, page_context, extension, panel, order)
            if body is not None:
                shown_body = body if isinstance(body, Markup) else None
                panels.append(RenderedPanel(f"panel-{extension.name}-{number}", panel.title, shown_body))
    return panels


async def _render_panel(
    ctx: Context, page_context: PageContext, extension: InstalledExtension, panel: OrderPanel, order: Order
) -> Markup | InternalError | None:
    # A session of its own: a failed statement must not affect the page.
    context = ExtensionContext(ctx.with_new_session(), extension)
    summary = OrderSummary(**{name: getattr(order, name) for name in OrderSummary.__struct_fields__})

    async def render() -> Markup | None:
        content = await panel.handler(context, summary)
        if content is None:
            return None
        return render_part(f"{extension.name}:{content.template}", page_context, **content.values)

    return await run_panel(extension.name, f"panel {panel.title}", render())
