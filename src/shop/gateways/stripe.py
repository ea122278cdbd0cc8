"""How Stripe takes the money: a payment is one of their payment intents, made and confirmed in one call.

    authorise, purchase   an intent with the card that Stripe's own form gave the client; its id is our reference
    capture               of the whole amount
    void                  the intent is canceled; where it was captured already, everything is given back
    refund                so much of it is given back

Our key is their idempotency key and stands in the metadata of what it made. Whatever is no clear yes or no is raised,
and settled later by `find` or by their notice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

import msgspec
import structlog

from shop.base.errors import BadSignature, Unavailable
from shop.base.stripe_account import StripeAccount
from shop.gateways.payments import UNKNOWN, Call, Notice, Provider, Result
from shop.gateways.stripe_amounts import AmountRefused, stripe_units
from shop.gateways.stripe_words import ATTEMPT, CAPTURE, Intent, Refund, came_of, decline, is_source, read_event

T = TypeVar("T")
_CLOSED = "Cards cannot be charged here right now; choose another way to pay."
_REFUSED = "This card could not be charged; choose another way to pay."
_REFUSED_DESK = "Stripe refused this; the log says which field, and Stripe's own dashboard why."
_RETRIES = 1
"""By their library, under the same idempotency key: an answer that was lost on the way is mostly had at once."""
_SECONDS = 10
_CUSTOMER_SECONDS = 3
_AROUND = 300
"""How far their clock and ours may be apart, and how long a request may lie somewhere, in seconds."""
_log = structlog.get_logger("shop.stripe")


@lru_cache(maxsize=1)
def _library() -> Any:
    """Loaded when somebody first pays: it is as large as a fourth of the shop, and most processes never need it."""
    stripe: Any = import_module("stripe")
    # It would tell them of this machine, and leave a file in its owner's home.
    stripe.enable_telemetry = False
    return stripe


@lru_cache(maxsize=8)
def _open(account: StripeAccount) -> Any:
    stripe = _library()
    return stripe.StripeClient(
        account.secret_key,
        base_addresses={"api": account.api_base},
        http_client=stripe.HTTPXClient(timeout=_SECONDS),
        max_network_retries=_RETRIES,
    ).v1


class Stripe(Provider):
    """An account at Stripe; without one nobody is charged, and what is still to be found out waits."""

    needs_source = True

    def __init__(self, account: StripeAccount | None) -> None:
        self._account = account
        self.is_ready = account is not None
        key = account.publishable_key if account else None
        self.preferences = {"publishable_key": key} if key else {}

    async def do(self, call: Call) -> Result:
        if self._account is None:
            return Result("declined", None, _CLOSED)
        acts: Mapping[str, Callable[[Call], Awaitable[Result]]] = {
            "authorise": self._pay,
            "purchase": self._pay,
            "capture": self._capture,
            "void": self._void,
            "refund": self._refund,
        }
        await self._service()
        stripe = _library()
        try:
            return await acts[call.act](call)
        except stripe.CardError as declined:
            return decline(_said(declined))
        except (stripe.InvalidRequestError, stripe.AuthenticationError, stripe.PermissionError) as refused:
            return await self._refused(call, refused)
        except AmountRefused as why:
            return Result("declined", None, f"{why} Choose another way to pay.")

    async def find(self, call: Call) -> Result:
        """By its id where that was noted. After a crash before any answer there is only our key: then by the metadata
        of the intents that were made around the time that the key itself tells. Not by their search, which may know of
        an intent only minutes later; nor by making it again under the same idempotency key, which would charge a
        shopper whose first request never arrived, and charge them twice once Stripe has forgotten the key, after a day.
        """
        if call.act == "refund":
            return await self._given_back(call)
        intent = await self._find_intent(call)
        if intent is None:
            return UNKNOWN
        if call.act == "void" and intent.status != "canceled":
            return await self._given_back(call)
        return came_of(intent, call.act)

    def read_notice(self, headers: Mapping[bytes, bytes], body: bytes) -> Notice | None:
        # By ourselves: for a stranger's request their library is not loaded.
        if self._account is None:
            raise BadSignature()
        return read_event(headers.get(b"stripe-signature", b""), body, self._account.webhook_secret)

    def source_error(self, reference: str | None) -> str | None:
        return None if is_source(reference) else "must be what Stripe's form gave, like pm_1AbC"

    async def forget(self, reference: str) -> None:
        service = await self._service()
        await service.payment_methods.detach_async(reference)

    async def check(self) -> None:
        """Asks for as little as there is, with the key; Unavailable when they do not answer, or not to it."""
        service = await self._service()
        try:
            await service.payment_intents.list_async({"limit": 1})
        except _library().StripeError as error:
            raise Unavailable(type(error).__name__) from None

    async def _service(self) -> Any:
        if self._account is None:
            raise Unavailable("Stripe has no keys.")
        # To load it holds up whoever loads it for half a second, and nobody else.
        return await asyncio.to_thread(_open, self._account)

    async def _pay(self, call: Call) -> Result:
        wishes: dict[str, Any] = {
            "amount": stripe_units(call.amount, call.currency),
            "currency": call.currency.lower(),
            "payment_method": call.source,
            "payment_method_types": ["card"],
            "capture_method": "automatic" if call.act == "purchase" else "manual",
            "confirm": True,
            "use_stripe_sdk": True,
            "description": f"Order {call.order_number}",
            "metadata": {ATTEMPT: str(call.key), "order": call.order_number},
            "expand": ["payment_method"],
        }
        customer = call.customer or await self._new_customer(call, f"customer-{call.keep_for}")
        try:
            return await self._make(call, {**wishes, **_kept(call, customer)}, str(call.key))
        except _library().InvalidRequestError as refused:
            if not call.keep_for or refused.param != "customer":
                raise
        # They do not know the customer: the keys are of another account than when their last card was kept.
        anew = await self._new_customer(call, f"customer-{call.key}")
        return await self._make(call, {**wishes, **_kept(call, anew)}, f"{call.key}-anew")

    async def _make(self, call: Call, wishes: Mapping[str, Any], key: str) -> Result:
        service = await self._service()
        made = await service.payment_intents.create_async(wishes, {"idempotency_key": key})
        return came_of(_as(Intent, made), call.act)

    async def _new_customer(self, call: Call, key: str) -> str | None:
        """Under a name that means nothing to them. Whoever cannot be made one pays all the same; the card is then not
        kept.
        """
        if call.keep_for is None:
            return None
        service = await self._service()
        try:
            async with asyncio.timeout(_CUSTOMER_SECONDS):
                made = await service.customers.create_async(
                    {"metadata": {"user": str(call.keep_for)}}, {"idempotency_key": key}
                )
        except (_library().StripeError, TimeoutError) as error:
            _log.warning("a card is not kept: Stripe made no customer", reason=type(error).__name__)
            return None
        return str(made.id)

    async def _capture(self, call: Call) -> Result:
        service = await self._service()
        wishes = {
            "amount_to_capture": stripe_units(call.amount, call.currency),
            "metadata": {CAPTURE: str(call.key)},
        }
        done = await service.payment_intents.capture_async(call.reference, wishes, {"idempotency_key": str(call.key)})
        return came_of(_as(Intent, done), call.act)

    async def _void(self, call: Call) -> Result:
        service = await self._service()
        try:
            await service.payment_intents.cancel_async(call.reference, {}, {"idempotency_key": f"{call.key}-cancel"})
        except _library().InvalidRequestError as refused:
            if refused.code != "payment_intent_unexpected_state":
                raise
            # It was captured: what cannot be canceled any more is given back, all of it, and once.
            found = await self.find(call)
            return found if found.outcome == "approved" else await self._give_back(call, {})
        return Result("approved", call.reference)

    async def _refund(self, call: Call) -> Result:
        return await self._give_back(call, {"amount": stripe_units(call.amount, call.currency)})

    async def _give_back(self, call: Call, wishes: Mapping[str, Any]) -> Result:
        service = await self._service()
        named = {"payment_intent": call.reference, "metadata": {ATTEMPT: str(call.key)}}
        done = await service.refunds.create_async({**named, **wishes}, {"idempotency_key": str(call.key)})
        return _refunded(_as(Refund, done), call)

    async def _given_back(self, call: Call) -> Result:
        service = await self._service()
        found = await service.refunds.list_async({"payment_intent": call.reference, "limit": 100})
        refunds = [_as(Refund, each) for each in found.data]
        ours = next((each for each in refunds if each.metadata.get(ATTEMPT) == str(call.key)), None)
        return _refunded(ours, call) if ours else UNKNOWN

    async def _find_intent(self, call: Call) -> Intent | None:
        service = await self._service()
        if call.reference:
            known = await service.payment_intents.retrieve_async(call.reference, {"expand": ["payment_method"]})
            return _as(Intent, known)
        made_at = (call.key.int >> 80) // 1000
        window = {"gte": made_at - _AROUND, "lte": made_at + _AROUND}
        page = await service.payment_intents.list_async(
            {"created": window, "limit": 100, "expand": ["data.payment_method"]}
        )
        async for each in page.auto_paging_iter():
            intent = _as(Intent, each)
            if intent.metadata.get(ATTEMPT) == str(call.key):
                return intent
        return None

    async def _refused(self, call: Call, refused: Any) -> Result:
        """Their sentence may repeat what was sent, so it is not told; nor is the shopper told of our keys."""
        if call.reference:
            # Done before, perhaps, and only the answer was lost.
            found = await self.find(call)
            if found.outcome == "approved":
                return found
        code, field = refused.code, getattr(refused, "param", None)
        _log.error(
            "Stripe refused a request",
            act=call.act,
            order=call.order_number,
            status=refused.http_status,
            code=code,
            field=field,
            request=refused.request_id,
        )
        return Result("declined", None, _REFUSED if call.act in {"authorise", "purchase"} else _REFUSED_DESK)


def _kept(call: Call, customer: str | None) -> Mapping[str, str]:
    """What makes Stripe keep a card for a customer, or take one that it keeps."""
    if customer is None:
        return {}
    return {"customer": customer, **({"setup_future_usage": "on_session"} if call.keep_for else {})}


def _as(kind: type[T], told: Any) -> T:
    return msgspec.convert(told.to_dict(), kind)


def _said(error: Any) -> Mapping[str, Any]:
    body = error.json_body if isinstance(error.json_body, dict) else {}
    return body.get("error") or {}


def _refunded(refund: Refund, call: Call) -> Result:
    """One that is on its way is theirs to bring; it hardly ever fails, and is told of when it does."""
    if refund.status in {"failed", "canceled"}:
        return Result("declined", None, "Stripe could not give the money back.")
    return Result("approved", call.reference)
