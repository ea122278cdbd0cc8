"""`make bench BASE=<commit>`: the cost of requests here beside that of another commit, interleaved in one run.

How to read it: bench/README.md.
"""

import argparse
import asyncio
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console

from bench.compare_rows import ROWS, Row, prepare
from bench.load_test import run_sql
from bench.sides import ROOT, Cluster, Cost, Side, check_out

TOLERANCE = 0.03
"""How much worse a row may get, unless base differs more from itself."""
console = Console()
Costs = dict[str, dict[str, list[Cost]]]
"""Costs of every round, by row and side."""


class Verdict(msgspec.Struct, frozen=True):
    """The change of a figure: the median of the rounds' ratios, and the spread of base against itself."""

    change: float
    spread: float

    @property
    def is_worse(self) -> bool:
        return self.change > max(TOLERANCE, self.spread)

    @property
    def word(self) -> str:
        if self.is_worse:
            return "worse"
        if abs(self.change) <= self.spread:
            return "same"
        return "better" if self.change < 0 else "within 3 %"


def compare(base: list[float], again: list[float], here: list[float]) -> Verdict:
    """Compares within each round, because a temporarily slow machine is slow for all sides.

    The spread is the distance from 1 of the interquartile range of the ratios of base against base.
    """
    middle = [(one + other) / 2 for one, other in zip(base, again, strict=True)]
    change = statistics.median(new / old if old else 1 for new, old in zip(here, middle, strict=True)) - 1
    noise = sorted(other / one if one else 1 for one, other in zip(base, again, strict=True))
    low, _, high = statistics.quantiles(noise, n=4, method="inclusive") if len(noise) > 1 else noise * 3
    return Verdict(change, max(abs(low - 1), abs(high - 1)))


def measure(side: Side, cluster: Cluster, row: Row, share: float = 1.0) -> Cost:
    """Runs a row's work repeatedly, as fast as a few connections can."""
    times = max(8, int(row.times * share))
    side.statements()
    try:
        items = asyncio.run(row.prepare(side, times))
        before = side.cpu(), cluster.cpu()
        requests = asyncio.run(row.send(side, items))
    except SystemExit as error:
        sys.exit(f"{error}\n{row.name}, {side.name}; its log ends with:\n{side.last_lines()}")
    after = side.cpu(), cluster.cpu()
    service, database = ((late - early) / times * 1e6 for early, late in zip(before, after, strict=True))
    return Cost(service, database, side.statements_of(requests) / times)


def run_rounds(sides: list[Side], cluster: Cluster, rows: list[Row], rounds: int) -> Costs:
    """Starts new servers in every round, because no two processes are equally fast, and shuffles the jobs."""
    costs: Costs = defaultdict(lambda: defaultdict(list))
    for number in range(rounds):
        chance = random.Random(number)
        for side in sides:
            side.start()
        for row in rows:
            for side in sides:
                measure(side, cluster, row, share=0.2)
        jobs = [(row, side) for row in rows for side in sides]
        chance.shuffle(jobs)
        for row, side in jobs:
            with console.status(f"round {number + 1} of {rounds}: {row.name}, {side.name}"):
                costs[row.name][side.name].append(measure(side, cluster, row))
        for side in sides:
            side.stop()
    return costs


def report(costs: Costs) -> bool:
    """Prints the table; returns whether no row is worse."""
    lines = [
        "| | CPU µs base | here | change | spread | | statements base | here | |",
        "|---|--:|--:|--:|--:|---|--:|--:|---|",
    ]
    is_fine = True
    for name, sides in costs.items():
        cpu, statements = (_verdict(sides, figure) for figure in (lambda cost: cost.cpu, lambda cost: cost.statements))
        is_fine &= not (cpu.is_worse or statements.is_worse)
        base, here = (_medians(sides[side]) for side in ("base", "here"))
        lines.append(
            f"| {name} | {base.cpu:,.0f} ({base.service:,.0f} + {base.database:,.0f}) "
            f"| {here.cpu:,.0f} ({here.service:,.0f} + {here.database:,.0f}) "
            f"| {cpu.change:+.1%} | ±{cpu.spread:.1%} | {cpu.word} "
            f"| {base.statements:.2f} | {here.statements:.2f} | {statements.word} |"
        )
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return is_fine


def _verdict(sides: dict[str, list[Cost]], figure: Callable[[Cost], float]) -> Verdict:
    return compare(*([figure(cost) for cost in sides[name]] for name in ("base", "base again", "here")))


def _medians(costs: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in Cost.__struct_fields__))


def set_up(commit: str, cluster: Cluster, directory: Path) -> list[Side]:
    """Puts base and base again on one database, and here on the same one if the schema is equal."""
    source = check_out(commit, directory)
    base, again, here = (
        Side(name, tree, directory) for name, tree in (("base", source), ("base again", source), ("here", ROOT / "src"))
    )
    databases = {base: cluster.create("base"), here: cluster.create("here")}
    for side, database in databases.items():
        side.use(database)
        side.migrate()
    revisions = [run_sql(url, "select version_num from alembic_version")[0][0] for url in databases.values()]
    again.use(databases[base])
    if revisions[0] == revisions[1]:
        here.use(databases[base])
    else:
        console.print(f"The schemas differ ({' and '.join(revisions)}): each has a database of its own.")
    for side in [base] if revisions[0] == revisions[1] else [base, here]:
        with console.status(f"filling the database of {side.name}"):
            side.fill()
    for side in (base, here):
        with console.status(f"preparing requests for {side.name}"):
            prepare(side)
    again.prepared = base.prepared
    return [base, again, here]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("base", help="the commit to compare with")
    options.add_argument("--rounds", type=int, default=9, help="rounds, of which medians are taken (9)")
    options.add_argument("--only", help="rows whose name contains this")
    args = options.parse_args()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: sys.exit("bench: interrupted"))
    rows = [row for row in ROWS if not args.only or args.only in row.name]
    with tempfile.TemporaryDirectory(prefix="shop-bench-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        cluster = Cluster(directory / "pg")
        try:
            costs = run_rounds(set_up(args.base, cluster, directory), cluster, rows, args.rounds)
        finally:
            cluster.stop()
    here, base = _git("describe", "--always", "--dirty"), _git("rev-parse", "--short", args.base)
    console.print(f"\n{here} compared with {base}, {args.rounds} rounds:\n")
    if not report({row.name: costs[row.name] for row in rows}):
        sys.exit("bench: at least one row is worse by more than 3 % beyond the spread")


def _git(*command: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
