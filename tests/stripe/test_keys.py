"""Stripe's keys: without them the shop offers no card, and with them it never shows them."""

from pathlib import Path
from typing import Any

import pytest

from tests.admin.dashboard import new_dashboard
from tests.checkout_builders import Buyer, CheckoutSetup
from tests.cli.command import Command, external
from tests.platform.client import Machine
from tests.service import KEYS, Service
from tests.stripe.stand_in import SECRET_KEY, WEBHOOK_SECRET, StandIn
from tests.stripe.test_payments import VISA, buy_by_card, payment_of

STRIPE_KEYS = {"SHOP_STRIPE_SECRET_KEY": SECRET_KEY, "SHOP_STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET}


@pytest.mark.torture
async def test_without_keys_stripe_is_not_offered_and_existing_payments_remain(
    buyer: Buyer,
    checkout_setup: CheckoutSetup,
    writer: Machine,
    db: Any,
    database_url: str,
    tmp_path: Path,
    stripe: StandIn,
) -> None:
    await checkout_setup.make.change("payment_methods", checkout_setup.card, "payment_method", auto_capture=False)
    order = await buy_by_card(buyer, checkout_setup)
    payment = await payment_of(db, order)
    service = Service(
        SHOP_DATA_DIR=str(tmp_path),
        SHOP_DATABASE_URL=database_url,
        SHOP_SECRET_KEYS=KEYS,
        SHOP_MAILBOX="on",
        SHOP_DRAIN_SECONDS="0",
    )
    try:
        async with service.client() as http:
            buyer, machine = Buyer(http, checkout_setup), Machine(http, {**vars(writer)})
            await buyer.add_items((await checkout_setup.product(), 1))
            await buyer.enter_address()

            methods = await buyer.get("/checkout/payment_methods")
            source = {"gateway_payment_profile_id": VISA}
            choice = await buyer.post(
                "/checkout/create_payment", payment_method_id=checkout_setup.card, source_attributes=source
            )
            method = await machine.post("/payment_methods", {"payment_method": {"name": "Card", "type": "stripe"}})
            capture = await machine.patch(f"/payments/{payment['id']}/capture", {})
            body, headers = stripe.sign(stripe.events[-1])
            page = (await (await new_dashboard(http, db)).get("/admin/settings/payments")).text
            webhook = await http.post("/payment_notices/stripe", content=body, headers=headers)
    finally:
        service.stop()

    ids = [each["id"] for each in methods.json["data"]]
    assert (checkout_setup.check in ids, checkout_setup.card in ids) == (True, False)
    assert (choice.status, choice.code) == (422, "payment_method_not_found")
    assert (method.status, list(method.json["errors"])) == (422, ["type"])
    assert "SHOP_STRIPE_SECRET_KEY" in method.json["errors"]["type"][0]
    assert (capture.status, capture.code) == (422, "payment_refused")
    assert "not configured" in page
    assert (webhook.status_code, webhook.json()["code"]) == (400, "bad_signature")
    # Once the keys are set again, the payment can be captured.
    assert (await writer.patch(f"/payments/{payment['id']}/capture", {}))["state"] == "completed"


@pytest.mark.torture
async def test_the_doctor_reports_whether_stripe_responds_and_never_the_keys(
    shop: Command, checkout_setup: CheckoutSetup, database_url: str, tmp_path: Path, stripe: StandIn
) -> None:
    def run_doctor(**keys: str) -> tuple[int, str]:
        process = shop("doctor", **external(database_url, SHOP_DATA_DIR=str(tmp_path)), **keys)
        assert not any(secret[12:] in process.stdout + process.stderr for secret in STRIPE_KEYS.values())
        return process.returncode, next(line.strip() for line in process.stdout.splitlines() if " payments: " in line)

    right = run_doctor(**STRIPE_KEYS, SHOP_STRIPE_API_BASE=stripe.url)
    unknown = run_doctor(
        **{**STRIPE_KEYS, "SHOP_STRIPE_SECRET_KEY": "sk_test_another00"}, SHOP_STRIPE_API_BASE=stripe.url
    )
    half = run_doctor(SHOP_STRIPE_SECRET_KEY=SECRET_KEY)
    none = run_doctor()

    assert right == (0, f"ok    payments: Stripe at {stripe.url}, in test mode, which responds")
    assert (unknown[0], "check SHOP_STRIPE_SECRET_KEY" in unknown[1]) == (1, True)
    assert (half[0], "one is not set" in half[1]) == (1, True)
    assert (none[0], "cannot be offered" in none[1]) == (1, True)
