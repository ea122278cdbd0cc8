"""Sign-in of a shopper with a cart: exchanges the code, then joins the guest's cart with the user's."""

from contextlib import suppress

import msgspec

from shop.actions.access import login
from shop.actions.access import sessions as tokens
from shop.actions.access.sessions import UserTokens
from shop.actions.cart.carts import get_cart, join_carts
from shop.actions.context import Context
from shop.base.crypto.secrets import secret_hash
from shop.base.email import Email
from shop.base.errors import NotFound, ShopError
from shop.models.access.users import User
from shop.models.cart.inputs import Strategy
from shop.models.cart.orders import Order

_STRATEGY: Strategy = "merge"


class CustomerSignIn(msgspec.Struct, frozen=True):
    """A new session, with the user's cart."""

    tokens: UserTokens
    user: User
    cart: Order | None
    keeps_guest_cart: bool = False
    """Whether the guest's cart is still separate, because it is being paid; its order token remains valid."""


async def sign_in(ctx: Context, email: Email, code: str, previous_token: str | None = None) -> CustomerSignIn:
    """Signs in with a code and joins the carts; a failure to join them does not prevent the sign-in.

    `previous_token` is the access token of the session that the new one replaces.
    """
    pair = await login.exchange_code(ctx, email, code)
    # In a context of its own: the code is used, so a conflict from here on must not repeat the exchange.
    user_ctx = ctx.with_new_session()
    user_ctx.claim = msgspec.structs.replace(ctx.claim, bearer=secret_hash(pair.access_token))
    user = (await user_ctx.signed_in()).user
    if previous_token:
        with suppress(ShopError):
            await tokens.end_session_of(ctx.with_new_session(), tokens.USER, previous_token)
    cart, keeps_guest_cart = await user_ctx.db.retrying(_join_guest_cart, user_ctx)
    return CustomerSignIn(pair, user, cart, keeps_guest_cart)


async def _join_guest_cart(ctx: Context) -> tuple[Order | None, bool]:
    """Returns the user's cart, and whether the guest's cart could not be joined with it."""
    claim = ctx.claim
    try:
        if claim.cart_id is not None:
            guest_token = claim.cart_id, claim.token_version
            return (await join_carts(ctx, guest_token, _STRATEGY, dry_run=False)).cart.order, False
    except NotFound:
        # The guest's cart is gone: completed, deleted, or another user's.
        pass
    except ShopError:
        return None, True
    ctx.claim = msgspec.structs.replace(claim, order_token_sent=False, cart_id=None, order_token=None)
    with suppress(ShopError):
        return await get_cart(ctx), False
    return None, False
