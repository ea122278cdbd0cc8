"""The cart's endpoints."""

from shop.actions import cart
from shop.actions.context import Context
from shop.base.loaded import Loaded
from shop.jsonapi.document import Drawing, document
from shop.jsonapi.query import read_document_query
from shop.jsonapi.resource import Scene
from shop.models.orders import Order
from shop.storefront.resources.sales import CART, NOTHING_YET, RESOURCES, Viewer
from shop.web.reply import NO_CONTENT, Reply, document_reply
from shop.web.request import Request


async def create(request: Request, ctx: Context) -> Reply:
    drawing = _drawing(request, ctx)
    currency = request.params.get("currency")
    order = await cart.open_cart(ctx, currency.upper() if isinstance(currency, str) else None)
    return document_reply(_document(order, drawing), 201)


async def show(request: Request, ctx: Context) -> Reply:
    drawing = _drawing(request, ctx)
    return document_reply(_document(await cart.get_cart(ctx), drawing))


async def destroy(_request: Request, ctx: Context) -> Reply:
    await cart.abandon_cart(ctx)
    return NO_CONTENT


def _drawing(request: Request, ctx: Context) -> Drawing:
    """Read before the work: a wish that cannot be met must not leave a cart behind."""
    query = read_document_query(request.params, CART, RESOURCES)
    return Drawing(RESOURCES, Scene(ctx.shared.shop.default_locale, Viewer(ctx.shared.keys, ctx.claim)), query)


def _document(order: Order, drawing: Drawing) -> bytes:
    return document(CART, Loaded(order, NOTHING_YET), drawing)
