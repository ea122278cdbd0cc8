"""Resolves host names for `safe_http.py`, and refuses a name with an address to which the shop must not connect.

The HTTP library asks the resolver once for each connection and connects only to the addresses of the answer. It
therefore does not matter if a later answer of the name server differs.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host name; OSError if there are none."""
AddressError = Callable[[IPv4Address | IPv6Address], str | None]
"""Returns why the shop must not connect to an address; None if it can."""
_THREADS = 16
_RECEIVE_BUFFER = 64 * 1024


class AddressRefusal(OSError):
    """The reason why a host has no address to which the shop can connect, as a sentence for operators."""


class ThreadLookup:
    """Asks the operating system, in threads of its own.

    A lookup cannot be interrupted, and some name servers never answer. With the threads of the event loop, a few such
    names would block all other lookups. Here each name blocks one thread at most: a second lookup waits for the first.
    """

    def __init__(self, look_up: Callable[[str], list[str]] | None = None) -> None:
        self._look_up = look_up or _look_up
        self._threads = ThreadPoolExecutor(_THREADS, "lookup")
        self._pending: dict[str, asyncio.Future[list[str]]] = {}

    async def __call__(self, host: str) -> Sequence[str]:
        future = self._pending.get(host)
        if future is None:
            future = asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, host)
            self._pending[host] = future
            future.add_done_callback(lambda done: self._finish(host, done))
        return await asyncio.shield(future)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _finish(self, host: str, future: asyncio.Future[list[str]]) -> None:
        del self._pending[host]
        # Marks an error as handled, if every caller has timed out.
        _ = future.cancelled() or future.exception()


def _look_up(host: str) -> list[str]:
    results = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(result[4][0]) for result in results))


class CheckedResolver:
    """The resolver and the socket factory of an aiohttp connector."""

    def __init__(self, lookup: Lookup, address_error: AddressError, seconds: float) -> None:
        self._lookup = lookup
        self._address_error = address_error
        self._seconds = seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[dict[str, Any]]:
        """Returns the addresses of a name; AddressRefusal unless all of them are allowed."""
        addresses = await self._find_addresses(host)
        for address in addresses:
            self._check(address)
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": socket.IPPROTO_TCP,
                "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            }
            for address in addresses
        ]

    def new_socket(self, address_info: tuple[Any, ...]) -> socket.socket:
        """Opens the socket of a connection. Checks its address too: an address in a URL is not resolved."""
        family, kind, protocol, _, target = address_info
        self._check(target[0])
        connection = socket.socket(family, kind, protocol)
        # Without it, the kernel takes megabytes of a response of which only the first bytes are read.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        return connection

    async def close(self) -> None:
        """Part of the interface of a resolver."""

    async def _find_addresses(self, host: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(self._seconds):
                addresses = await self._lookup(host)
        except TimeoutError:
            raise AddressRefusal(f"The host name was not resolved within {self._seconds:g} s.") from None
        except (OSError, UnicodeError):
            addresses = []
        if not addresses:
            raise AddressRefusal("The host name cannot be resolved.")
        return addresses

    def _check(self, address: str) -> None:
        try:
            error = self._address_error(ip_address(address))
        except ValueError:
            error = "The address is invalid."
        if error:
            raise AddressRefusal(error)
