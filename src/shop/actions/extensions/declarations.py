"""What an extension declares: its parts, as plain values with functions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import msgspec

from shop.actions.extensions.extension_context import ExtensionContext
from shop.base.actor import Actor
from shop.db.rows import ExtensionTables
from shop.gateways.payments import UNKNOWN, Call, Result
from shop.queries.extensions.records import OrderSummary
from shop.rules.cart.promotion_kinds import BenefitKind, ConditionKind
from shop.rules.mail.definitions import MailDefinition
from shop.rules.setup.shipping import Package


class ExtensionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a page or an endpoint of an extension."""

    path_params: Mapping[str, str] = {}
    params: Mapping[str, str] = {}
    """The query parameters."""
    fields: Mapping[str, str] = {}
    """The fields of a form."""
    body: Any = None
    """The struct that the endpoint takes."""
    user_id: UUID | None = None
    """The signed-in customer of an endpoint."""


class PageContent(msgspec.Struct, frozen=True):
    """A template of the extension and its values."""

    template: str
    values: Mapping[str, Any] = {}
    status: int = 200


class PageRedirect(msgspec.Struct, frozen=True):
    """A page of the extension to open next: its path below the extension's own, with the notice to show there."""

    path: str = ""
    notice: str = ""
    """The key of a notice of the page."""


class StorefrontEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint below `/api/v2/storefront/x/<name>/`; its result is the JSON body, None an empty reply."""

    method: Literal["GET", "POST", "PATCH", "DELETE"] = "GET"
    path: str
    handler: Callable[[ExtensionContext, ExtensionRequest], Awaitable[Any]]
    summary: str
    who: Literal["anyone", "user"] = "user"
    takes: Any = None
    """The struct of the body."""
    shows: Any = None
    """The struct of the response, for the API description."""


class DashboardPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page below `/admin/x/<name>`; the path of the first one is usually empty."""

    path: str = ""
    handler: Callable[[ExtensionContext, ExtensionRequest], Awaitable[PageContent | PageRedirect]]
    summary: str
    permission: str
    notices: Mapping[str, str] = {}
    """The sentences that a redirect can show."""


class DashboardForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a form of a page sends; its handler usually redirects."""

    path: str = ""
    handler: Callable[[ExtensionContext, ExtensionRequest], Awaitable[PageContent | PageRedirect]]
    summary: str
    permission: str


class MenuLink(msgspec.Struct, frozen=True):
    """An entry of the dashboard's menu that opens a page of the extension."""

    text: str
    path: str = ""


class OrderPanel(msgspec.Struct, frozen=True, kw_only=True):
    """A panel on the order page; None shows nothing."""

    title: str
    handler: Callable[[ExtensionContext, OrderSummary], Awaitable[PageContent | None]]
    permission: str = "orders:read"


class ListenedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the log, as a listener gets it."""

    id: UUID
    type: str
    position: int
    occurred_at: datetime
    actor: Actor
    subject_type: str
    subject_id: UUID | None
    record: Mapping[str, Any] | None
    """The columns of the record after the change, or before its deletion; None if they were too large."""
    before: Mapping[str, Any]
    """The former values of the columns that an update changed."""


class EventListener(msgspec.Struct, frozen=True, kw_only=True):
    """A function that gets the events of these types, in their order, each at least once."""

    name: str
    types: Sequence[str]
    """Types such as `order.completed`, or patterns such as `order.*` and `*`."""
    handler: Callable[[ExtensionContext, ListenedEvent], Awaitable[None]]


class MailValues(msgspec.Struct, frozen=True, kw_only=True):
    """What an e-mail is about."""

    variables: Mapping[str, str]
    """The values of all variables of its definition, beside `shop`."""
    path: str | None = None
    """The path on the website that its button opens, such as `/account`."""
    details: Mapping[str, Any] = {}
    """The values of its part, if its definition has one."""


class ExtensionMail(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of e-mail. Operators edit its texts, preview it and turn it off like those of the shop."""

    definition: MailDefinition
    load: Callable[[ExtensionContext, UUID], Awaitable[MailValues | None]]
    """Returns the values when the e-mail is sent, from the id that `send_mail` got; None if it is no longer of use."""


async def _is_unknown(_ctx: ExtensionContext, _call: Call) -> Result:
    return UNKNOWN


class WebhookRequest(msgspec.Struct, frozen=True):
    """A webhook as it arrived, before anyone verified it."""

    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes


class VerifiedWebhook(msgspec.Struct, frozen=True):
    """A webhook with a valid signature: the provider's id of it, and what to store until it is handled."""

    id: str
    data: Mapping[str, Any] = {}


class StoredWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook to handle; it comes again after a failure or a crash."""

    id: str
    data: Mapping[str, Any]
    received_at: datetime


class PaymentOutcome(msgspec.Struct, frozen=True):
    """What a webhook says about a payment: the key of the call, and its result."""

    key: UUID
    result: Result


class PaymentProvider(msgspec.Struct, frozen=True, kw_only=True):
    """A type of payment method whose charges, captures, voids and refunds are calls of `execute`."""

    type: str
    label: str
    execute: Callable[[ExtensionContext, Call], Awaitable[Result]]
    """Performs a call; idempotent by its key."""
    find: Callable[[ExtensionContext, Call], Awaitable[Result]] = _is_unknown
    """Looks up the result of a call without performing it; `unknown` if it was never performed."""
    source_error: Callable[[str | None], str | None] = lambda _reference: None
    """Returns the reason why a source that the client sent cannot be used; None if it can."""
    preferences: Mapping[str, Any] = {}
    """Public values for a client's payment form."""
    verify_webhook: Callable[[ExtensionContext, WebhookRequest], Awaitable[VerifiedWebhook | None]] | None = None
    """Verifies a request to `/payment_notices/<type>`: raises BadSignature, or returns None to ignore it."""
    handle_webhook: Callable[[ExtensionContext, StoredWebhook], Awaitable[PaymentOutcome | None]] | None = None
    """Handles a verified webhook after it was stored and answered; returns the outcome of a call, if it has one."""


class ShippingCalculator(msgspec.Struct, frozen=True, kw_only=True):
    """A rate type of shipping methods."""

    type: str
    label: str
    calculate: Callable[[Package, Sequence[tuple[Decimal, int]]], int | None]
    """Returns the cost of a package in minor units from the method's amounts by weight; None if it is not offered."""


class NoSettings(msgspec.Struct, frozen=True):
    """The settings of an extension that has none."""


class Extension(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """An extension of the shop: its name, its version, and what it adds."""

    name: str
    """Lower-case letters and digits; the prefix of its tables, settings and paths."""
    version: str
    api_version: int
    """The version of `shop.extension` that it was written for."""
    settings: type[msgspec.Struct] = NoSettings
    """Each field is the variable `SHOP_X_<NAME>_<FIELD>`."""
    tables: ExtensionTables | None = None
    migrations: Path | None = None
    """The folder with its revisions, each a file of Alembic."""
    resources: Sequence[Any] = ()
    endpoints: Sequence[StorefrontEndpoint] = ()
    pages: Sequence[DashboardPage] = ()
    forms: Sequence[DashboardForm] = ()
    menu: Sequence[MenuLink] = ()
    order_panels: Sequence[OrderPanel] = ()
    listeners: Sequence[EventListener] = ()
    mails: Sequence[ExtensionMail] = ()
    payment_providers: Sequence[PaymentProvider] = ()
    shipping_calculators: Sequence[ShippingCalculator] = ()
    promotion_conditions: Mapping[str, ConditionKind] = {}
    promotion_benefits: Mapping[str, BenefitKind] = {}
    dashboard_templates: Path | None = None
    website_templates: Path | None = None
    """A folder whose templates replace those of the website, as a theme does; a theme replaces these."""
    mail_templates: Path | None = None
    """A folder whose `layout.html` and `parts/` replace those of e-mails; if one fails, the shop's own is used."""
