"""Request metrics: counted in each worker's memory. `site/metrics_text.py` sums them over all workers for `/metrics`.

The multiprocess mode of prometheus_client writes a memory map on every request; here each worker saves a snapshot of
its counters in the run directory a few times a second.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from shop.db.connections import WaitStatistics

BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Series(msgspec.Struct):
    """The histogram of one method, route and status: the count of each bucket and the total time."""

    labels: tuple[str, str, str]
    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


class Snapshot(msgspec.Struct):
    """The metrics of one worker."""

    series: list[Series] = []  # msgspec copies the default.
    deprecated: list[tuple[str, str, str, int]] = []
    """Requests to deprecated features: method, route, caller, count."""
    waits: WaitStatistics = msgspec.field(default_factory=WaitStatistics)


_local_series: list[Series] = []
_deprecated_calls: Counter[tuple[str, str, str]] = Counter()


def count_deprecated(method: str, route: str, caller: str) -> None:
    _deprecated_calls[method, route, caller] += 1


def _local_snapshot(waits: WaitStatistics) -> Snapshot:
    return Snapshot(_local_series, [(*labels, count) for labels, count in _deprecated_calls.items()], waits)


class Observer:
    """Observes the requests of one route, with one series for each status."""

    __slots__ = ("_method", "_route", "_series")

    def __init__(self, method: str, route: str) -> None:
        self._method, self._route = method, route
        self._series: dict[int, Series] = {}

    def __call__(self, status: int, seconds: float) -> None:
        series = self._series.get(status)
        if series is None:
            series = self._series[status] = Series((self._method, self._route, str(status)))
            _local_series.append(series)
        series.counts[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds


def save_snapshot(file: Path, waits: WaitStatistics, last: bytes = b"") -> bytes:
    """Saves this worker's snapshot for the other workers if it changed, and returns it. The file is replaced
    atomically: a reader sees this snapshot or the previous one.
    """
    snapshot = msgspec.json.encode(_local_snapshot(waits))
    if snapshot != last or not file.exists():
        temporary = file.with_suffix(".making")
        temporary.write_bytes(snapshot)
        temporary.replace(file)
    return snapshot


def list_snapshots(others: Iterable[Path], waits: WaitStatistics) -> list[Snapshot]:
    """Returns this worker's metrics and the snapshots of other workers."""
    return [_local_snapshot(waits), *map(_snapshot, others)]


def _snapshot(file: Path) -> Snapshot:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Snapshot)
    except (OSError, msgspec.MsgspecError):
        return Snapshot()  # Deleted, or truncated by a crash: partial metrics are better than none.
