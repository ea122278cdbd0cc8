"""All dashboard routes: method, path, handler and access."""

from shop.admin import assets
from shop.admin.access import account, authenticator, integrations, sign_in
from shop.admin.catalog.routes import catalog_routes
from shop.admin.catalog_bulk.routes import catalog_bulk_routes
from shop.admin.customers import customers
from shop.admin.operations import audit, event_log, overview, reports
from shop.admin.orders.routes import order_routes
from shop.admin.platform_events import PlatformEvents
from shop.admin.promotions.routes import promotion_routes
from shop.admin.route_builder import RouteBuilder, build_route
from shop.admin.session import OperatorGuard, require_same_origin
from shop.admin.setup import settings
from shop.admin.setup.routes import setup_routes
from shop.admin.webhooks.routes import webhook_routes
from shop.web.endpoint import Route

_API = "/admin/integrations/api"
_OPERATORS = "/admin/settings/operators"
_CUSTOMER = "/admin/customers/{user_id}"
_AUTHENTICATOR = "/admin/account/authenticator"


def admin_routes(*, has_mailbox: bool, events: PlatformEvents) -> tuple[Route, ...]:
    builder = RouteBuilder(OperatorGuard(has_mailbox=has_mailbox))
    return (
        build_route("GET", "/admin/static/{name}", assets.show, "Styles, scripts and images of the pages", "anyone"),
        *_sign_in_routes(builder),
        builder.page("/admin", overview.show, "Overview"),
        *_report_routes(builder),
        *_customer_routes(builder),
        *_integration_routes(builder),
        *_log_routes(builder, events),
        *_settings_routes(builder),
        *_account_routes(builder),
        *_authenticator_routes(builder),
        *order_routes(builder),
        *catalog_bulk_routes(builder),
        *catalog_routes(builder),
        *promotion_routes(builder),
        *setup_routes(builder),
        *webhook_routes(builder, events),
    )


def _sign_in_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        build_route("GET", "/admin/sign-in", sign_in.show, "Sign in", "anyone"),
        build_route(
            "POST", "/admin/sign-in", require_same_origin(sign_in.sign_in), "Sign in with a password", "anyone"
        ),
        build_route(
            "POST",
            "/admin/sign-in/code",
            require_same_origin(sign_in.submit_code),
            "Sign in: check the authenticator code",
            "anyone",
        ),
        build_route("GET", "/admin/join/{token}", sign_in.show_join, "Choose a password with a link", "anyone"),
        build_route(
            "POST", "/admin/join/{token}", require_same_origin(sign_in.join), "Set a password with a link", "anyone"
        ),
        act("/admin/sign-out", sign_in.sign_out, "Sign out"),
        page("/admin/confirm", sign_in.show_confirm, "Password confirmation"),
        act("/admin/confirm", sign_in.confirm, "Confirm with the password"),
    )


def _report_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return (
        builder.page(reports.PATH, reports.listing, "Reports"),
        builder.page(f"{reports.PATH}/{{report}}", reports.show, "One report"),
        builder.page(f"{reports.PATH}/{{report}}/csv", reports.download, "Download a report as CSV"),
    )


def _customer_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/customers", customers.listing, "Customers"),
        page(_CUSTOMER, customers.show, "One customer"),
        act(f"{_CUSTOMER}/sessions/{{session_id}}/end", customers.end_session, "End a customer's session"),
        act(f"{_CUSTOMER}/sessions/end", customers.end_all, "End all of a customer's sessions"),
        act(f"{_CUSTOMER}/disable", customers.disable, "Disable a customer"),
        act(f"{_CUSTOMER}/enable", customers.enable, "Enable a customer"),
    )


def _integration_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(_API, integrations.listing, "API applications"),
        page(f"{_API}/new", integrations.new, "New API application", fresh=True),
        act(f"{_API}/new", integrations.create, "Create an API application", back=f"{_API}/new"),
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
    )


def _log_routes(builder: RouteBuilder, events: PlatformEvents) -> tuple[Route, ...]:
    return (
        builder.page(event_log.PATH, event_log.make_event_list(events.types), "Events"),
        builder.page(f"{event_log.PATH}/{{event_id}}", event_log.make_event_page(events.render_event), "One event"),
        builder.page(audit.PATH, audit.listing, "Audit"),
    )


def _settings_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/settings/shop", settings.show_shop, "The shop's settings"),
        act("/admin/settings/shop", settings.change_shop, "Change the shop's settings"),
        page(_OPERATORS, settings.list_operators, "Operators"),
        page(f"{_OPERATORS}/new", settings.new_operator, "Invite an operator", fresh=True),
        act(f"{_OPERATORS}/new", settings.invite, "Create a link for an operator", back=f"{_OPERATORS}/new"),
        act(f"{_OPERATORS}/{{operator_id}}/disable", settings.disable, "Disable an operator", back=_OPERATORS),
        act(f"{_OPERATORS}/{{operator_id}}/enable", settings.enable, "Enable an operator", back=_OPERATORS),
    )


def _account_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/account", account.show, "Your account"),
        act("/admin/account/sessions/end", account.end_others, "End all other sessions"),
        page("/admin/account/password", account.show_password, "Change your password", fresh=True),
        act(
            "/admin/account/password",
            account.change_password,
            "Change your password",
            back="/admin/account/password",
        ),
    )


def _authenticator_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    set_up, remove, codes = _AUTHENTICATOR, f"{_AUTHENTICATOR}/remove", "/admin/account/recovery-codes"
    return (
        page(set_up, authenticator.show, "Set up an authenticator", fresh=True),
        act(set_up, authenticator.enroll, "Confirm the authenticator", back=set_up),
        page(remove, authenticator.show_removal, "Remove the authenticator?", fresh=True),
        act(remove, authenticator.remove, "Remove the authenticator", back=remove),
        page(codes, authenticator.show_recovery_codes, "New recovery codes?", fresh=True),
        act(codes, authenticator.replace_recovery_codes, "Replace the recovery codes", back=codes),
    )
