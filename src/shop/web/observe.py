"""What is told of a request afterwards: one log line and one metric, by route template and never by address."""

import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, TextIO

import msgspec
import structlog
from prometheus_client import Histogram

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_SECONDS = Histogram(
    "shop_request_seconds",
    "Time from a request's head to its answer's last byte; the count of each series is the number of requests.",
    ["method", "route", "status"],
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


class RequestLine(msgspec.Struct):
    """The one line that every request leaves in the log."""

    request_id: str
    method: str
    route: str
    status: int
    ms: float
    statements: int
    who: str
    source: str
    event: str = "request"
    level: str = "info"
    timestamp: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))


class _Log:
    """Where request lines go, set by `configure_logging`, and those that are not written yet."""

    put: Callable[[RequestLine], Any]
    stream: TextIO = sys.stderr
    pending: ClassVar[list[bytes]] = []


def log_request(line: RequestLine) -> None:
    _Log.put(line)


def flush_log() -> None:
    """Writes the pending request lines together: a write for each would hand the interpreter to another thread each
    time, which costs more than the line. Called a few times a second, at the end, and before any other log line.
    """
    if _Log.pending:
        lines = b"\n".join([*_Log.pending, b""])
        _Log.pending.clear()
        _Log.stream.buffer.write(lines)
        _Log.stream.buffer.flush()


def configure_logging(level: str, form: str | None, stream: TextIO = sys.stderr) -> None:
    """JSON lines for machines; colours and columns for a person at a terminal."""
    form = form or ("console" if stream.isatty() else "json")
    encode = msgspec.json.Encoder(enc_hook=str).encode
    common: list[Any] = [_after_requests, structlog.processors.add_log_level, structlog.processors.TimeStamper("iso")]
    wrapper = structlog.make_filtering_bound_logger(_LEVELS[level])
    _Log.stream = stream
    if form == "json":
        processors = [*common, structlog.processors.format_exc_info, lambda _logger, _name, event: encode(event)]
        structlog.configure(processors, wrapper, logger_factory=structlog.BytesLoggerFactory(stream.buffer))
        put: Callable[[RequestLine], Any] = lambda line: _Log.pending.append(encode(line))  # noqa: E731
    else:
        processors = [*common, structlog.dev.ConsoleRenderer(colors=stream.isatty())]
        structlog.configure(processors, wrapper, logger_factory=structlog.WriteLoggerFactory(stream))
        logger = structlog.get_logger("shop.request")
        put = lambda line: logger.info("request", **_console(line))  # noqa: E731
    _Log.put = staticmethod(put if _LEVELS[level] <= logging.INFO else lambda line: None)


def _after_requests(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    flush_log()
    return event


def _console(line: RequestLine) -> dict[str, Any]:
    return {
        name: value
        for name, value in msgspec.structs.asdict(line).items()
        if name not in {"event", "level", "timestamp"}
    }


class Observer:
    """The metrics of one route, its series looked up once a status and not at every request."""

    __slots__ = ("_method", "_observers", "_route")

    def __init__(self, method: str, route: str) -> None:
        self._method, self._route = method, route
        self._observers: dict[int, Callable[[float], None]] = {}

    def __call__(self, status: int, seconds: float) -> None:
        observe = self._observers.get(status)
        if observe is None:
            observe = self._observers[status] = _SECONDS.labels(self._method, self._route, str(status)).observe
        observe(seconds)
