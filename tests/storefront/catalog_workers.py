"""Processes of the service with caches of their own, which a test asks directly."""

import httpx2

from shop.actions.context import FRAGMENT_BYTES, MATCH_BYTES, Context, Shared
from shop.app.routes import all_routes
from shop.base.caches.response_cache import ResponseCache
from shop.base.caches.sized_cache import SizedCache
from shop.storefront.product_fragments import Fragment
from shop.web.endpoint import EndpointContext
from shop.web.router import Router
from tests.http_client import NO_CERTIFICATES

PATH = "/api/v2/storefront/products"


class Worker:
    """The application with caches of its own, like one of several processes."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        router = Router(EndpointContext(ctx.shared), all_routes((), lambda: ctx.shared))
        self._client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(router), base_url="http://shop", verify=NO_CERTIFICATES
        )

    @property
    def shared(self) -> Shared:
        return self.ctx.shared

    async def get(self, params: dict[str, str], *, slug: str = "", **headers: str) -> bytes:
        """Returns a list of products, or the product with this slug."""
        answer = await self._client.get(f"{PATH}/{slug}" if slug else PATH, params=params, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.content

    def forget(self) -> None:
        self.shared.fragments, self.shared.response_cache = SizedCache(FRAGMENT_BYTES), ResponseCache()
        self.shared.matches = SizedCache(MATCH_BYTES)

    @property
    def fragments(self) -> list[Fragment]:
        values = [value for value, _ in self.shared.fragments._entries.values()]
        return [value for value in values if isinstance(value, Fragment)]
