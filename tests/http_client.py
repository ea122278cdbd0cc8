"""HTTP connections that stay open from test to test."""

import ssl

import httpx2

# Tests use plain HTTP. By default a client loads every certificate of the machine, which takes 50 ms.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# A burst of a test arrives at once, however large it is.
ANY_NUMBER = httpx2.Limits(max_connections=None, max_keepalive_connections=100)


# The pool checks every idle connection before each request, which a few of them do not slow down.
_FEW_IDLE = httpx2.Limits(max_connections=None, max_keepalive_connections=4)


class SharedTransport(httpx2.AsyncBaseTransport):
    """A connection pool that the end of a client does not close."""

    def __init__(self) -> None:
        self._transport = httpx2.AsyncHTTPTransport(verify=NO_CERTIFICATES, limits=_FEW_IDLE)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        await self._transport.aclose()
