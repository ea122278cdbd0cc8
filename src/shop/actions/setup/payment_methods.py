"""Creates, updates and deletes payment methods, in the caller's transaction."""

from uuid import UUID

import msgspec

from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.gateways.providers import TYPES
from shop.models.checkout.payments import BUILT_IN_METHODS, STORE_CREDIT_METHOD, payment_methods
from shop.models.checkout.shipments import DISPLAYS
from shop.models.setup.inputs import PaymentMethodInput
from shop.queries import writes
from shop.queries.setup import methods
from shop.rules.setup.choices import check_choice

SECRETS = (b"sk_", b"rk_", b"whsec_")
"""Prefixes of the providers' secret keys."""
_NOT_READY = {
    "stripe": "needs keys first: set SHOP_STRIPE_SECRET_KEY and SHOP_STRIPE_WEBHOOK_SECRET",
    "test_card": "works only in a try-out: without an external database, SMTP server, public URL or proxy, on loopback",
}


async def create_payment_method(ctx: Context, values: PaymentMethodInput) -> UUID:
    check_choice(values, "type", (*TYPES, *ctx.shared.extensions.providers))
    check_choice(values, "display_on", DISPLAYS)
    _check_preferences(values)
    if not ctx.can_pay_with(values["type"]):
        raise Invalid({"type": [_NOT_READY.get(values["type"], "is not ready; see its extension")]})
    method_id = new_id()
    await writes.insert_record(ctx.db, payment_methods, method_id, values)
    return method_id


async def update_payment_method(ctx: Context, method_id: UUID, values: PaymentMethodInput) -> None:
    check_choice(values, "display_on", DISPLAYS)
    _check_preferences(values)
    if method_id == STORE_CREDIT_METHOD and values.keys() & {"display_on", "active"}:
        raise Invalid({"display_on": ["cannot be changed: store credit has its own endpoint"]})
    if method_id in BUILT_IN_METHODS and values.keys() & {"display_on", "active", "auto_capture"}:
        raise Invalid({"display_on": ["cannot be changed: only operators use it"]})
    await writes.update_record(ctx.db, payment_methods, method_id, values)


def _check_preferences(values: PaymentMethodInput) -> None:
    """Refuses secret keys in preferences, which are public."""
    preferences_json = msgspec.json.encode(values.get("preferences"))
    if any(b'"' + word in preferences_json for word in SECRETS):
        raise Invalid({"preferences": ["are public; put secret keys in the shop's settings"]})


async def delete_payment_method(ctx: Context, method_id: UUID) -> None:
    """Soft-deletes a payment method; payments that use it keep it."""
    if method_id == STORE_CREDIT_METHOD:
        raise Invalid({"base": ["is required for store credit and cannot be deleted"]})
    if method_id in BUILT_IN_METHODS:
        raise Invalid({"base": ["is required for orders that operators take and cannot be deleted"]})
    await methods.soft_delete(ctx.db, payment_methods, method_id)
