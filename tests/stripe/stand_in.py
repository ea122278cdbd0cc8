"""A stand-in for Stripe, on this machine only: speaks as much of its HTTP as the shop uses, with cards that do what
their names say, and can be told to be slow, to fail, to lose its answers, and to tell of everything before it answers.
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

from tests.secrets_seen import note

Values = dict[str, Any]
SECRET_KEY = note("sk_test_51StandIn" + secrets.token_hex(24))
WEBHOOK_SECRET = note("whsec_" + secrets.token_hex(24))
PUBLISHABLE_KEY = "pk_test_51StandIn0000"
NEXT_YEAR = time.gmtime().tm_year + 1
CARDS: dict[str, Values] = {
    "pm_card_visa": {"brand": "visa", "last4": "4242"},
    "pm_card_mastercard": {"brand": "mastercard", "last4": "4444"},
    "pm_card_chargeDeclined": {"code": "card_declined", "decline_code": "generic_decline"},
    "pm_card_chargeDeclinedInsufficientFunds": {"code": "card_declined", "decline_code": "insufficient_funds"},
    "pm_card_chargeDeclinedFraudulent": {"code": "card_declined", "decline_code": "fraudulent"},
    "pm_card_chargeDeclinedExpiredCard": {"code": "expired_card"},
    "pm_card_authenticationRequired": {"brand": "visa", "last4": "3184", "asks": True},
}


class StripeError(Exception):
    """An answer that is no success, in the shape of theirs."""

    def __init__(self, status: int, kind: str, **fields: Any) -> None:
        self.status = status
        self.body = {"error": {"type": kind, "message": f"No, said the stand-in of {SECRET_KEY}.", **fields}}


def invalid(code: str, param: str | None = None) -> StripeError:
    return StripeError(404 if code == "resource_missing" else 400, "invalid_request_error", code=code, param=param)


class StandIn:
    """What it knows is theirs: the shop learns of it by asking, or by the events that a test lets it tell."""

    def __init__(self) -> None:
        self.things: dict[str, Values] = {}
        """Everything by its id."""
        self.events: list[Values] = []
        self.asked: list[tuple[str, str]] = []
        self.faults: list[tuple[str, str]] = []
        """The next request whose method and path begin like this goes wrong like that: `fails`, `busy`, `shut`,
        `dropped` (nothing was done), `lost` (done, and the line cut), `held` (done, and answered once `may_answer`).
        """
        self.tells_to: str | None = None
        """A shop that is told of everything before the request that caused it is answered."""
        self.is_held, self.may_answer = threading.Event(), threading.Event()
        self._lock = threading.RLock()
        self._known: dict[str | None, tuple[Any, tuple[int, Values]]] = {}
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

    def forget_moods(self) -> None:
        """As good as new for the next test, but for what it knows."""
        self.may_answer.set()
        self.faults.clear()
        self.tells_to = None
        self.is_held, self.may_answer = threading.Event(), threading.Event()

    # What a test asks.

    def intents(self, order_number: str) -> list[Values]:
        all_intents = [each for each in self.things.values() if each["object"] == "payment_intent"]
        return [each for each in all_intents if each["metadata"].get("order") == order_number]

    @property
    def keys(self) -> set[str]:
        """Those under which it was asked to do something."""
        return {key for key in self._known if key}

    def refunds(self, intent_id: str) -> list[int]:
        """What was given back of an intent, each time."""
        return [each["amount"] for each in self.things.values() if each.get("payment_intent") == intent_id]

    def told(self, kind: str, intent_id: str) -> Values:
        """The event of this kind about an intent."""
        return next(each for each in self.events if each["type"] == kind and each["data"]["object"]["id"] == intent_id)

    def signed(self, event: Values, *, at: float | None = None, secret: str = WEBHOOK_SECRET) -> tuple[bytes, Any]:
        """The body of a notice, and its headers."""
        body, when = json.dumps(event).encode(), int(time.time() if at is None else at)
        mac = hmac.new(secret.encode(), b"%d." % when + body, hashlib.sha256).hexdigest()
        return body, {"Content-Type": "application/json", "Stripe-Signature": f"t={when},v1={mac}"}

    def shopper_confirms(self, intent_id: str, *, is_refused: bool = False) -> None:
        """At their bank, through Stripe's own form."""
        with self._lock:
            intent = self.things[intent_id]
            assert intent["status"] == "requires_action"
            self._finish(intent, {"code": "payment_intent_authentication_failure"} if is_refused else None)

    # What the shop asks.

    def answer(self, method: str, path: str, params: Values) -> Values:
        resource, *rest = path.removeprefix("/v1/").split("/")
        verbs: Mapping[tuple[str, str, int], Callable[..., Values]] = {
            ("POST", "payment_intents", 0): self._make,
            ("GET", "payment_intents", 0): self._list_intents,
            ("GET", "payment_intents", 1): self._find,
            ("POST", "payment_intents", 2): self._act,
            ("POST", "refunds", 0): self._refund,
            ("GET", "refunds", 0): self._list_refunds,
            ("POST", "customers", 0): self._make_customer,
            ("POST", "payment_methods", 2): self._detach,
        }
        if (method, resource, len(rest)) not in verbs:
            raise StripeError(404, "invalid_request_error", code="url_unknown")
        return verbs[method, resource, len(rest)](params, *rest)

    def _make(self, params: Values) -> Values:
        assert params["confirm"] == "true"
        assert params["payment_method_types"] == {"0": "card"}
        if int(params["amount"]) < 1 or not re.fullmatch("[a-z]{3}", params["currency"]):
            raise invalid("parameter_invalid_integer", "amount")
        if params.get("customer") and params["customer"] not in self.things:
            raise invalid("resource_missing", "customer")
        method = self._card(params)
        intent = self._new("pi", "payment_intent", **{name: params.get(name) for name in _KEPT}, status="", next=None)
        intent |= {"amount": int(params["amount"]), "amount_received": 0, "metadata": params.get("metadata", {})}
        intent |= {"payment_method": method["id"], "last_payment_error": None, "latest_charge": None}
        intent["client_secret"] = note(f"{intent['id']}_secret_{secrets.token_hex(16)}")
        if method["card"].get("asks") and not method["customer"]:
            intent |= {"status": "requires_action", "next_action": {"type": "use_stripe_sdk"}}
            self._tell("payment_intent.requires_action", intent)
            return intent
        self._finish(intent, method["card"] if "code" in method["card"] else None)
        if trouble := intent["last_payment_error"]:
            raise StripeError(402, "card_error", **trouble, payment_intent=intent)
        return intent

    def _card(self, params: Values) -> Values:
        """Their names for trying out are a new card each time."""
        name, customer = params.get("payment_method", ""), params.get("customer")
        if name in CARDS:
            face = {"exp_month": 12, "exp_year": NEXT_YEAR, **CARDS[name]}
            return self._new("pm", "payment_method", card=face, customer=None, was_used=False)
        payment_method = self.things.get(name)
        if (
            payment_method is None
            or payment_method["customer"] not in (None, customer)
            or (payment_method["was_used"] and not customer)
        ):
            raise invalid("resource_missing", "payment_method")
        return payment_method

    def _finish(self, intent: Values, trouble: Values | None) -> None:
        method = self.things[intent["payment_method"]]
        if trouble:
            intent |= {"status": "requires_payment_method", "last_payment_error": trouble}
            self._tell("payment_intent.payment_failed", intent)
            return
        method["was_used"] = True
        if intent["setup_future_usage"]:
            method["customer"] = intent["customer"]
        if intent["capture_method"] == "manual":
            intent |= {"status": "requires_capture"}
            self._tell("payment_intent.amount_capturable_updated", intent)
        else:
            intent |= {"status": "succeeded", "amount_received": intent["amount"]}
            self._tell("payment_intent.succeeded", intent)

    def _find(self, _params: Values, intent_id: str) -> Values:
        if intent_id not in self.things:
            raise invalid("resource_missing", "intent")
        return self.things[intent_id]

    def _list_intents(self, params: Values) -> Values:
        window = {name: int(value) for name, value in params.get("created", {}).items()}
        intents = [each for each in self.things.values() if each["object"] == "payment_intent"]
        intents = [each for each in intents if window.get("gte", 0) <= each["created"] <= window.get("lte", 1 << 40)]
        return _page("/v1/payment_intents", intents[::-1], params)

    def _act(self, params: Values, intent_id: str, verb: str) -> Values:
        intent = self._find({}, intent_id)
        may = {"capture": {"requires_capture"}, "cancel": {"requires_capture", "requires_action"}}[verb]
        if intent["status"] not in may:
            raise invalid("payment_intent_unexpected_state")
        intent["metadata"] = {**intent["metadata"], **params.get("metadata", {})}
        if verb == "capture":
            intent |= {"status": "succeeded", "amount_received": int(params["amount_to_capture"])}
        else:
            intent["status"] = "canceled"
        self._tell(f"payment_intent.{intent['status']}", intent)
        return intent

    def _refund(self, params: Values) -> Values:
        intent = self._find({}, params["payment_intent"])
        before = [each for each in self.things.values() if each.get("payment_intent") == intent["id"]]
        left = intent["amount_received"] - sum(each["amount"] for each in before)
        amount = int(params.get("amount", left))
        if not 0 < amount <= left:
            raise invalid("charge_already_refunded" if not left else "amount_too_large", "amount")
        refund = self._new("re", "refund", amount=amount, status="succeeded", metadata=params.get("metadata", {}))
        refund["payment_intent"] = intent["id"]
        self._tell("refund.created", refund)
        return refund

    def _list_refunds(self, params: Values) -> Values:
        of = params["payment_intent"]
        return _page("/v1/refunds", [each for each in self.things.values() if each.get("payment_intent") == of], params)

    def _make_customer(self, params: Values) -> Values:
        return self._new("cus", "customer", metadata=params.get("metadata", {}))

    def _detach(self, _params: Values, method_id: str, verb: str) -> Values:
        assert verb == "detach"
        if not self.things.get(method_id, {}).get("customer"):
            raise invalid("resource_missing", "payment_method")
        self.things[method_id] |= {"customer": None}
        return self.things[method_id]

    def _new(self, prefix: str, kind: str, **fields: Any) -> Values:
        resource = {"id": f"{prefix}_{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), **fields}
        self.things[resource["id"]] = resource
        return resource

    def _tell(self, kind: str, thing: Values) -> None:
        snapshot = json.loads(json.dumps(thing))
        event = {"id": f"evt_{secrets.token_hex(12)}", "object": "event", "type": kind, "data": {"object": snapshot}}
        self.events.append(event)

    def _tell_first(self, event_count: int) -> None:
        for event in self.events[event_count:] if self.tells_to else ():
            body, headers = self.signed(event)
            request = urllib.request.Request(f"{self.tells_to}/payment_notices/stripe", body, headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.status == 204

    # How it is asked.

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
            fault = "shut"
        if fault in _REFUSALS:
            status, kind = _REFUSALS[fault]
            self._reply(request, status, StripeError(status, kind).body)
            return
        params = _nested(parts.query + "&" + body)
        event_count = len(self.events)
        status, answer = self._once(key, request.command, parts.path, params)
        self._tell_first(event_count)
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
            self.asked.append((method, path))
            for place, (begins, how) in enumerate(self.faults):
                if request_line.startswith(begins):
                    del self.faults[place]
                    return how
        return None

    def _once(self, key: str | None, method: str, path: str, params: Values) -> tuple[int, Values]:
        """Under one key, once: again it is the same answer, for another request none."""
        with self._lock:
            request = (method, path, json.dumps(params))
            if method == "POST" and key in self._known:
                before, answer = self._known[key]
                return answer if before == request else (400, StripeError(400, "idempotency_error").body)
            try:
                result = 200, _expanded(self.answer(method, path, params), params, self.things)
            except StripeError as error:
                result = error.status, error.body
            if key:
                self._known[key] = (request, result)
            return result

    @staticmethod
    def _reply(request: BaseHTTPRequestHandler, status: int, body: Values) -> None:
        content = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.send_header("Request-Id", f"req_{secrets.token_hex(7)}")
        request.end_headers()
        # Perhaps nobody waits for it any more.
        with contextlib.suppress(OSError):
            request.wfile.write(content)


_REFUSALS = {
    "fails": (500, "api_error"),
    "busy": (429, "rate_limit_error"),
    "shut": (401, "invalid_request_error"),
}
_KEPT = ("currency", "customer", "capture_method", "setup_future_usage", "description")


def _nested(form: str) -> Values:
    """`metadata[order]=R1` as an object in an object."""
    params: Values = {}
    for name, value in parse_qsl(form, keep_blank_values=True):
        *path, last = re.findall(r"[^\[\]]+", name)
        place = params
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return params


def _expanded(answer: Values, params: Values, things: Mapping[str, Values]) -> Values:
    """With the card in place of its name, where that was asked for; and without what only the stand-in knows."""
    result = json.loads(json.dumps(answer))
    is_asked = any("payment_method" in each for each in params.get("expand", {}).values())
    for each in result["data"] if result["object"] == "list" else [result]:
        if is_asked and each.get("payment_method"):
            each["payment_method"] = json.loads(json.dumps(things[each["payment_method"]]))
    return dict(result)


def _page(url: str, items: list[Values], params: Values) -> Values:
    after = next((place + 1 for place, each in enumerate(items) if each["id"] == params.get("starting_after")), 0)
    size = int(params.get("limit", 10))
    return {"object": "list", "url": url, "data": items[after : after + size], "has_more": len(items) > after + size}


@contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    try:
        yield server
    finally:
        server.stop()
