"""A run of the benchmark: its directory, servers, rounds and results."""

import random
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.load_test import (
    Sample,
    Server,
    create_script,
    load_generator,
    median,
    median_ratio,
    read_script,
    run_sql,
)

SHOP = str(Path(sys.executable).parent / "shop")
KEYS = "k1:" + secrets.token_hex(32)
SAMPLE = 5_000
console = Console()

Samples = dict[str, list[Sample]]


class Bench:
    """A run: its directory, load generator and report."""

    def __init__(self, directory: Path, seconds: int, rounds: int) -> None:
        self.directory, self.seconds, self.rounds = directory, seconds, rounds
        self.wrk = load_generator()
        self.create = create_script(directory)
        self.lines: list[str] = []

    def say(self, *lines: str) -> None:
        self.lines += lines
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    def shop(self, url: str, name: str, **others: str) -> Server:
        environ = {
            **others,
            "SHOP_DATABASE_URL": url,
            "SHOP_SECRET_KEYS": KEYS,
            "SHOP_MAILBOX": "on",
            "SHOP_DRAIN_SECONDS": "0",
            "SHOP_LOG_FORMAT": "json",
        }
        return Server([SHOP, "serve", "--port", "PORT"], self.directory / f"{name}.log", environ).wait()

    def reader(self, url: str, name: str, token: Callable[[Any], str]) -> Path:
        ids = run_sql(url, f"select id from orders order by md5(id::text) limit {SAMPLE}")
        return read_script(self.directory, name, [token(row[0]) for row in ids])

    def interleaved(self, jobs: dict[str, Callable[[], Sample]]) -> Samples:
        """Runs every job once a round, so that other load on the machine affects all alike. Each round has another
        order, so that no job always follows the same one: after many inserts the database stays busy for a while.
        """
        samples: dict[str, list[Sample]] = {name: [] for name in jobs}
        for number in range(self.rounds):
            order = list(jobs)
            random.Random(number).shuffle(order)
            for name, job in ((name, jobs[name]) for name in order):
                with console.status(f"round {number + 1} of {self.rounds}: {name}"):
                    samples[name].append(job())
        return samples


def ratio_table(bench: Bench, results: Samples, minimums: dict[str, str]) -> None:
    bench.say(
        "", "| | requests/s | of the floor | at least | p50 ms | p99 ms | CPU µs |", "|---|--:|--:|--:|--:|--:|--:|"
    )
    for name, samples in results.items():
        verb, sample = name.split()[1].strip(","), median(samples)
        base = results.get(f"floor {verb}")
        ratio = f"{median_ratio(samples, base):.2f}" if base else ""
        least = minimums.get(verb, "") if name.startswith("shop") else ""
        figures = f"{sample.p50:.2f} | {sample.p99:.2f} | {sample.cpu:.0f}"
        bench.say(f"| {name} | {sample.per_second:,.0f} | {ratio} | {least} | {figures} |")
