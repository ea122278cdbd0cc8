"""What providers of payments tell by themselves."""

from shop.actions.context import Context
from shop.actions.payments.webhooks import take_notice
from shop.web.reply import NO_CONTENT, Reply
from shop.web.request import Request


async def take(request: Request, ctx: Context) -> Reply:
    """The signature is the credential; what was heard before is heard again without harm."""
    await take_notice(ctx, request.path_params["provider"], request.headers, request.body)
    return NO_CONTENT
