"""Connects to the first server of a database URL that accepts writes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

CONNECT_SECONDS = 2.0
STAGGER_SECONDS = 0.25

Connect = Callable[[str], Awaitable[Any]]


async def connect_to(
    url: str, *, seconds: float = CONNECT_SECONDS, statement_cache_size: int = 0, **options: Any
) -> Any:
    """Connects to a single server, and rejects a read-only one: a standby may lag, so a revoked token could still be
    valid there. Newer servers report this in the handshake, without another round trip. By default no statement is
    prepared by name: behind PgBouncer, other clients may have prepared another one under the same name.
    """
    options = {"target_session_attrs": "read-write", **options}
    return await asyncpg.connect(url, timeout=seconds, statement_cache_size=statement_cache_size, **options)


class Hosts:
    """The servers of a database URL; the last one that accepted writes is tried first."""

    def __init__(self, url: str) -> None:
        self._urls = split_hosts(url)

    async def connect(self, connect: Connect = connect_to) -> Any:
        """Returns the connection of the first server for which `connect` succeeds. If a server does not answer within
        STAGGER_SECONDS, tries the next one in parallel.
        """
        if len(self._urls) == 1:
            return await connect(self._urls[0])
        remaining = self._urls.copy()
        attempts: dict[asyncio.Future[Any], str] = {}
        try:
            while True:
                if remaining:
                    url = remaining.pop(0)
                    attempts[asyncio.ensure_future(connect(url))] = url
                pause = STAGGER_SECONDS if remaining else None
                completions, _ = await asyncio.wait(attempts, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                for attempt in completions:
                    url = attempts.pop(attempt)
                    if attempt.exception() is None:
                        self._urls = [url, *(other for other in self._urls if other != url)]
                        return attempt.result()
                    if not attempts and not remaining:
                        return attempt.result()  # Raises: no server is left.
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_terminate)
                attempt.cancel()


def _terminate(attempt: "asyncio.Future[Any]") -> None:
    """Closes a connection that was established too late to be used."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().terminate()


def split_hosts(url: str) -> list[str]:
    """Returns one URL for each server in the authority or, for sockets, in the `host` parameter."""
    parts = urlsplit(url)
    account, at, authority = parts.netloc.rpartition("@")
    if authority:
        return [urlunsplit(parts._replace(netloc=f"{account}{at}{host}")) for host in authority.split(",")]
    query = dict(parse_qsl(parts.query))
    hosts, ports = query.get("host", "").split(","), query.get("port", "").split(",")
    if len(hosts) == 1:
        return [url]
    if len(ports) == 1:
        ports *= len(hosts)
    queries = [
        {**query, "host": host, **({"port": port} if port else {})} for host, port in zip(hosts, ports, strict=True)
    ]
    return [f"{url.partition('?')[0]}?{urlencode(each)}" for each in queries]
