"""Payment provider webhooks."""

from shop.actions.context import Context
from shop.actions.payments.webhooks import handle_webhook
from shop.web.input.request import Request
from shop.web.reply import NO_CONTENT, Reply


async def receive(request: Request, ctx: Context) -> Reply:
    """Handles a webhook, authenticated by its signature; idempotent."""
    await handle_webhook(ctx, request.path_params["provider"], request.headers, request.body)
    return NO_CONTENT
