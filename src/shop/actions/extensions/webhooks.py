"""Webhooks of the payment providers of extensions: verified, stored once, and handled after the commit with retries.

request  ->  the extension verifies the signature  ->  stored, answered     the provider need not repeat it
worker   ->  the extension reads the result        ->  settled              repeated with growing pauses
"""

import asyncio
from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from shop.actions.audit import audit
from shop.actions.context import Context, Shared
from shop.actions.extensions.declarations import PaymentProvider, StoredWebhook, VerifiedWebhook, WebhookRequest
from shop.actions.extensions.extension_context import ExtensionContext, background_context
from shop.actions.extensions.isolation import run_isolated
from shop.actions.extensions.listeners import HANDLER_SECONDS, LEASE_SECONDS, PAUSES, describe_error
from shop.actions.installed_extensions import InstalledExtension
from shop.actions.payments.webhooks import apply_webhook
from shop.base.errors import NotFound
from shop.gateways.payments import PaymentWebhook
from shop.models.extensions.webhooks import ExtensionWebhook
from shop.queries.extensions import webhooks as queries

VERIFY_SECONDS = 10
MAX_REFERENCE_LENGTH = 200
MAX_DATA_BYTES = 256 * 1024
_log = structlog.get_logger("shop.extensions")


async def store_webhook(ctx: Context, provider_type: str, headers: Mapping[bytes, bytes], body: bytes) -> None:
    """Stores a webhook that the extension verified; a repetition changes nothing. Raises BadSignature, or NotFound if
    the provider takes no webhooks.
    """
    pair = _find_provider(ctx.shared, provider_type)
    if pair is None or pair[1].verify_webhook is None:
        raise NotFound()
    extension, provider = pair
    request = WebhookRequest(
        headers={name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}, body=body
    )
    work = _verify(ExtensionContext(ctx.with_new_session(), extension), provider, request)
    webhook = await run_isolated(extension.name, f"webhook of {provider_type}", work)
    if webhook is not None:
        await queries.insert_webhook(ctx.db, extension.name, provider_type, webhook.id, webhook.data)
        ctx.shared.work_signals.wake("extension_webhooks")


async def _verify(ctx: ExtensionContext, provider: PaymentProvider, request: WebhookRequest) -> VerifiedWebhook | None:
    assert provider.verify_webhook  # noqa: S101  Checked by the caller.
    async with asyncio.timeout(VERIFY_SECONDS):
        webhook = await provider.verify_webhook(ctx, request)
    if webhook is None:
        return None
    if not 0 < len(webhook.id) <= MAX_REFERENCE_LENGTH or not webhook.id.isprintable():
        raise ValueError(f"the id of a webhook must have 1 to {MAX_REFERENCE_LENGTH} printable characters")
    if len(msgspec.json.encode(webhook.data)) > MAX_DATA_BYTES:
        raise ValueError(f"the data of a webhook must have at most {MAX_DATA_BYTES} bytes")
    return webhook


async def handle_next_webhook(shared: Shared) -> bool:
    """Handles one stored webhook; returns whether there was one."""
    types = [
        each.type
        for extension in shared.extensions.extensions
        for each in extension.declaration.payment_providers
        if each.handle_webhook
    ]
    webhook = await queries.lease_webhook(shared.database.session(), types, LEASE_SECONDS) if types else None
    pair = _find_provider(shared, webhook.provider_type) if webhook else None
    if webhook is None or pair is None:
        return False
    try:
        await _handle(shared, *pair, webhook)
    except Exception as error:
        _log.exception("extension failed", extension=webhook.extension, part=f"webhook of {webhook.provider_type}")
        pause = PAUSES[min(webhook.attempts - 1, len(PAUSES) - 1)]
        line = describe_error(error)
        await queries.record_webhook_failure(shared.database.session(), webhook.id, error=line, pause=pause)
    else:
        await queries.finish_webhook(shared.database.session(), webhook.id)
    return True


async def _handle(
    shared: Shared, extension: InstalledExtension, provider: PaymentProvider, webhook: ExtensionWebhook
) -> None:
    assert provider.handle_webhook  # noqa: S101  Only webhooks of such providers are leased.
    stored_webhook = StoredWebhook(id=webhook.reference, data=webhook.data, received_at=webhook.created_at)
    async with asyncio.timeout(HANDLER_SECONDS):
        outcome = await provider.handle_webhook(background_context(shared, extension), stored_webhook)
    if outcome is not None:
        await apply_webhook(
            Context(shared), webhook.provider_type, PaymentWebhook(webhook.reference, outcome.key, outcome.result)
        )


async def retry_webhook(ctx: Context, webhook_id: UUID) -> bool:
    """Repeats a webhook that failed without waiting for the end of the pause; returns False if it was handled."""
    async with ctx.db.transaction():
        webhook = await queries.retry_webhook(ctx.db, webhook_id)
        if webhook is None:
            return False
        detail = {"extension": webhook.extension, "provider": webhook.provider_type, "webhook": webhook.reference}
        await audit(ctx, "extension_webhook_retried", "done", subject_id=webhook.id, detail=detail)
        ctx.wake("extension_webhooks")
    return True


def _find_provider(shared: Shared, provider_type: str) -> tuple[InstalledExtension, PaymentProvider] | None:
    for extension in shared.extensions.extensions:
        for provider in extension.declaration.payment_providers:
            if provider.type == provider_type:
                return extension, provider
    return None
