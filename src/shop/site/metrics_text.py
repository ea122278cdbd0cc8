"""The text of `/metrics`: the request metrics of all workers, and gauges of the database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from shop.db.connections import WaitStatistics
from shop.db.replicas import ReplicaState
from shop.queries.operations.gauges import SIGN_IN_MINUTES, Gauges
from shop.queries.operations.housekeeping import PURGES
from shop.web.metrics import BUCKETS, Series, Snapshot, list_snapshots

MEDIA_TYPE = CONTENT_TYPE_LATEST.encode()
_LABELS = ("method", "route", "status")


def render_metrics(
    others: Iterable[Path],
    waits: WaitStatistics,
    gauges: Gauges | None,
    backup_hours: int | None,
    replicas: Sequence[ReplicaState] = (),
) -> bytes:
    """Returns the Prometheus text format: this worker's metrics, the other workers' snapshots, and the database gauges
    if available, with those of backups if they are scheduled. Workers that have exited still count, because a counter
    must never decrease.
    """
    sums: dict[tuple[str, str, str], Series] = {}
    snapshots = list_snapshots(others, waits)
    for series in chain.from_iterable(snapshot.series for snapshot in snapshots):
        total = sums.setdefault(series.labels, Series(series.labels))
        total.counts = [one + other for one, other in zip(total.counts, series.counts, strict=True)]
        total.seconds += series.seconds
    registry = CollectorRegistry(auto_describe=False)
    pool = SummaryMetricFamily(
        "shop_pool_wait_seconds",
        "Time that requests waited because no database connection was free.",
        count_value=sum(snapshot.waits.count for snapshot in snapshots),
        sum_value=sum(snapshot.waits.seconds for snapshot in snapshots),
    )
    families = [_requests(sums.values()), _deprecations(snapshots), pool, *_database_metrics(gauges)]
    registry.register(_Families(families + _replica_metrics(replicas)))
    if gauges and backup_hours:
        registry.register(_Families(_backup_metrics(gauges, backup_hours)))
    return generate_latest(registry)


def _requests(sums: Iterable[Series]) -> Metric:
    help_text = "Time from the head of a request to the last byte of its response."
    family = HistogramMetricFamily("shop_request_seconds", help_text, labels=_LABELS)
    for series in sums:
        running, buckets = 0, []
        for upper_bound, count in zip((*map(str, BUCKETS), "+Inf"), series.counts, strict=True):
            running += count
            buckets.append((upper_bound, float(running)))
        family.add_metric(series.labels, buckets, series.seconds)
    return family


def _deprecations(snapshots: Iterable[Snapshot]) -> Metric:
    sums: Counter[tuple[str, ...]] = Counter()
    for *labels, count in chain.from_iterable(snapshot.deprecated for snapshot in snapshots):
        sums[tuple(map(str, labels))] += int(count)
    help_text = "Requests that use deprecated features, by caller."
    family = CounterMetricFamily("shop_deprecated_requests", help_text, labels=("method", "route", "caller"))
    for key, calls in sums.items():
        family.add_metric(key, calls)
    return family


def _database_metrics(gauges: Gauges | None) -> list[Metric]:
    up = _gauge(
        "shop_database_up",
        "Whether the database responded to this scrape or to one a few seconds earlier.",
        gauges is not None,
    )
    if gauges is None:
        return [up]
    mails = GaugeMetricFamily("shop_outbox_mails", "E-mails to send, due now or postponed.", labels=["state"])
    mails.add_metric(["due"], gauges.mails_due)
    mails.add_metric(["postponed"], gauges.mails_postponed)
    sign_ins = GaugeMetricFamily(
        "shop_failed_sign_ins", f"Sign-ins that failed in the last {SIGN_IN_MINUTES} minutes.", labels=["who"]
    )
    sign_ins.add_metric(["customer"], gauges.failed_customers)
    sign_ins.add_metric(["operator"], gauges.failed_operators)
    backlog = GaugeMetricFamily(
        "shop_housekeeping_backlog_rows", "Expired rows that remain after the last housekeeping run.", labels=["kind"]
    )
    for kind in PURGES:
        backlog.add_metric([kind], (gauges.backlog or {}).get(kind, 0))
    return [
        up,
        mails,
        _gauge("shop_outbox_oldest_due_seconds", "Age of the oldest e-mail that is due.", gauges.oldest_due_mail),
        _gauge("shop_unsettled_payments", "Payments whose outcome is not known yet.", gauges.payments_unsettled),
        _gauge(
            "shop_unsettled_payments_oldest_seconds",
            "Age of the oldest payment whose outcome is not known yet.",
            gauges.oldest_unsettled_payment,
        ),
        sign_ins,
        backlog,
        _gauge(
            "shop_housekeeping_last_run_timestamp_seconds",
            "Unix time at which housekeeping last finished; 0 before the first run.",
            gauges.cleaned_at or 0,
        ),
    ]


def _backup_metrics(gauges: Gauges, hours: int) -> list[Metric]:
    return [
        _gauge("shop_backup_interval_seconds", "SHOP_BACKUP_HOURS in seconds.", hours * 3600),
        _gauge(
            "shop_backup_last_timestamp_seconds",
            "Unix time of the newest complete backup; 0 before the first.",
            gauges.backed_up_at or 0,
        ),
        _gauge(
            "shop_backup_failures", "Attempts that failed since the newest complete backup.", gauges.backup_failures
        ),
    ]


def _replica_metrics(replicas: Sequence[ReplicaState]) -> list[Metric]:
    """Returns the replicas as this worker sees them."""
    if not replicas:
        return []
    lag = GaugeMetricFamily(
        "shop_replica_lag_seconds", "How far a replica lags; infinite if it does not answer.", labels=["replica"]
    )
    in_use = GaugeMetricFamily("shop_replica_used", "Whether public reads go to a replica.", labels=["replica"])
    for replica in replicas:
        lag.add_metric([replica.name], replica.lag_seconds)
        in_use.add_metric([replica.name], float(replica.is_used))
    return [lag, in_use]


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value=value)


class _Families:
    """A collector for prometheus_client that returns the given families."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
