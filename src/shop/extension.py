"""The public interface of the shop for extensions; see docs/extensions.md. Everything else can change at any time."""

from shop.actions.extensions.declarations import (
    DashboardForm,
    DashboardPage,
    EventListener,
    Extension,
    ExtensionMail,
    ExtensionRequest,
    ListenedEvent,
    MailValues,
    MenuLink,
    OrderPanel,
    PageContent,
    PageRedirect,
    PaymentOutcome,
    PaymentProvider,
    ShippingCalculator,
    StoredWebhook,
    StorefrontEndpoint,
    VerifiedWebhook,
    WebhookRequest,
)
from shop.actions.extensions.extension_context import ExtensionContext
from shop.base.actor import Actor
from shop.base.errors import BadSignature, Conflict, Forbidden, Invalid, NotFound, Unavailable
from shop.base.ids import new_id
from shop.base.money import major_units, minor_units, money_text
from shop.db.pool import ConstraintViolation
from shop.db.rows import ExtensionTables, Row, check, key, refers, unique
from shop.db.statements import into, statement
from shop.gateways.payments import UNKNOWN, Call, Result
from shop.jsonapi.resource import computed, many, money, one
from shop.platform.extension_resources import platform_resource
from shop.queries.extensions.records import CustomerSummary, LineSummary, OrderSummary, VariantSummary
from shop.rules.cart.promotion_kinds import Basket, BasketItem, BenefitKind, ConditionKind
from shop.rules.mail.definitions import MailDefinition, MailVariable
from shop.rules.setup.shipping import Package, PackageItem

API_VERSION = 1
"""Increases when an extension must be changed; docs/extensions.md has the promise."""

__all__ = [
    "API_VERSION",
    "UNKNOWN",
    "Actor",
    "BadSignature",
    "Basket",
    "BasketItem",
    "BenefitKind",
    "Call",
    "ConditionKind",
    "Conflict",
    "ConstraintViolation",
    "CustomerSummary",
    "DashboardForm",
    "DashboardPage",
    "EventListener",
    "Extension",
    "ExtensionContext",
    "ExtensionMail",
    "ExtensionRequest",
    "ExtensionTables",
    "Forbidden",
    "Invalid",
    "LineSummary",
    "ListenedEvent",
    "MailDefinition",
    "MailValues",
    "MailVariable",
    "MenuLink",
    "NotFound",
    "OrderPanel",
    "OrderSummary",
    "Package",
    "PackageItem",
    "PageContent",
    "PageRedirect",
    "PaymentOutcome",
    "PaymentProvider",
    "Result",
    "Row",
    "ShippingCalculator",
    "StoredWebhook",
    "StorefrontEndpoint",
    "Unavailable",
    "VariantSummary",
    "VerifiedWebhook",
    "WebhookRequest",
    "check",
    "computed",
    "into",
    "key",
    "major_units",
    "many",
    "minor_units",
    "money",
    "money_text",
    "new_id",
    "one",
    "platform_resource",
    "refers",
    "statement",
    "unique",
]
