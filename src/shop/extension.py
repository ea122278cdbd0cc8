"""The public interface of the shop for extensions; see docs/extensions.md. Everything else can change at any time."""

from shop.actions.extensions.declarations import (
    DashboardForm,
    DashboardPage,
    EventListener,
    Extension,
    ExtensionRequest,
    ListenedEvent,
    MenuLink,
    OrderPanel,
    PageContent,
    PageRedirect,
    PaymentProvider,
    ShippingCalculator,
    StorefrontEndpoint,
)
from shop.actions.extensions.extension_context import ExtensionContext
from shop.base.actor import Actor
from shop.base.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
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
from shop.rules.setup.shipping import Package, PackageItem

API_VERSION = 1
"""Increases when an extension must be changed; docs/extensions.md has the promise."""

__all__ = [
    "API_VERSION",
    "UNKNOWN",
    "Actor",
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
    "ExtensionRequest",
    "ExtensionTables",
    "Forbidden",
    "Invalid",
    "LineSummary",
    "ListenedEvent",
    "MenuLink",
    "NotFound",
    "OrderPanel",
    "OrderSummary",
    "Package",
    "PackageItem",
    "PageContent",
    "PageRedirect",
    "PaymentProvider",
    "Result",
    "Row",
    "ShippingCalculator",
    "StorefrontEndpoint",
    "Unavailable",
    "VariantSummary",
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
