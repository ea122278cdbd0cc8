"""A stand-in for Stripe on this machine. It implements the part of Stripe's HTTP API that the shop uses, with cards
that do what their names say. Tests can delay, fail or lose its responses, and make it send webhooks before it responds.
"""

import contextlib
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.secret_leaks import record_secret

Values = dict[str, Any]
SECRET_KEY = record_secret("sk_test_51StandIn" + secrets.token_hex(24))
WEBHOOK_SECRET = record_secret("whsec_" + secrets.token_hex(24))
PUBLISHABLE_KEY = "pk_test_51StandIn0000"
NEXT_YEAR = time.gmtime().tm_year + 1
CARDS: dict[str, Values] = {
    "pm_card_visa": {"brand": "visa", "last4": "4242"},
    "pm_card_mastercard": {"brand": "mastercard", "last4": "4444"},
    "pm_card_chargeDeclined": {"code": "card_declined", "decline_code": "generic_decline"},
    "pm_card_chargeDeclinedInsufficientFunds": {"code": "card_declined", "decline_code": "insufficient_funds"},
    "pm_card_chargeDeclinedFraudulent": {"code": "card_declined", "decline_code": "fraudulent"},
    "pm_card_chargeDeclinedExpiredCard": {"code": "expired_card"},
    "pm_card_authenticationRequired": {"brand": "visa", "last4": "3184", "requires_action": True},
}


class StripeError(Exception):
    """An error response in Stripe's format."""

    def __init__(self, status: int, kind: str, **fields: Any) -> None:
        self.status = status
        self.body = {"error": {"type": kind, "message": f"The stand-in refused a request of {SECRET_KEY}.", **fields}}


def invalid(code: str, param: str | None = None) -> StripeError:
    return StripeError(404 if code == "resource_missing" else 400, "invalid_request_error", code=code, param=param)


class StandIn:
    """Holds Stripe's state, which the shop learns only from responses, or from the events that a test sends."""

    def __init__(self) -> None:
        self.resources: dict[str, Values] = {}
        """All resources by id."""
        self.events: list[Values] = []
        self.requests: list[tuple[str, str]] = []
        self.faults: list[tuple[str, str]] = []
        """The beginning of a method and path, and the fault of the next such request: `fails`, `busy`, `unauthorized`
        (error responses), `dropped` (not executed), `lost` (executed, but without a response), `held` (executed, with
        a response once `may_answer` is set).
        """
        self.webhook_base: str | None = None
        """The URL of a shop that gets a webhook about each change before the response to the request that caused it."""
        self.is_held, self.may_answer = threading.Event(), threading.Event()
        self._lock = threading.RLock()
        self._responses: dict[str | None, tuple[Any, tuple[int, Values]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def reset(self) -> None:
        """Resets all settings for the next test, but keeps the resources."""
        self.may_answer.set()
        self.faults.clear()
        self.webhook_base = None
        self.is_held, self.may_answer = threading.Event(), threading.Event()

    # For tests.

    def intents(self, order_number: str) -> list[Values]:
        all_intents = [each for each in self.resources.values() if each["object"] == "payment_intent"]
        return [each for each in all_intents if each["metadata"].get("order") == order_number]

    @property
    def keys(self) -> set[str]:
        """The idempotency keys of all requests."""
        return {key for key in self._responses if key}

    def refunds(self, intent_id: str) -> list[int]:
        """The amounts of all refunds of an intent."""
        return [each["amount"] for each in self.resources.values() if each.get("payment_intent") == intent_id]

    def find_event(self, kind: str, intent_id: str) -> Values:
        """The event of this kind about an intent."""
        return next(each for each in self.events if each["type"] == kind and each["data"]["object"]["id"] == intent_id)

    def sign(self, event: Values, *, at: float | None = None, secret: str = WEBHOOK_SECRET) -> tuple[bytes, Any]:
        """The body and the headers of a webhook request."""
        body, when = json.dumps(event).encode(), int(time.time() if at is None else at)
        mac = hmac.new(secret.encode(), b"%d." % when + body, hashlib.sha256).hexdigest()
        return body, {"Content-Type": "application/json", "Stripe-Signature": f"t={when},v1={mac}"}

    def shopper_confirms(self, intent_id: str, *, is_refused: bool = False) -> None:
        """Confirms a payment as the shopper does in Stripe's form, or refuses it."""
        with self._lock:
            intent = self.resources[intent_id]
            assert intent["status"] == "requires_action"
            self._finish(intent, {"code": "payment_intent_authentication_failure"} if is_refused else None)

    # The API of Stripe.

    def answer(self, method: str, path: str, params: Values) -> Values:
        resource, *rest = path.removeprefix("/v1/").split("/")
        verbs: Mapping[tuple[str, str, int], Callable[..., Values]] = {
            ("POST", "payment_intents", 0): self._create_intent,
            ("GET", "payment_intents", 0): self._list_intents,
            ("GET", "payment_intents", 1): self._find,
            ("POST", "payment_intents", 2): self._change_intent,
            ("POST", "refunds", 0): self._refund,
            ("GET", "refunds", 0): self._list_refunds,
            ("POST", "customers", 0): self._create_customer,
            ("POST", "payment_methods", 2): self._detach,
        }
        if (method, resource, len(rest)) not in verbs:
            raise StripeError(404, "invalid_request_error", code="url_unknown")
        return verbs[method, resource, len(rest)](params, *rest)

    def _create_intent(self, params: Values) -> Values:
        assert params["confirm"] == "true"
        assert params["payment_method_types"] == {"0": "card"}
        if int(params["amount"]) < 1 or not re.fullmatch("[a-z]{3}", params["currency"]):
            raise invalid("parameter_invalid_integer", "amount")
        if params.get("customer") and params["customer"] not in self.resources:
            raise invalid("resource_missing", "customer")
        method = self._card(params)
        intent = self._new(
            "pi", "payment_intent", **{name: params.get(name) for name in _INTENT_FIELDS}, status="", next=None
        )
        intent |= {"amount": int(params["amount"]), "amount_received": 0, "metadata": params.get("metadata", {})}
        intent |= {"payment_method": method["id"], "last_payment_error": None, "latest_charge": None}
        intent["client_secret"] = record_secret(f"{intent['id']}_secret_{secrets.token_hex(16)}")
        if method["card"].get("requires_action") and not method["customer"]:
            intent |= {"status": "requires_action", "next_action": {"type": "use_stripe_sdk"}}
            self._record_event("payment_intent.requires_action", intent)
            return intent
        self._finish(intent, method["card"] if "code" in method["card"] else None)
        if error := intent["last_payment_error"]:
            raise StripeError(402, "card_error", **error, payment_intent=intent)
        return intent

    def _card(self, params: Values) -> Values:
        """Each use of a test card's name creates a new card."""
        name, customer = params.get("payment_method", ""), params.get("customer")
        if name in CARDS:
            card = {"exp_month": 12, "exp_year": NEXT_YEAR, **CARDS[name]}
            return self._new("pm", "payment_method", card=card, customer=None, was_used=False)
        payment_method = self.resources.get(name)
        if (
            payment_method is None
            or payment_method["customer"] not in (None, customer)
            or (payment_method["was_used"] and not customer)
        ):
            raise invalid("resource_missing", "payment_method")
        return payment_method

    def _finish(self, intent: Values, error: Values | None) -> None:
        method = self.resources[intent["payment_method"]]
        if error:
            intent |= {"status": "requires_payment_method", "last_payment_error": error}
            self._record_event("payment_intent.payment_failed", intent)
            return
        method["was_used"] = True
        if intent["setup_future_usage"]:
            method["customer"] = intent["customer"]
        if intent["capture_method"] == "manual":
            intent |= {"status": "requires_capture"}
            self._record_event("payment_intent.amount_capturable_updated", intent)
        else:
            intent |= {"status": "succeeded", "amount_received": intent["amount"]}
            self._record_event("payment_intent.succeeded", intent)

    def _find(self, _params: Values, intent_id: str) -> Values:
        if intent_id not in self.resources:
            raise invalid("resource_missing", "intent")
        return self.resources[intent_id]

    def _list_intents(self, params: Values) -> Values:
        creation_range = {name: int(value) for name, value in params.get("created", {}).items()}
        intents = [each for each in self.resources.values() if each["object"] == "payment_intent"]
        intents = [
            each
            for each in intents
            if creation_range.get("gte", 0) <= each["created"] <= creation_range.get("lte", 1 << 40)
        ]
        return _page("/v1/payment_intents", intents[::-1], params)

    def _change_intent(self, params: Values, intent_id: str, verb: str) -> Values:
        intent = self._find({}, intent_id)
        allowed_states = {"capture": {"requires_capture"}, "cancel": {"requires_capture", "requires_action"}}[verb]
        if intent["status"] not in allowed_states:
            raise invalid("payment_intent_unexpected_state")
        intent["metadata"] = {**intent["metadata"], **params.get("metadata", {})}
        if verb == "capture":
            intent |= {"status": "succeeded", "amount_received": int(params["amount_to_capture"])}
        else:
            intent["status"] = "canceled"
        self._record_event(f"payment_intent.{intent['status']}", intent)
        return intent

    def _refund(self, params: Values) -> Values:
        intent = self._find({}, params["payment_intent"])
        before = [each for each in self.resources.values() if each.get("payment_intent") == intent["id"]]
        left = intent["amount_received"] - sum(each["amount"] for each in before)
        amount = int(params.get("amount", left))
        if not 0 < amount <= left:
            raise invalid("charge_already_refunded" if not left else "amount_too_large", "amount")
        refund = self._new("re", "refund", amount=amount, status="succeeded", metadata=params.get("metadata", {}))
        refund["payment_intent"] = intent["id"]
        self._record_event("refund.created", refund)
        return refund

    def _list_refunds(self, params: Values) -> Values:
        intent_id = params["payment_intent"]
        return _page(
            "/v1/refunds", [each for each in self.resources.values() if each.get("payment_intent") == intent_id], params
        )

    def _create_customer(self, params: Values) -> Values:
        return self._new("cus", "customer", metadata=params.get("metadata", {}))

    def _detach(self, _params: Values, method_id: str, verb: str) -> Values:
        assert verb == "detach"
        if not self.resources.get(method_id, {}).get("customer"):
            raise invalid("resource_missing", "payment_method")
        self.resources[method_id] |= {"customer": None}
        return self.resources[method_id]

    def _new(self, prefix: str, kind: str, **fields: Any) -> Values:
        resource = {"id": f"{prefix}_{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), **fields}
        self.resources[resource["id"]] = resource
        return resource

    def _record_event(self, kind: str, resource: Values) -> None:
        snapshot = json.loads(json.dumps(resource))
        event = {"id": f"evt_{secrets.token_hex(12)}", "object": "event", "type": kind, "data": {"object": snapshot}}
        self.events.append(event)

    def _send_events(self, event_count: int) -> None:
        for event in self.events[event_count:] if self.webhook_base else ():
            body, headers = self.sign(event)
            request = urllib.request.Request(f"{self.webhook_base}/payment_notices/stripe", body, headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.status == 204

    # The HTTP server.

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                stand_in._serve(self)

            def do_POST(self) -> None:
                stand_in._serve(self)

            def log_message(self, *_arguments: Any) -> None:
                pass

        return Handler

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0)).decode()
        parts, key = urlsplit(request.path), request.headers.get("Idempotency-Key")
        fault = self._fault(f"{request.command} {parts.path}")
        if fault == "dropped":
            request.close_connection = True
            return
        if request.headers.get("Authorization") != f"Bearer {SECRET_KEY}":
            fault = "unauthorized"
        if fault in _REFUSALS:
            status, kind = _REFUSALS[fault]
            self._reply(request, status, StripeError(status, kind).body)
            return
        params = _parse_form(parts.query + "&" + body)
        event_count = len(self.events)
        status, answer = self._once(key, request.command, parts.path, params)
        self._send_events(event_count)
        if fault == "held":
            self.is_held.set()
            self.may_answer.wait(60)
        if fault == "lost":
            request.close_connection = True
            return
        self._reply(request, status, answer)

    def _fault(self, request_line: str) -> str | None:
        with self._lock:
            method, _, path = request_line.partition(" ")
            self.requests.append((method, path))
            for index, (prefix, fault) in enumerate(self.faults):
                if request_line.startswith(prefix):
                    del self.faults[index]
                    return fault
        return None

    def _once(self, key: str | None, method: str, path: str, params: Values) -> tuple[int, Values]:
        """Executes a request once for each key: repeats its response, and refuses the key for another request."""
        with self._lock:
            request = (method, path, json.dumps(params))
            if method == "POST" and key in self._responses:
                before, answer = self._responses[key]
                return answer if before == request else (400, StripeError(400, "idempotency_error").body)
            try:
                result = 200, _expand(self.answer(method, path, params), params, self.resources)
            except StripeError as error:
                result = error.status, error.body
            if key:
                self._responses[key] = (request, result)
            return result

    @staticmethod
    def _reply(request: BaseHTTPRequestHandler, status: int, body: Values) -> None:
        content = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.send_header("Request-Id", f"req_{secrets.token_hex(7)}")
        request.end_headers()
        # The client may have disconnected.
        with contextlib.suppress(OSError):
            request.wfile.write(content)


_REFUSALS = {
    "fails": (500, "api_error"),
    "busy": (429, "rate_limit_error"),
    "unauthorized": (401, "invalid_request_error"),
}
_INTENT_FIELDS = ("currency", "customer", "capture_method", "setup_future_usage", "description")


def _parse_form(form: str) -> Values:
    """Parses `metadata[order]=R1` into nested objects."""
    params: Values = {}
    for name, value in parse_qsl(form, keep_blank_values=True):
        *path, last = re.findall(r"[^\[\]]+", name)
        node = params
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return params


def _expand(answer: Values, params: Values, resources: Mapping[str, Values]) -> Values:
    """Replaces the id of the card with the card if `expand` asks for it."""
    result = json.loads(json.dumps(answer))
    is_expanded = any("payment_method" in each for each in params.get("expand", {}).values())
    for each in result["data"] if result["object"] == "list" else [result]:
        if is_expanded and each.get("payment_method"):
            each["payment_method"] = json.loads(json.dumps(resources[each["payment_method"]]))
    return dict(result)


def _page(url: str, items: list[Values], params: Values) -> Values:
    after = next((index + 1 for index, each in enumerate(items) if each["id"] == params.get("starting_after")), 0)
    size = int(params.get("limit", 10))
    return {"object": "list", "url": url, "data": items[after : after + size], "has_more": len(items) > after + size}


@contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    try:
        yield server
    finally:
        server.stop()
