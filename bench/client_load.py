"""Loads that wrk cannot produce: a fixed number of requests, each of which is prepared before."""

import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import uvloop

from bench.http_client import Connection, send_all
from bench.load_test import LoadGenerator, Sample, Server

Send = Callable[[Connection, Any], Awaitable[Any]]


class ClientLoad:
    """Adds up the costs of several batches of requests; what happens between the batches does not count."""

    def __init__(self, wrk: LoadGenerator, server: Server) -> None:
        self._wrk, self._server = wrk, server
        self._seconds = self._cpu = self._database = 0.0
        self._statements = 0
        self._times: list[float] = []

    def send(self, items: Iterable[Any], send: Send) -> None:
        async def timed(connection: Connection, item: Any) -> None:
            start = time.perf_counter()
            await send(connection, item)
            self._times.append(time.perf_counter() - start)

        worker = self._server.worker
        before, database, statements = worker.cpu_times(), self._wrk.database_cpu(), self._server.count_statements()
        start = time.perf_counter()
        uvloop.run(send_all(self._server.url, items, timed))
        self._seconds += time.perf_counter() - start
        # The log of the last requests is written a few times a second.
        time.sleep(0.3)
        after = worker.cpu_times()
        self._cpu += after.user + after.system - before.user - before.system
        self._database += self._wrk.database_cpu() - database
        self._statements += self._server.count_statements() - statements

    def sample(self) -> Sample:
        count = len(self._times)
        return Sample(
            per_second=count / self._seconds,
            p50=statistics.median(self._times) * 1e3,
            p99=statistics.quantiles(self._times, n=100)[98] * 1e3,
            cpu=self._cpu / count * 1e6,
            database=self._database / count * 1e6,
            statements=self._statements / count,
        )
