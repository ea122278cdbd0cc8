"""Tools of the benchmark: server processes, a load generator, databases of a given size."""

import asyncio
import atexit
import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import psutil

from shop.base.errors import CannotStart

PATH = "/api/v2/storefront/cart"
CONNECTIONS = 16


class Sample(msgspec.Struct, frozen=True):
    """One round of load."""

    per_second: float
    p50: float
    p99: float
    cpu: float
    """CPU microseconds of the serving process per request."""
    database: float
    """CPU microseconds of all PostgreSQL processes per request."""
    statements: float
    """Statements per request, without BEGIN and COMMIT."""


class LoadGenerator:
    """wrk, and the PostgreSQL server whose CPU time counts."""

    def __init__(self) -> None:
        self.command = find_wrk()
        self.postmaster: psutil.Process | None = None

    def database_cpu(self) -> float:
        """Returns the CPU seconds of PostgreSQL; processes that have ended count with the postmaster."""
        if self.postmaster is None:
            return 0.0
        own = self.postmaster.cpu_times()
        seconds = own.user + own.system + own.children_user + own.children_system
        for child in self.postmaster.children():
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            seconds += times.user + times.system
        return float(seconds)


def median(samples: list[Sample]) -> Sample:
    columns = [[getattr(sample, name) for sample in samples] for name in Sample.__struct_fields__]
    return Sample(*(statistics.median(column) for column in columns))


def median_ratio(these: list[Sample], others: list[Sample]) -> float:
    """Returns the median over rounds of the ratio of requests per second, computed within each round, because a
    temporarily slow machine is slow for both.
    """
    return statistics.median(one.per_second / other.per_second for one, other in zip(these, others, strict=True))


_STATEMENT_COUNTS = re.compile(rb'"statements":(\d+)')
_FAILURE = re.compile(r'"status": ?[45]|"level": ?"error"')


class Server:
    """A server process on a free port; `worker` is the process that handles requests."""

    def __init__(self, command: list[str], log: Path, environ: dict[str, str] | None = None, port: int = 0) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        base_environ = {name: value for name, value in os.environ.items() if not name.startswith("SHOP_")}
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [part.replace("PORT", str(self.port)) for part in command],
                env={**base_environ, **(environ or {})},
                stdout=out,
                stderr=out,
            )
        self._psutil = psutil.Process(self.process.pid)
        self._read = self._statements = 0
        # An interrupted run leaves no server behind.
        atexit.register(self._end)

    def wait(self, path: str = "/readyz", seconds: float = 180) -> "Server":
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.url + path, timeout=1):
                    return self
            except urllib.error.HTTPError as answer:
                if answer.code != 503:
                    return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self.process.poll() is not None:
                    raise CannotStart("a server of the benchmark ended before it was ready") from None
                time.sleep(0.01)
        raise CannotStart("a server of the benchmark did not become ready")

    @property
    def worker(self) -> psutil.Process:
        return max(self._psutil.children(), key=lambda child: child.memory_info().rss)

    def count_statements(self) -> int:
        """Returns the statements so far: the floor counts them, and the shop logs them with each request."""
        with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(f"{self.url}/statements") as answer:
            return int(answer.read())
        with self.log.open("rb") as log:
            log.seek(self._read)
            # The last line may be incomplete.
            lines, end, _ = log.read().rpartition(b"\n")
        self._read += len(lines + end)
        self._statements += sum(int(count) for count in _STATEMENT_COUNTS.findall(lines))
        return self._statements

    def _end(self) -> None:
        if self.process.poll() is None:
            self.stop()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_wrk() -> str:
    """Returns the path of wrk, installed as a Debian package if necessary."""
    path = shutil.which("wrk")
    if not path and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], check=False, capture_output=True)
        path = shutil.which("wrk")
    if not path:
        sys.exit("bench: the load generator wrk is needed; install the package wrk")
    return path


def load(
    wrk: LoadGenerator,
    server: Server,
    seconds: int,
    script: Path | None = None,
    path: str = PATH,
    *,
    connections: int = CONNECTIONS,
) -> Sample:
    worker = server.worker
    before, database, statements = worker.cpu_times(), wrk.database_cpu(), server.count_statements()
    command = [wrk.command, "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", server.url + path]
    out = subprocess.run(
        [*command, *(["-s", str(script)] if script else [])], capture_output=True, text=True, check=True
    ).stdout
    after = worker.cpu_times()
    if "Non-2xx" in out:
        failures = [line for line in server.log.read_text().splitlines() if _FAILURE.search(line)]
        sys.exit("\n".join(["bench: errors under load:", out, *failures[-20:]]))
    requests = int(_search(r"(\d+) requests in", out))
    return Sample(
        per_second=float(_search(r"Requests/sec:\s+([\d.]+)", out)),
        p50=_milliseconds("50%", out),
        p99=_milliseconds("99%", out),
        cpu=(after.user + after.system - before.user - before.system) / requests * 1e6,
        database=(wrk.database_cpu() - database) / requests * 1e6,
        statements=(server.count_statements() - statements) / requests,
    )


def _search(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"bench: the load generator said:\n{text}")
    return match[1]


def _milliseconds(row: str, text: str) -> float:
    match = re.search(rf"{row}\s+([\d.]+)(us|ms|s)", text)
    if match is None:
        sys.exit(f"bench: the load generator said:\n{text}")
    return float(match[1]) * {"us": 0.001, "ms": 1, "s": 1000}[match[2]]


def create_script(directory: Path) -> Path:
    script = directory / "create.lua"
    script.write_text('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/vnd.api+json"\n')
    return script


def counted_script(directory: Path) -> Path:
    """Sends each request from another source in X-Forwarded-For, so that the rate limiter counts it."""
    script = directory / "counted.lua"
    script.write_text(
        'wrk.method = "POST"\nlocal function part() return math.random(0, 255) end\n'
        "request = function()\n"
        '  wrk.headers["X-Forwarded-For"] = "10." .. part() .. "." .. part() .. "." .. part()\n'
        "  return wrk.format()\nend\n"
    )
    return script


def read_script(directory: Path, name: str, tokens: list[str]) -> Path:
    """Returns a script in which each request reads another cart, so that no cache distorts the result."""
    listing = directory / f"{name}.txt"
    listing.write_text("\n".join(tokens))
    script = directory / f"{name}.lua"
    script.write_text(f"""
local tokens, at = {{}}, 0
for line in io.lines("{listing}") do tokens[#tokens + 1] = line end
request = function()
  at = at % #tokens + 1
  wrk.headers["X-Shop-Order-Token"] = tokens[at]
  return wrk.format()
end
""")
    return script


def body_script(directory: Path, name: str, bodies: list[str], *, again: bool = False) -> Path:
    """Returns a script in which each request posts the next body; `again` starts over after the last."""
    step = "at = at % #bodies + 1" if again else "at = at + 1"
    listing = directory / f"{name}.txt"
    listing.write_text("\n".join(bodies))
    script = directory / f"{name}.lua"
    script.write_text(f"""
local bodies, at = {{}}, 0
for line in io.lines("{listing}") do bodies[#bodies + 1] = line end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  {step}
  return wrk.format(nil, nil, nil, bodies[at])
end
""")
    return script


def uncached_script(directory: Path, token: str | None = None) -> Path:
    """Requests the URL with a different unused parameter each time, so that no response is cached."""
    file = directory / f"fresh{'_priced' if token else ''}.lua"
    bearer = f'wrk.headers["Authorization"] = "Bearer {token}"\n' if token else ""
    file.write_text(
        bearer + 'local n, run = 0, os.time() .. "." .. math.floor(os.clock() * 1000000) .. "."\n'
        'request = function()\n  n = n + 1\n  return wrk.format("GET", wrk.path .. "&n=" .. run .. n)\nend\n'
    )
    return file


def slug_script(directory: Path, slugs: list[str], *, is_fresh: bool) -> Path:
    """Requests another product each time; if `is_fresh`, with an unused parameter, so that no response is cached."""
    listing = directory / f"slugs_{len(slugs)}.txt"
    listing.write_text("\n".join(slugs))
    file = directory / f"slugs_{len(slugs)}{'_fresh' if is_fresh else ''}.lua"
    parameter = ' .. "?n=" .. run .. n' if is_fresh else ""
    file.write_text(f"""
local slugs, n, run = {{}}, 0, os.time() .. "." .. math.floor(os.clock() * 1000000) .. "."
for line in io.lines("{listing}") do slugs[#slugs + 1] = line end
request = function()
  n = n + 1
  return wrk.format("GET", (wrk.path:gsub("[^/]+$", slugs[n % #slugs + 1])){parameter})
end
""")
    return file


def pages_script(directory: Path, pages: int) -> Path:
    """Requests another page of a list each time."""
    file = directory / "pages.lua"
    file.write_text(f"""
local n = 0
request = function()
  n = n % {pages} + 1
  return wrk.format("GET", wrk.path .. "&page=" .. n)
end
""")
    return file


def bearer_script(directory: Path, name: str, tokens: list[str]) -> Path:
    script = read_script(directory, name, tokens)
    script.write_text(script.read_text().replace('"X-Shop-Order-Token"] = ', '"Authorization"] = "Bearer " .. '))
    return script


def run_sql(url: str, *statements: str) -> Any:
    """Runs the statements; returns the rows of the last one."""

    async def run() -> Any:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetch(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(run())


def fill_once(url: str, fill_database: Callable[[], object]) -> bool:
    """Fills a database, unless an earlier run in the same directory has filled it; returns whether it did."""
    if run_sql(url, "select to_regclass('bench_filled')")[0][0] is not None:
        return False
    fill_database()
    run_sql(url, "create table bench_filled ()", "vacuum analyze", "checkpoint", "select 1")
    return True


def fill(url: str, carts: int) -> None:
    """Inserts carts as the shop would have created them over 29 days, in the order of their ids; older ones would be
    deleted as idle.
    """
    run_sql(
        url,
        f"""insert into orders (id, number, currency, created_at, updated_at)
            select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
                    || '8' || substr(md5(n::text), 4, 15))::uuid,
                   'R' || lpad((n::bigint * 7919 % 999999937)::text, 9, '0'), 'USD', at, at
            from (select n, now() - interval '29 days' * (1 - n / {carts}.0) as at from generate_series(1, {carts}) n) made""",
        "vacuum analyze orders",
        "checkpoint",
        "select 1",
    )
