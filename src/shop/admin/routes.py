"""All dashboard routes: method, path, handler and access."""

from shop.actions.installed_extensions import NO_EXTENSIONS, InstalledExtensions
from shop.admin import assets
from shop.admin.access import account, authenticator, integrations, passkeys, roles, sign_in, staff
from shop.admin.archive.routes import archive_routes
from shop.admin.catalog.routes import catalog_routes
from shop.admin.catalog_bulk.routes import catalog_bulk_routes
from shop.admin.customers.routes import customer_routes
from shop.admin.drafts.routes import draft_routes
from shop.admin.extensions.listeners import extension_routes
from shop.admin.extensions.pages import build_page_routes
from shop.admin.imports.routes import import_routes
from shop.admin.operations import audit, event_log, overview, reports
from shop.admin.order_edits.routes import order_edit_routes
from shop.admin.orders.routes import order_routes
from shop.admin.permissions import RoutePermissions
from shop.admin.platform_events import PlatformEvents
from shop.admin.promotions.routes import promotion_routes
from shop.admin.route_builder import SIGN_IN_LIMIT, RouteBuilder, build_route
from shop.admin.session import OperatorGuard, require_same_origin
from shop.admin.setup import settings
from shop.admin.setup.routes import setup_routes
from shop.admin.stock.routes import stock_routes
from shop.admin.webhooks.routes import webhook_routes
from shop.rules.access.permissions import SELF
from shop.web.endpoint import Route

_API = "/admin/integrations/api"
_AUTHENTICATOR = "/admin/account/authenticator"
_PASSKEYS = "/admin/account/passkeys"


def admin_routes(
    *, has_mailbox: bool, events: PlatformEvents, extensions: InstalledExtensions = NO_EXTENSIONS
) -> tuple[Route, ...]:
    guard = OperatorGuard(has_mailbox=has_mailbox)
    own, of = RouteBuilder(guard, SELF), RouteBuilder(guard, SELF).of
    routes = (
        build_route("GET", "/admin/static/{name}", assets.show, "Styles, scripts and images of the pages", "anyone"),
        *_sign_in_routes(own),
        own.page("/admin", overview.show, "Overview"),
        *_report_routes(of("reports")),
        *customer_routes(of("customers")),
        *_integration_routes(of("integrations")),
        *_log_routes(of("events"), events),
        *_settings_routes(of("settings")),
        *_staff_routes(of("staff")),
        *_account_routes(own),
        *_authenticator_routes(own),
        *_passkey_routes(own),
        *order_routes(of("orders")),
        *archive_routes(of("orders")),
        *order_edit_routes(of("orders")),
        *draft_routes(of("orders")),
        *catalog_bulk_routes(of("products")),
        *catalog_routes(of("products")),
        *stock_routes(of("stock")),
        *import_routes(of("products")),
        *promotion_routes(of("promotions")),
        *setup_routes(of("settings")),
        *webhook_routes(of("events"), events),
        *extension_routes(of("integrations")),
        *build_page_routes(own, extensions.extensions),
    )
    guard.find_permission = RoutePermissions(routes).find_permission
    return routes


def _sign_in_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        build_route("GET", "/admin/sign-in", sign_in.show, "Sign in", "anyone"),
        build_route(
            "POST",
            "/admin/sign-in",
            require_same_origin(sign_in.sign_in),
            "Sign in with a password",
            "anyone",
            body_limit=SIGN_IN_LIMIT,
        ),
        build_route(
            "POST",
            "/admin/sign-in/code",
            require_same_origin(sign_in.submit_code),
            "Sign in: check the authenticator code",
            "anyone",
            body_limit=SIGN_IN_LIMIT,
        ),
        build_route("GET", "/admin/join/{token}", sign_in.show_join, "Choose a password with a link", "anyone"),
        build_route(
            "POST", "/admin/join/{token}", require_same_origin(sign_in.join), "Set a password with a link", "anyone"
        ),
        act("/admin/sign-out", sign_in.sign_out, "Sign out"),
        page("/admin/confirm", sign_in.show_confirm, "Password confirmation"),
        act("/admin/confirm", sign_in.confirm, "Confirm with the password", body_limit=SIGN_IN_LIMIT),
    )


def _report_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return (
        builder.page(reports.PATH, reports.listing, "Reports"),
        builder.page(f"{reports.PATH}/{{report}}", reports.show, "One report"),
        builder.page(f"{reports.PATH}/{{report}}/csv", reports.download, "Download a report as CSV"),
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
        builder.page(audit.PATH, audit.listing, "Audit", permission="audit:read"),
    )


def _settings_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/settings/shop", settings.show_shop, "The shop's settings"),
        act("/admin/settings/shop", settings.change_shop, "Change the shop's settings"),
    )


def _staff_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act, one, role = builder.page, builder.act, f"{staff.PATH}/{{operator_id}}", f"{roles.PATH}/{{role_id}}"
    new_operator, new_role = f"{staff.PATH}/new", f"{roles.PATH}/new"
    return (
        page(staff.PATH, staff.listing, "Staff"),
        page(new_operator, staff.new, "Invite an operator", fresh=True, permission="staff:write"),
        act(new_operator, staff.invite, "Invite an operator by e-mail", back=new_operator),
        act(f"{one}/resend", staff.resend, "Send a new invitation", back=staff.PATH),
        act(f"{one}/withdraw", staff.withdraw, "Withdraw an invitation", back=staff.PATH),
        act(f"{one}/role", staff.change_role, "Change the role of an operator", back=staff.PATH),
        act(f"{one}/disable", staff.disable, "Disable an operator", back=staff.PATH),
        act(f"{one}/enable", staff.enable, "Enable an operator", back=staff.PATH),
        page(roles.PATH, roles.listing, "Roles"),
        page(new_role, roles.new, "New role", fresh=True, permission="staff:write"),
        act(new_role, roles.create, "Create a role", back=new_role),
        act(f"{roles.PATH}/approval", roles.change_approval, "Change the approval of refunds", back=roles.PATH),
        page(role, roles.show, "One role"),
        act(role, roles.change, "Change a role", back=role),
        act(f"{role}/delete", roles.delete, "Delete a role", back=role),
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


def _passkey_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    start, finish = require_same_origin(passkeys.start_sign_in), require_same_origin(passkeys.sign_in)
    new, one = f"{_PASSKEYS}/new", f"{_PASSKEYS}/{{passkey_id}}"
    return (
        build_route("POST", "/admin/sign-in/passkey/options", start, "Sign in with a passkey: start", "anyone"),
        build_route(
            "POST", "/admin/sign-in/passkey", finish, "Sign in with a passkey", "anyone", body_limit=SIGN_IN_LIMIT
        ),
        act("/admin/confirm/passkey/options", passkeys.start_confirmation, "Confirm with a passkey: start"),
        act("/admin/confirm/passkey", passkeys.confirm, "Confirm with a passkey", body_limit=SIGN_IN_LIMIT),
        page(new, passkeys.show_new, "Add a passkey", fresh=True),
        act(f"{new}/options", passkeys.start_registration, "Add a passkey: start", back=new),
        act(new, passkeys.add, "Add a passkey", back=new),
        page(one, passkeys.show, "Rename or remove a passkey", fresh=True),
        act(one, passkeys.rename, "Rename a passkey", back=one),
        act(f"{one}/remove", passkeys.remove, "Remove a passkey", back=one),
    )
