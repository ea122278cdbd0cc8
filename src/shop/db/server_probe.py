"""Asks each server of a database URL about its role, its clock and its certificate, for `shop doctor`."""

import asyncio
import time
from datetime import datetime
from typing import Any

import asyncpg
import msgspec
from cryptography import x509

from shop.db.hosts import split_hosts

_SECONDS = 5.0
_QUESTION = """select pg_is_in_recovery() as is_standby, extract(epoch from clock_timestamp())::float8 as clock,
    case when pg_is_in_recovery() and pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
        then extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 else 0 end as lag"""


class ServerState(msgspec.Struct, frozen=True):
    """A server that answered, or the kind of error."""

    name: str
    error: str | None = None
    is_standby: bool = False
    lag_seconds: float = 0
    """How far a standby is behind."""
    clock_difference: float = 0
    """Seconds by which its clock is ahead of the clock of this machine."""
    certificate_end: datetime | None = None
    """The end of its certificate; None without TLS."""


async def probe_servers(url: str) -> list[ServerState]:
    """Returns the state of each server, primary or standby."""
    urls = split_hosts(url)
    return list(await asyncio.gather(*(_probe(each, f"server {number}") for number, each in enumerate(urls, 1))))


async def _probe(url: str, name: str) -> ServerState:
    try:
        # A pooler would keep a prepared statement for another client.
        connection = await asyncpg.connect(url, timeout=_SECONDS, statement_cache_size=0)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return ServerState(name, error=type(error).__name__)
    try:
        start = time.time()
        row = await connection.fetchrow(_QUESTION, timeout=_SECONDS)
        middle = (start + time.time()) / 2
        return ServerState(
            name,
            is_standby=row["is_standby"],
            lag_seconds=row["lag"] or 0,
            clock_difference=row["clock"] - middle,
            certificate_end=_find_certificate_end(connection),
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return ServerState(name, error=type(error).__name__)
    finally:
        connection.terminate()


def _find_certificate_end(connection: Any) -> datetime | None:
    # asyncpg has no other way to the TLS session.
    session = connection._transport.get_extra_info("ssl_object")
    document = session.getpeercert(binary_form=True) if session else None
    return x509.load_der_x509_certificate(document).not_valid_after_utc if document else None
