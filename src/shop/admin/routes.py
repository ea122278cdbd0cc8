"""The dashboard's table: method, address, handler, who may call."""

from shop.admin import account, assets, customers, integrations, orders, overview, settings, sign_in
from shop.admin.pages import error_page
from shop.admin.session import Gate, Page, outside
from shop.web.endpoint import Handler, Route
from shop.web.reply import HTML

_SMALL = 64 * 1024
_API = "/admin/integrations/api"
_OPERATORS = "/admin/settings/operators"
_CUSTOMER = "/admin/customers/{user_id}"


def admin_routes(*, has_mailbox: bool) -> tuple[Route, ...]:
    gate = Gate(has_mailbox=has_mailbox)

    def row(method: str, path: str, handler: Handler, summary: str, who: str = "operator") -> Route:
        return Route(
            method,
            path,
            handler,
            who,
            summary,
            media=HTML,
            body_limit=_SMALL,
            reads_claim=False,
            draw_error=error_page,
        )

    def page(path: str, handler: Page, summary: str, *, fresh: bool = False) -> Route:
        return row("GET", path, gate.page(handler, fresh=fresh), summary)

    def act(path: str, handler: Page, summary: str, *, back: str | None = None) -> Route:
        """With `back` the password must be fresh; that is the page to go on with."""
        return row("POST", path, gate.act(handler, back=back), summary)

    return (
        row("GET", "/admin/static/{name}", assets.show, "Style, script and picture of the pages", "anyone"),
        row("GET", "/admin/sign-in", sign_in.show, "Sign in", "anyone"),
        row("POST", "/admin/sign-in", outside(sign_in.sign_in), "Sign in with a password", "anyone"),
        row("POST", "/admin/sign-in/code", outside(sign_in.give_code), "Sign in: the authenticator's code", "anyone"),
        row("GET", "/admin/join/{token}", sign_in.show_join, "Choose a password with a link", "anyone"),
        row("POST", "/admin/join/{token}", outside(sign_in.join), "Use the link up", "anyone"),
        act("/admin/sign-out", sign_in.sign_out, "Sign out"),
        page("/admin/confirm", sign_in.show_confirm, "The password again"),
        act("/admin/confirm", sign_in.confirm, "Confirm with the password"),
        page("/admin", overview.show, "Overview"),
        page("/admin/orders", orders.listing, "Orders"),
        page("/admin/orders/{number}", orders.show, "One order"),
        page("/admin/customers", customers.listing, "Customers"),
        page(_CUSTOMER, customers.show, "One customer"),
        act(f"{_CUSTOMER}/sessions/{{session_id}}/end", customers.end_session, "End a customer's session"),
        act(f"{_CUSTOMER}/sessions/end", customers.end_all, "End all of a customer's sessions"),
        act(f"{_CUSTOMER}/disable", customers.disable, "Shut a customer out"),
        act(f"{_CUSTOMER}/enable", customers.enable, "Let a customer in again"),
        page(_API, integrations.listing, "API applications"),
        page(f"{_API}/new", integrations.new, "New API application", fresh=True),
        act(f"{_API}/new", integrations.create, "Make an API application", back=f"{_API}/new"),
        page(f"{_API}/{{application_id}}", integrations.show, "One API application"),
        act(
            f"{_API}/{{application_id}}/rotate",
            integrations.rotate,
            "Rotate an application's secret",
            back=f"{_API}/{{application_id}}",
        ),
        page(f"{_API}/{{application_id}}/revoke", integrations.show_revoke, "Revoke an application?", fresh=True),
        act(
            f"{_API}/{{application_id}}/revoke",
            integrations.revoke,
            "Revoke an application",
            back=f"{_API}/{{application_id}}/revoke",
        ),
        page("/admin/settings/shop", settings.show_shop, "The shop's settings"),
        act("/admin/settings/shop", settings.change_shop, "Change the shop's settings"),
        page(_OPERATORS, settings.list_operators, "Operators"),
        page(f"{_OPERATORS}/new", settings.new_operator, "Invite an operator", fresh=True),
        act(f"{_OPERATORS}/new", settings.invite, "Make a link for an operator", back=f"{_OPERATORS}/new"),
        act(f"{_OPERATORS}/{{operator_id}}/disable", settings.disable, "Shut an operator out", back=_OPERATORS),
        act(f"{_OPERATORS}/{{operator_id}}/enable", settings.enable, "Let an operator in again", back=_OPERATORS),
        page("/admin/account", account.show, "The own account"),
        act("/admin/account/sessions/end", account.end_others, "End all other own sessions"),
        page("/admin/account/password", account.show_password, "Change the own password", fresh=True),
        act(
            "/admin/account/password",
            account.change_password,
            "Change the own password",
            back="/admin/account/password",
        ),
        page("/admin/account/authenticator", account.show_authenticator, "Set up an authenticator", fresh=True),
        act(
            "/admin/account/authenticator",
            account.enrol,
            "Confirm the authenticator",
            back="/admin/account/authenticator",
        ),
        act(
            "/admin/account/authenticator/remove",
            account.remove_authenticator,
            "Remove the authenticator",
            back="/admin/account",
        ),
    )
