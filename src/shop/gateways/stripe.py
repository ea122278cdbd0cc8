"""Payments through Stripe: each is a payment intent, created and confirmed in one call.

    authorise, purchase   an intent with the card from Stripe's form; the intent's id is our reference
    capture               captures the whole amount
    void                  cancels the intent; refunds it in full if it was captured already
    refund                refunds the amount

The call's key is the idempotency key and part of the metadata of the created object. Anything but a definite success
or failure is raised, and settled later by `find` or a webhook.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

import msgspec
import structlog

from shop.base.config.stripe_account import StripeAccount
from shop.base.errors import BadSignature, Unavailable
from shop.gateways.payments import UNKNOWN, Call, PaymentWebhook, Provider, Result
from shop.gateways.stripe_amounts import UnsupportedAmount, stripe_units
from shop.gateways.stripe_mapping import ATTEMPT, CAPTURE, Intent, RefundData, decline, is_source, read_event, to_result

T = TypeVar("T")
_NOT_CONFIGURED = "Card payments are currently unavailable; choose another payment method."
_CHARGE_ERROR = "This card could not be charged; choose another payment method."
_OPERATOR_ERROR = "Stripe rejected the request; see the log and the Stripe dashboard."
_RETRIES = 1
"""Retries by Stripe's library, with the same idempotency key; a retry usually recovers a lost response."""
_SECONDS = 10
_CUSTOMER_SECONDS = 3
_CLOCK_TOLERANCE = 300
"""The maximum clock difference and request delay, in seconds."""
_log = structlog.get_logger("shop.stripe")


@lru_cache(maxsize=1)
def _library() -> Any:
    """Loads Stripe's library on first use: it is a fourth of the shop's size, and most processes never need it."""
    stripe: Any = import_module("stripe")
    # Telemetry would report on this machine and write a file to the home directory.
    stripe.enable_telemetry = False
    return stripe


@lru_cache(maxsize=8)
def _open(account: StripeAccount) -> Any:
    stripe = _library()
    return stripe.StripeClient(
        account.secret_key,
        base_addresses={"api": account.api_base},
        # Of the clients that Stripe's library supports, aiohttp is asynchronous and maintained; httpx is not.
        http_client=stripe.AIOHTTPClient(timeout=import_module("aiohttp").ClientTimeout(total=_SECONDS)),
        max_network_retries=_RETRIES,
    ).v1


class Stripe(Provider):
    """A Stripe account; without keys, charges are declined and lookups of results are postponed."""

    needs_source = True

    def __init__(self, account: StripeAccount | None) -> None:
        self._account = account
        self.is_ready = account is not None
        key = account.publishable_key if account else None
        self.preferences = {"publishable_key": key} if key else {}

    async def execute(self, call: Call) -> Result:
        if self._account is None:
            return Result("declined", None, _NOT_CONFIGURED)
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
        except stripe.CardError as card_error:
            return decline(_error_fields(card_error))
        except (stripe.InvalidRequestError, stripe.AuthenticationError, stripe.PermissionError) as error:
            return await self._handle_request_error(call, error)
        except UnsupportedAmount as error:
            return Result("declined", None, f"{error} Choose another payment method.")

    async def find(self, call: Call) -> Result:
        """Looks up the result by the intent's id if it was stored. After a crash before any response, only
        the key is known: then looks for it in the metadata of intents created around the key's own timestamp. Does not
        use Stripe's search, which may lag by minutes. Does not repeat the request with the same idempotency key: this
        would charge a shopper whose first request never arrived, and charge twice after the key expires in a day.
        """
        if call.act == "refund":
            return await self._find_refund(call)
        intent = await self._find_intent(call)
        if intent is None:
            return UNKNOWN
        if call.act == "void" and intent.status != "canceled":
            return await self._find_refund(call)
        return to_result(intent, call.act)

    def read_webhook(self, headers: Mapping[bytes, bytes], body: bytes) -> PaymentWebhook | None:
        # Verified here: an unauthenticated request must not load Stripe's library.
        if self._account is None:
            raise BadSignature()
        return read_event(headers.get(b"stripe-signature", b""), body, self._account.webhook_secret)

    def source_error(self, reference: str | None) -> str | None:
        return None if is_source(reference) else "must be a Stripe payment method id, like pm_1AbC"

    async def delete_source(self, reference: str) -> None:
        service = await self._service()
        await service.payment_methods.detach_async(reference)

    async def check(self) -> None:
        """Sends a minimal authenticated request; Unavailable if Stripe does not respond or rejects the key."""
        service = await self._service()
        try:
            await service.payment_intents.list_async({"limit": 1})
        except _library().StripeError as error:
            raise Unavailable(type(error).__name__) from None

    async def _service(self) -> Any:
        if self._account is None:
            raise Unavailable("Stripe is not configured.")
        # In a thread: loading the library takes half a second and must not block other requests.
        return await asyncio.to_thread(_open, self._account)

    async def _pay(self, call: Call) -> Result:
        params: dict[str, Any] = {
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
            return await self._create_intent(call, {**params, **_customer_fields(call, customer)}, str(call.key))
        except _library().InvalidRequestError as error:
            if not call.keep_for or error.param != "customer":
                raise
        # Stripe does not know the customer: the keys belong to another account than when the last card was saved.
        new_customer = await self._new_customer(call, f"customer-{call.key}")
        return await self._create_intent(call, {**params, **_customer_fields(call, new_customer)}, f"{call.key}-anew")

    async def _create_intent(self, call: Call, params: Mapping[str, Any], key: str) -> Result:
        service = await self._service()
        intent = await service.payment_intents.create_async(params, {"idempotency_key": key})
        return to_result(_convert(Intent, intent), call.act)

    async def _new_customer(self, call: Call, key: str) -> str | None:
        """Creates a customer with our user id only. If that fails, the payment proceeds but the card is not saved."""
        if call.keep_for is None:
            return None
        service = await self._service()
        try:
            async with asyncio.timeout(_CUSTOMER_SECONDS):
                customer = await service.customers.create_async(
                    {"metadata": {"user": str(call.keep_for)}}, {"idempotency_key": key}
                )
        except (_library().StripeError, TimeoutError) as error:
            _log.warning("card not saved: Stripe created no customer", reason=type(error).__name__)
            return None
        return str(customer.id)

    async def _capture(self, call: Call) -> Result:
        service = await self._service()
        params = {
            "amount_to_capture": stripe_units(call.amount, call.currency),
            "metadata": {CAPTURE: str(call.key)},
        }
        intent = await service.payment_intents.capture_async(call.reference, params, {"idempotency_key": str(call.key)})
        return to_result(_convert(Intent, intent), call.act)

    async def _void(self, call: Call) -> Result:
        service = await self._service()
        try:
            await service.payment_intents.cancel_async(call.reference, {}, {"idempotency_key": f"{call.key}-cancel"})
        except _library().InvalidRequestError as error:
            if error.code != "payment_intent_unexpected_state":
                raise
            # Already captured, so it cannot be canceled: refund it in full, once.
            result = await self.find(call)
            return result if result.outcome == "approved" else await self._create_refund(call, {})
        return Result("approved", call.reference)

    async def _refund(self, call: Call) -> Result:
        return await self._create_refund(call, {"amount": stripe_units(call.amount, call.currency)})

    async def _create_refund(self, call: Call, params: Mapping[str, Any]) -> Result:
        service = await self._service()
        fields = {"payment_intent": call.reference, "metadata": {ATTEMPT: str(call.key)}}
        refund = await service.refunds.create_async({**fields, **params}, {"idempotency_key": str(call.key)})
        return _refund_result(_convert(RefundData, refund), call)

    async def _find_refund(self, call: Call) -> Result:
        service = await self._service()
        page = await service.refunds.list_async({"payment_intent": call.reference, "limit": 100})
        refunds = [_convert(RefundData, each) for each in page.data]
        refund = next((each for each in refunds if each.metadata.get(ATTEMPT) == str(call.key)), None)
        return _refund_result(refund, call) if refund else UNKNOWN

    async def _find_intent(self, call: Call) -> Intent | None:
        service = await self._service()
        if call.reference:
            response = await service.payment_intents.retrieve_async(call.reference, {"expand": ["payment_method"]})
            return _convert(Intent, response)
        made_at = (call.key.int >> 80) // 1000
        window = {"gte": made_at - _CLOCK_TOLERANCE, "lte": made_at + _CLOCK_TOLERANCE}
        page = await service.payment_intents.list_async(
            {"created": window, "limit": 100, "expand": ["data.payment_method"]}
        )
        async for each in page.auto_paging_iter():
            intent = _convert(Intent, each)
            if intent.metadata.get(ATTEMPT) == str(call.key):
                return intent
        return None

    async def _handle_request_error(self, call: Call, error: Any) -> Result:
        """Logs a rejected request and declines. Stripe's message may repeat the request, so it is not reported; the
        shopper is not informed of a problem with our keys.
        """
        if call.reference:
            # It may have succeeded before, with only the response lost.
            result = await self.find(call)
            if result.outcome == "approved":
                return result
        code, field = error.code, getattr(error, "param", None)
        _log.error(
            "Stripe refused a request",
            act=call.act,
            order=call.order_number,
            status=error.http_status,
            code=code,
            field=field,
            request=error.request_id,
        )
        return Result("declined", None, _CHARGE_ERROR if call.act in {"authorise", "purchase"} else _OPERATOR_ERROR)


def _customer_fields(call: Call, customer: str | None) -> Mapping[str, str]:
    """Returns the fields that save a card for a customer, or use a saved one."""
    if customer is None:
        return {}
    return {"customer": customer, **({"setup_future_usage": "on_session"} if call.keep_for else {})}


def _convert(kind: type[T], resource: Any) -> T:
    return msgspec.convert(resource.to_dict(), kind)


def _error_fields(error: Any) -> Mapping[str, Any]:
    body = error.json_body if isinstance(error.json_body, dict) else {}
    return body.get("error") or {}


def _refund_result(refund: RefundData, call: Call) -> Result:
    """Approves a pending refund too: it rarely fails, and a webhook reports it if it does."""
    if refund.status in {"failed", "canceled"}:
        return Result("declined", None, "Stripe could not refund the payment.")
    return Result("approved", call.reference)
