"""Payment provider webhooks."""

from shop.actions.context import Context
from shop.actions.extensions.webhooks import store_webhook
from shop.actions.payments.webhooks import handle_webhook
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply


async def receive(request: Request, ctx: Context) -> Reply:
    """Handles a webhook, authenticated by its signature; idempotent."""
    provider_type = request.path_params["provider"]
    if provider_type in ctx.shared.extensions.providers:
        await store_webhook(ctx, provider_type, request.headers, request.body)
    else:
        await handle_webhook(ctx, provider_type, request.headers, request.body)
    return NO_CONTENT
