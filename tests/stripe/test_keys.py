"""Stripe's keys: without them nobody is offered a card, and with them nobody sees them."""

from pathlib import Path
from typing import Any

import pytest

from tests.admin.dashboard import new_desk
from tests.checkout_builders import Buyer, Till
from tests.cli.command import Command, external
from tests.platform.client import Machine
from tests.service import KEYS, Service
from tests.stripe.stand_in import SECRET_KEY, WEBHOOK_SECRET, StandIn
from tests.stripe.test_paying import VISA, buy_by_card, payment_of

BOTH = {"SHOP_STRIPE_SECRET_KEY": SECRET_KEY, "SHOP_STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET}


@pytest.mark.torture
async def test_without_keys_nobody_pays_by_stripe_and_what_was_paid_is_still_known(
    buyer: Buyer, till: Till, writer: Machine, db: Any, database_url: str, tmp_path: Path, stripe: StandIn
) -> None:
    await till.make.change("payment_methods", till.card, "payment_method", auto_capture=False)
    order = await buy_by_card(buyer, till)
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
            buyer, elsewhere = Buyer(http, till), Machine(http, {**vars(writer)})
            await buyer.put_in((await till.product(), 1))
            await buyer.come_from()

            methods = await buyer.get("/checkout/payment_methods")
            source = {"gateway_payment_profile_id": VISA}
            choice = await buyer.post("/checkout/create_payment", payment_method_id=till.card, source_attributes=source)
            method = await elsewhere.post("/payment_methods", {"payment_method": {"name": "Card", "type": "stripe"}})
            capture = await elsewhere.patch(f"/payments/{payment['id']}/capture", {})
            body, headers = stripe.signed(stripe.events[-1])
            page = (await (await new_desk(http, db)).get("/admin/settings/payments")).text
            webhook = await http.post("/payment_notices/stripe", content=body, headers=headers)
    finally:
        service.stop()

    ids = [each["id"] for each in methods.json["data"]]
    assert (till.check in ids, till.card in ids) == (True, False)
    assert (choice.status, choice.code) == (422, "payment_method_not_found")
    assert (method.status, list(method.json["errors"])) == (422, ["type"])
    assert "SHOP_STRIPE_SECRET_KEY" in method.json["errors"]["type"][0]
    assert (capture.status, capture.code) == (422, "payment_refused")
    assert "has no keys" in page
    assert (webhook.status_code, webhook.json()["code"]) == (400, "bad_signature")
    # With the keys there again, nothing is lost.
    assert (await writer.patch(f"/payments/{payment['id']}/capture", {}))["state"] == "completed"


@pytest.mark.torture
async def test_the_doctor_says_whether_stripe_answers_and_never_the_keys(
    shop: Command, till: Till, database_url: str, tmp_path: Path, stripe: StandIn
) -> None:
    def run_doctor(**keys: str) -> tuple[int, str]:
        process = shop("doctor", **external(database_url, SHOP_DATA_DIR=str(tmp_path)), **keys)
        assert not any(secret[12:] in process.stdout + process.stderr for secret in BOTH.values())
        return process.returncode, next(line.strip() for line in process.stdout.splitlines() if " payments: " in line)

    right = run_doctor(**BOTH, SHOP_STRIPE_API_BASE=stripe.url)
    unknown = run_doctor(**{**BOTH, "SHOP_STRIPE_SECRET_KEY": "sk_test_another00"}, SHOP_STRIPE_API_BASE=stripe.url)
    half = run_doctor(SHOP_STRIPE_SECRET_KEY=SECRET_KEY)
    none = run_doctor()

    assert right == (0, f"ok    payments: Stripe at {stripe.url}, in test mode, which responds")
    assert (unknown[0], "check SHOP_STRIPE_SECRET_KEY" in unknown[1]) == (1, True)
    assert (half[0], "one is not set" in half[1]) == (1, True)
    assert (none[0], "cannot be offered" in none[1]) == (1, True)
