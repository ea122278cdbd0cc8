"""The token endpoints of machines; today the end of a token, with the token in the body (RFC 7009)."""

from shop.actions import login
from shop.actions.context import Context
from shop.base.errors import Malformed
from shop.web.reply import Nothing, Reply, json_reply
from shop.web.request import Request


async def revoke(request: Request, ctx: Context) -> Reply:
    token = request.params.get("token") if not request.query_string else None
    if not isinstance(token, str) or not token:
        raise Malformed("Send the token in the body as `token`.")
    await login.end_session_of(ctx, token)
    return json_reply(Nothing())
