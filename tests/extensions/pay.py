"""An extension with a payment provider that decides later, by a signed webhook; a shipping rate and promotion kinds."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import msgspec

from shop.extension import (
    BadSignature,
    Basket,
    BasketItem,
    BenefitKind,
    Call,
    ConditionKind,
    Extension,
    ExtensionContext,
    Package,
    PaymentOutcome,
    PaymentProvider,
    Result,
    ShippingCalculator,
    StoredWebhook,
    VerifiedWebhook,
    WebhookRequest,
)


class PaySettings(msgspec.Struct, frozen=True):
    """The secret of signatures, and the file that ends failures."""

    secret: str = "secret"
    switch: str = ""


async def execute(_ctx: ExtensionContext, call: Call) -> Result:
    return Result("unknown", str(call.key))


async def verify_webhook(ctx: ExtensionContext, request: WebhookRequest) -> VerifiedWebhook | None:
    signature = hmac.new(ctx.settings.secret.encode(), request.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature, request.headers.get("x-pay-signature", "")):
        raise BadSignature()
    if request.headers["content-type"] == "application/json":
        data = json.loads(request.body)
    else:
        data = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    return VerifiedWebhook(data["id"], data) if data["id"] != "ignored" else None


async def handle_webhook(ctx: ExtensionContext, webhook: StoredWebhook) -> PaymentOutcome | None:
    is_switched_on = await asyncio.to_thread(Path(f"{ctx.settings.switch}_pay").exists)
    if webhook.data.get("is_poison") and not is_switched_on:
        raise RuntimeError("cannot read this webhook")
    if "key" not in webhook.data:
        return None
    return PaymentOutcome(UUID(webhook.data["key"]), Result(webhook.data["outcome"], webhook.data["key"]))


PROVIDER = PaymentProvider(
    type="x_pay_later",
    label="Pay later",
    execute=execute,
    verify_webhook=verify_webhook,
    handle_webhook=handle_webhook,
)


def cost_courier(package: Package, amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    """The amount of the method for each unit; more than three are not offered."""
    return amounts[0][1] * package.count if package.count <= 3 else None


def check_pair(settings: Mapping[str, Any], basket: Basket) -> tuple[str | None, frozenset[int] | None]:
    count = sum(item.quantity for item in basket.items)
    return (None if count >= settings["count"] else "it needs more items"), None


def calculate_gift(
    settings: Mapping[str, Any], basket: Basket, _items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, tuple[int, int]]]:
    yield 0, (settings["amounts"].get(basket.currency, 0), 1)


EXTENSION = Extension(
    name="pay",
    version="1.0.0",
    api_version=1,
    settings=PaySettings,
    payment_providers=[PROVIDER],
    shipping_calculators=[ShippingCalculator(type="x_pay_courier", label="Courier", calculate=cost_courier)],
    promotion_conditions={"x_pay_pair": ConditionKind("Items together", {"count": "count"}, check_pair)},
    promotion_benefits={"x_pay_gift": BenefitKind("A gift", {"amounts": "amounts"}, "order", calculate_gift)},
    mail_templates=Path(__file__).resolve().parent / "templates" / "pay_mails",
)
