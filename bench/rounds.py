"""A run of the benchmark: its directory, servers, rounds and results."""

import random
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from bench.load_test import (
    LoadGenerator,
    Sample,
    Server,
    create_script,
    median,
    median_ratio,
    read_script,
    run_sql,
)
from bench.report import Section, list_figures

SHOP = str(Path(sys.executable).parent / "shop")
KEYS = "k1:" + secrets.token_hex(32)
SAMPLE = 5_000
console = Console()

Samples = dict[str, list[Sample]]


class Bench:
    """A run: its directory, load generator and report."""

    def __init__(self, directory: Path, seconds: int, rounds: int) -> None:
        self.directory, self.seconds, self.rounds = directory, seconds, rounds
        self.wrk = LoadGenerator()
        self.create = create_script(directory)
        self.section = Section("", "")
        """The section that is being measured."""

    def say(self, *lines: str) -> None:
        self.section.lines += lines
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


def load_table(bench: Bench, results: Samples) -> None:
    """Says a row for each load: beside its floor, its target and the previous run. The rows `floor x` are the floors."""
    bench.say(
        "",
        "| | requests/s | floor | of it | target | previous | p50 ms | p99 ms | CPU µs, service | PostgreSQL | statements |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    )
    section = bench.section
    for name, samples in results.items():
        sample, floor = median(samples), find_floor(name, results)
        row = section.rows[name] = {key: round(value, 2) for key, value in msgspec.structs.asdict(sample).items()}
        if floor:
            row["ratio"] = round(median_ratio(samples, floor), 3)
        floor_text = f"{median(floor).per_second:,.0f} | {row['ratio']:.2f}" if floor else " | "
        told = f"{section.describe_target(name)} | {section.describe_previous(name, 'per_second', 'ratio')}"
        figures = (
            f"{sample.p50:.2f} | {sample.p99:.2f} | {sample.cpu:.0f} | {sample.database:.0f} | {sample.statements:.1f}"
        )
        bench.say(f"| {name} | {sample.per_second:,.0f} | {floor_text} | {told} | {figures} |")


def find_floor(name: str, results: Samples) -> list[Sample] | None:
    """Returns the samples of the floor of a row: `shop read, 150 more routes` has `floor read`."""
    words = name.split()
    return None if words[0] == "floor" else results.get(f"floor {words[1].strip(',')}" if len(words) > 1 else name)


def figure_table(bench: Bench, figures: Mapping[str, float]) -> None:
    bench.say(*list_figures(bench.section, figures))
