"""`shop stress`: concurrency tests against a running shop."""

import json
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from shop.base.errors import CannotStart
from shop.cli.prepare import load_settings
from shop.gateways.test_card import SIGNATURE_HEADER, TestCard

UNITS, BUYERS, REPEATS = 10, 40, 20
BUSY_REPEATS = 20
_ADDRESS = {
    "firstname": "Ada",
    "lastname": "Lovelace",
    "address1": "1 Main Street",
    "city": "Springfield",
    "zipcode": "62701",
    "state_name": "IL",
    "country_iso": "US",
    "phone": "555-0100",
}


class SkipTrial(Exception):
    """A trial cannot run; the message names what is missing."""


class StressClient:
    """An HTTP client with fixed headers, for example credentials."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url, self.headers = url, headers

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers, **({"Content-Type": "application/json"} if data else {})}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310  Checked in `stress`.
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as http_error:
            return http_error.code, json.loads(http_error.read() or b"null")
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            raise CannotStart(f"{self.url} does not respond; start the shop, or choose another --url.") from error

    def create(self, path: str, body: Mapping[str, Any]) -> Any:
        status, response = self.send("POST", path, body)
        if status not in {200, 201}:
            raise CannotStart(f"The shop rejected {path} with {status}: {response}")
        return response


class TrialSetup(StressClient):
    """A Platform API client that sets up the records for the trials."""

    def __init__(self, url: str, client_id: str, client_secret: str) -> None:
        super().__init__(url)
        grant = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        token = self.create("/shop_oauth/token", {**grant, "scope": "admin"})["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        suffix = uuid4().hex[:8]
        country = self.send("GET", "/api/v2/platform/countries/US")[1]["data"]["id"]
        zone = self.create_record("zones", "zone", name=f"Stress {suffix}", country_ids=[country])
        self.category = self.create_record("shipping_categories", "shipping_category", name=f"Stress {suffix}")
        shipping_fields = {"zone_ids": [zone], "shipping_category_ids": [self.category], "amounts": {"USD": "5.00"}}
        self.create_record("shipping_methods", "shipping_method", name=f"Stress {suffix}", **shipping_fields)
        method = {"name": f"Stress {suffix}", "type": "check", "auto_capture": True}
        self.check = self.create_record("payment_methods", "payment_method", **method)

    def create_record(self, path: str, kind: str, **fields: Any) -> str:
        return str(self.create(f"/api/v2/platform/{path}", {kind: fields})["data"]["id"])

    def create_variant(self, count: int) -> str:
        fields = {"name": f"Stress {uuid4().hex[:8]}", "status": "active", "price": "10.00", "currency": "USD"}
        product = self.create(
            "/api/v2/platform/products", {"product": {**fields, "shipping_category_id": self.category}}
        )
        variant = str(product["data"]["relationships"]["primary_variant"]["data"]["id"])
        self.create_record("stock_movements", "stock_movement", variant_id=variant, quantity=count, reason="received")
        return variant

    def test_card(self) -> str:
        method = {"name": f"Stress {uuid4().hex[:8]}", "type": "test_card"}
        status, response = self.send("POST", "/api/v2/platform/payment_methods", {"payment_method": method})
        if status != 201:
            raise SkipTrial("webhooks: the test card works only in a try-out")
        return str(response["data"]["id"])

    def buyer(self, variant: str, *, test_card: str | None = None, source: str = "approve") -> StressClient:
        """Returns a client with a cart ready to complete: by check, which every shop accepts, or by test card."""
        # Without credentials: the Storefront API does not accept Platform API tokens.
        cart = StressClient(self.url).create("/api/v2/storefront/cart?currency=USD", {})
        buyer = StressClient(self.url, **{"X-Shop-Order-Token": cart["data"]["attributes"]["token"]})
        buyer.create("/api/v2/storefront/cart/add_item", {"variant_id": variant})
        details = {"email": "stress@example.org", "bill_address_attributes": _ADDRESS, "use_billing": True}
        buyer.send("PATCH", "/api/v2/storefront/checkout", {"order": details})
        payment: dict[str, Any] = {"payment_method_id": test_card or self.check}
        if test_card:
            payment["source_attributes"] = {"gateway_payment_profile_id": source}
        buyer.create("/api/v2/storefront/checkout/create_payment", payment)
        return buyer

    def on_hand(self, variant: str) -> int:
        _, response = self.send("GET", f"/api/v2/platform/variants/{variant}")
        return int(response["data"]["attributes"]["total_on_hand"])


def _complete(buyer: StressClient) -> tuple[int, Any]:
    """Completes the cart; retries on 503 like a real client."""
    for _ in range(BUSY_REPEATS):
        status, response = buyer.send("PATCH", "/api/v2/storefront/checkout/complete", {})
        if status != 503:
            break
        time.sleep(0.5)
    return status, response


def _complete_concurrently(callers: Sequence[StressClient]) -> list[tuple[int, Any]]:
    with ThreadPoolExecutor(max_workers=len(callers)) as threads:
        return list(threads.map(_complete, callers))


def sell_last_units(setup: TrialSetup) -> Mapping[str, bool]:
    """Lets many buyers compete for a few units."""
    variant = setup.create_variant(UNITS)
    responses = _complete_concurrently([setup.buyer(variant) for _ in range(BUYERS)])
    statuses = Counter(status for status, _ in responses)
    return {
        f"{BUYERS} buyers of {UNITS} units: {UNITS} orders": statuses[200] == UNITS,
        "every other buyer got an error (409 or 422)": statuses[200] + statuses[409] + statuses[422] == BUYERS,
        "no unit is left, and none was sold twice": setup.on_hand(variant) == 0,
    }


def redeem_last_coupon_use(setup: TrialSetup) -> Mapping[str, bool]:
    """Lets many carts compete for the last use of a coupon code."""
    variant, code = setup.create_variant(BUYERS), f"stress-{uuid4().hex[:8]}"
    tenth = {"type": "percent_off_items", "preferences": {"percent": "10"}}
    promotion = {"name": "Stress", "code": code, "usage_limit": 1, "promotion_actions_attributes": [tenth]}
    setup.create_record("promotions", "promotion", **promotion)
    buyers = [setup.buyer(variant) for _ in range(BUYERS)]
    for buyer in buyers:
        buyer.send("PATCH", "/api/v2/storefront/cart/apply_coupon_code", {"coupon_code": code})
    responses = _complete_concurrently(buyers)
    # Not the total: the shop may have taxes.
    discounts = [response["data"]["attributes"]["promo_total"] for status, response in responses if status == 200]
    conflicts = [response for status, response in responses if status == 409 and response["code"] == "total_changed"]
    return {
        f"{BUYERS} carts with one use left: one gets it": discounts == ["-1.0"],
        "every other got total_changed before it paid": len(conflicts) == BUYERS - 1,
    }


def repeat_completions(setup: TrialSetup) -> Mapping[str, bool]:
    """Completes one cart many times concurrently."""
    variant = setup.create_variant(REPEATS)
    buyer = setup.buyer(variant)
    responses = _complete_concurrently([buyer] * REPEATS)
    final = _complete(buyer)
    orders = {response["data"]["id"] for status, response in [*responses, final] if status == 200}
    return {
        f"{REPEATS} completes of one cart: one order": len(orders) == 1 and final[0] == 200,
        "and one unit was sold": setup.on_hand(variant) == REPEATS - 1,
    }


def repeat_refunds(setup: TrialSetup) -> Mapping[str, bool]:
    """Refunds one payment many times concurrently; only one refund succeeds."""
    variant = setup.create_variant(1)
    buyer = setup.buyer(variant)
    _complete(buyer)
    _, payments = setup.send(
        "GET", f"/api/v2/platform/payments?filter[payment_method_id_eq]={setup.check}&sort=-created_at"
    )
    payment = payments["data"][0]["id"]
    body = {"refund": {"payment_id": payment, "amount": "15.0", "reason": "stress"}}

    def refund(_number: int) -> int:
        return setup.send("POST", "/api/v2/platform/refunds", body)[0]

    with ThreadPoolExecutor(max_workers=REPEATS) as threads:
        statuses = Counter(threads.map(refund, range(REPEATS)))
    _, response = setup.send("GET", f"/api/v2/platform/payments/{payment}")
    amount = response["data"]["attributes"]["refunded_amount"]
    return {f"{REPEATS} full refunds of one payment: one": statuses[201] == 1 and amount == "15.0"}


def repeat_refreshes(setup: TrialSetup) -> Mapping[str, bool]:
    """Uses one refresh token many times concurrently, which must return one token pair."""
    user = {"email": f"stress-{uuid4().hex[:12]}@example.org"}
    guest, auth = StressClient(setup.url), "/api/v2/storefront/auth"
    guest.create(auth, {"user": user})
    status, mails = guest.send("GET", f"/mailbox.json?to={user['email']}")
    if status != 200:
        raise SkipTrial("refreshes: the shop has no mailbox to read the code from")
    pair = guest.create(auth, {"user": {**user, "code": mails[0]["code"]}})

    def refresh(_number: int) -> tuple[int, Any]:
        return guest.send("POST", auth, {"user": {**user, "refresh_token": pair["refresh_token"]}})

    with ThreadPoolExecutor(max_workers=REPEATS) as threads:
        responses = list(threads.map(refresh, range(REPEATS)))
    token_pairs = {
        (response["access_token"], response["refresh_token"]) for status, response in responses if status == 200
    }
    all_succeeded = all(status == 200 for status, _ in responses)
    return {f"{REPEATS} refreshes of one token: one pair": all_succeeded and len(token_pairs) == 1}


class LostPaymentResponse:
    """A buyer whose payment response is lost, and the webhooks that the provider sends later."""

    def __init__(self, setup: TrialSetup, threads: ThreadPoolExecutor, variant: str, test_card: str) -> None:
        self.setup, self.threads = setup, threads
        self.buyer = setup.buyer(variant, test_card=test_card, source="late")
        self.number = self.buyer.send("GET", "/api/v2/storefront/cart")[1]["data"]["attributes"]["number"]
        self.directory = load_settings().data_dir / "test_card"
        threads.submit(_complete, self.buyer)
        key = _wait_for_call_key(self.directory, self.number)
        if key is None:
            raise SkipTrial("webhooks: SHOP_DATA_DIR must be that of the shop")
        self.key = key

    def send_webhooks(self, *outcomes: str) -> set[int]:
        """Sends webhooks concurrently: some repeat the same event, some are other events of the same payment."""

        def send_webhook(index: int) -> int:
            result = {"outcome": outcomes[index % len(outcomes)], "reference": "stress"}
            webhook = {"id": f"{self.key}-{result['outcome']}-{index % 3}", "key": self.key, "result": result}
            signature = TestCard(self.directory).sign(json.dumps(webhook).encode()).decode()
            client = StressClient(self.setup.url, **{SIGNATURE_HEADER.decode(): signature})
            return client.send("POST", "/payment_notices/test_card", webhook)[0]

        return set(self.threads.map(send_webhook, range(REPEATS)))

    def is_paid(self) -> bool:
        status, order = self.buyer.send("GET", f"/api/v2/storefront/order_status/{self.number}")
        return status == 200 and order["data"]["attributes"]["payment_state"] == "paid"

    def is_cart(self) -> bool:
        return self.buyer.send("GET", "/api/v2/storefront/cart")[0] == 200


def repeat_and_reorder_webhooks(setup: TrialSetup) -> Mapping[str, bool]:
    """Sends webhooks of payments with lost responses many times and in any order: the first one counts, and no order
    is left half finished.
    """
    rounds = (
        [("approved",)],
        [("approved",), ("declined",)],
        [("declined",), ("approved",)],
        [("approved", "declined")],
    )
    results: dict[str, bool] = {}
    test_card = setup.test_card()
    with ThreadPoolExecutor(max_workers=REPEATS + len(rounds)) as threads:
        for each in rounds:
            variant = setup.create_variant(REPEATS)
            late_payment = LostPaymentResponse(setup, threads, variant, test_card)
            statuses = set[int]().union(*(late_payment.send_webhooks(*outcomes) for outcomes in each))
            is_paid, is_cart = late_payment.is_paid(), late_payment.is_cart()
            # Of two concurrent outcomes, either may arrive first.
            is_approved = is_paid if len(each[0]) > 1 else each[0] == ("approved",)
            is_consistent = (is_paid, is_cart, setup.on_hand(variant)) == (
                is_approved,
                not is_approved,
                REPEATS - is_approved,
            )
            order_of_outcomes = ", then ".join(" and ".join(outcomes) for outcomes in each)
            outcome = (
                "one order, or none and unchanged stock"
                if len(each[0]) > 1
                else "one order"
                if is_approved
                else "no order"
            )
            results[f"{REPEATS} webhooks each of one payment, {order_of_outcomes}: {outcome}"] = (
                statuses == {204} and is_consistent
            )
    return results


def _wait_for_call_key(directory: Path, number: str) -> str | None:
    """Waits for the provider call of an order and returns its idempotency key."""
    for _ in range(100):
        for file in directory.glob("*.json") if directory.is_dir() else ():
            call = json.loads(file.read_bytes())["call"]
            if call["order_number"] == number:
                return str(call["key"])
        time.sleep(0.05)
    return None


TRIALS: Sequence[Callable[[TrialSetup], Mapping[str, bool]]] = (
    sell_last_units,
    redeem_last_coupon_use,
    repeat_completions,
    repeat_refunds,
    repeat_refreshes,
    repeat_and_reorder_webhooks,
)


@click.command(epilog="Example: shop stress --client-id ID")
@click.option(
    "--url", default="http://127.0.0.1:8000", show_default=True, help="URL of the running shop, on this machine."
)
@click.option(
    "--client-id", required=True, help="Client ID of an application with write access; see `shop app create`."
)
@click.option("--client-secret", prompt=True, hide_input=True, help="Client secret; prompted for if omitted.")
def stress(url: str, client_id: str, client_secret: str) -> None:
    """Run concurrency tests against a running shop and report which guarantees held. Test orders are not removed."""
    if not url.startswith(("http://127.0.0.1:", "http://localhost:", "http://[::1]:")):
        raise CannotStart("Only a shop on this machine can be tested; use a --url at 127.0.0.1.")
    setup = TrialSetup(url, client_id, client_secret)
    failures = 0
    for trial in TRIALS:
        try:
            guarantees = trial(setup)
        except SkipTrial as reason:
            click.echo(f"  --      {reason}")
            continue
        for guarantee, is_met in guarantees.items():
            click.echo(f"  {'held  ' if is_met else 'BROKEN'}  {guarantee}")
            failures += not is_met
    if failures:
        sys.exit(1)
    click.echo("All guarantees held. Run `shop verify` to check the stored totals.")
