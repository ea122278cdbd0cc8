"""What is counted of requests, in each worker's own memory, and how the workers' numbers are added up for `/metrics`.

The metrics library's own way of sharing numbers between processes writes a memory map at every request; here a worker
leaves a snapshot of its counts in the run directory a few times a second.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import HistogramMetricFamily, Metric

BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LABELS = ("method", "route", "status")


class Series(msgspec.Struct):
    """The requests of one method, route and status: how many fell into each bucket, and their time in all."""

    labels: tuple[str, str, str]
    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


_here: list[Series] = []


class Observer:
    """The series of one route, one for each status that was ever answered."""

    __slots__ = ("_method", "_route", "_series")

    def __init__(self, method: str, route: str) -> None:
        self._method, self._route = method, route
        self._series: dict[int, Series] = {}

    def __call__(self, status: int, seconds: float) -> None:
        series = self._series.get(status)
        if series is None:
            series = self._series[status] = Series((self._method, self._route, str(status)))
            _here.append(series)
        series.counts[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds


def save_snapshot(file: Path, last: bytes = b"") -> bytes:
    """Leaves our numbers for the other workers, unless they are the last ones that were left, and returns them.
    Replaced in one step: a reader sees this snapshot or the one before.
    """
    snapshot = msgspec.json.encode(_here)
    if snapshot != last or not file.exists():
        making = file.with_suffix(".making")
        making.write_bytes(snapshot)
        making.replace(file)
    return snapshot


def exposition(others: Iterable[Path]) -> bytes:
    """The text for Prometheus: our own numbers and the other workers' snapshots. Those of workers that ended count on,
    because a counter never falls.
    """
    sums: dict[tuple[str, str, str], Series] = {}
    for series in chain(_here, *map(_snapshot, others)):
        total = sums.setdefault(series.labels, Series(series.labels))
        total.counts = [one + other for one, other in zip(total.counts, series.counts, strict=True)]
        total.seconds += series.seconds
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Sums(sums.values()))
    return generate_latest(registry)


def _snapshot(file: Path) -> list[Series]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Series])
    except (OSError, msgspec.MsgspecError):
        return []  # Swept away, or cut short by a crash: some numbers are better than none.


class _Sums:
    """The sums as the metrics library collects them."""

    def __init__(self, series: Iterable[Series]) -> None:
        self._series = series

    def collect(self) -> Iterable[Metric]:
        meaning = "Time from a request's head to its answer's last byte."
        family = HistogramMetricFamily("shop_request_seconds", meaning, labels=_LABELS)
        for series in self._series:
            running, buckets = 0, []
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), series.counts, strict=True):
                running += count
                buckets.append((bound, float(running)))
            family.add_metric(series.labels, buckets, series.seconds)
        return [family]
