"""The statements of a shop that has nothing to do."""

import re
import time
from collections.abc import Callable

import psutil

from bench.load_test import Server, run_sql
from bench.rounds import KEYS, SHOP, Bench, console, figure_table

SECONDS = 60
SETTLE_SECONDS = 60
_STATEMENT = re.compile(r"LOG: +(statement|execute [^:]*): (?!BEGIN|COMMIT|ROLLBACK)", re.IGNORECASE)


def idle_table(bench: Bench, make_url: Callable[[str], str]) -> None:
    figures: dict[str, float] = {}
    for workers, name in ((1, ""), (2, ", two workers")):
        url = make_url(f"shop_idle_{workers}")
        run_sql(url, f"alter database shop_idle_{workers} set log_statement = 'all'", "select 1")
        environ = {"SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on", "SHOP_DRAIN_SECONDS": "0"}
        command = [SHOP, "serve", "--port", "PORT", "--workers", str(workers)]
        server = Server(command, bench.directory / f"idle_{workers}.log", environ).wait()
        try:
            with console.status(f"{workers} idle workers"):
                figures |= _measure(bench, server, url, name)
        finally:
            server.stop()
    figure_table(bench, figures)
    bench.say("", f"Counted in the log of PostgreSQL for {SECONDS} s, from {SETTLE_SECONDS} s after the start.")


def _measure(bench: Bench, server: Server, url: str, name: str) -> dict[str, float]:
    log = bench.directory / "pg" / "postgres.log"
    time.sleep(SETTLE_SECONDS)
    start, service, database = log.stat().st_size, _service_cpu(server), bench.wrk.database_cpu()
    time.sleep(SECONDS)
    with log.open() as lines:
        lines.seek(start)
        count = sum(1 for line in lines if _STATEMENT.search(line))
    return {
        f"idle statements a second{name}": count / SECONDS,
        f"idle CPU of the service, ms a second{name}": (_service_cpu(server) - service) / SECONDS * 1e3,
        f"idle CPU of PostgreSQL, ms a second{name}": (bench.wrk.database_cpu() - database) / SECONDS * 1e3,
    }


def _service_cpu(server: Server) -> float:
    times = [each.cpu_times() for each in psutil.Process(server.process.pid).children()]
    return float(sum(each.user + each.system for each in times))
