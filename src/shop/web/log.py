"""Request logging: one line per request, with the route template and never the actual path."""

import contextlib
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO, ClassVar, TextIO, cast

import msgspec
import structlog
from msgspec import UNSET, UnsetType

MAX_PENDING = 100
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class RequestLogEntry(msgspec.Struct, gc=False):
    """The data of one request until its log line is written."""

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    statements: int
    who: str
    source: str
    at: float
    caller: str | None = None
    """The caller, if the request used a deprecated feature."""


class _Line(msgspec.Struct, gc=False):
    """The log line of a request."""

    request_id: str
    method: str
    route: str
    status: int
    ms: float
    statements: int
    who: str
    source: str
    timestamp: datetime
    deprecated_for: str | UnsetType = UNSET
    """The caller, only if the request used a deprecated feature."""
    event: str = "request"
    level: str = "info"


class _LossyStream:
    """A stream that drops lines it cannot write: a full disk or a closed pipe must not fail a request."""

    def __init__(self, stream: IO[Any]) -> None:
        self._stream = stream

    def write(self, text: Any) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


class _Log:
    """The output of request lines, set by `configure_logging`, and the pending lines."""

    put: Callable[[RequestLogEntry], Any]
    encode: Callable[[_Line], bytes]
    stream = _LossyStream(sys.stderr.buffer)
    pending: ClassVar[list[RequestLogEntry]] = []


def log_request(entry: RequestLogEntry) -> None:
    _Log.put(entry)


def _keep(entry: RequestLogEntry) -> None:
    _Log.pending.append(entry)
    if len(_Log.pending) >= MAX_PENDING:
        flush_log()


def flush_log() -> None:
    """Writes all pending request lines at once. Single writes would each release the interpreter to another thread, and
    encoding lines together halves the cost. Called a few times a second, at shutdown, before any other log line, and
    when many lines are pending: requests wait for about 3 µs a line.
    """
    if _Log.pending:
        lines = b"\n".join([*(_Log.encode(_line(entry)) for entry in _Log.pending), b""])
        _Log.pending.clear()
        _Log.stream.write(lines)
        _Log.stream.flush()


def configure_logging(level: str, form: str | None, stream: TextIO = sys.stderr) -> None:
    """Configures structlog: JSON lines for machines, colors and columns for a terminal."""
    form = form or ("console" if stream.isatty() else "json")
    encode = msgspec.json.Encoder(enc_hook=str).encode
    common: list[Any] = [_after_requests, structlog.processors.add_log_level, structlog.processors.TimeStamper("iso")]
    wrapper = structlog.make_filtering_bound_logger(_LEVELS[level])
    _Log.stream, _Log.encode = _LossyStream(stream.buffer), encode
    if form == "json":
        processors = [*common, structlog.processors.format_exc_info, lambda _logger, _name, event: encode(event)]
        structlog.configure(
            processors, wrapper, logger_factory=structlog.BytesLoggerFactory(cast(BinaryIO, _Log.stream))
        )
        put: Callable[[RequestLogEntry], Any] = _keep
    else:
        processors = [*common, _console_renderer(stream)]
        structlog.configure(
            processors, wrapper, logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _LossyStream(stream)))
        )
        logger = structlog.get_logger("shop.request")
        put = lambda entry: logger.info("request", **_console(_line(entry)))  # noqa: E731
    _Log.put = staticmethod(put if _LEVELS[level] <= logging.INFO else lambda entry: None)


def _console_renderer(stream: TextIO) -> structlog.dev.ConsoleRenderer:
    # The library's default tracebacks show local variables, which may contain tokens.
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)


def _after_requests(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    flush_log()
    return event


def _line(entry: RequestLogEntry) -> _Line:
    return _Line(
        entry.request_id,
        entry.method,
        entry.route,
        entry.status,
        round(entry.seconds * 1000, 2),
        entry.statements,
        entry.who,
        entry.source,
        datetime.fromtimestamp(entry.at, UTC),
        entry.caller or UNSET,
    )


def _console(line: _Line) -> dict[str, Any]:
    return {
        name: value
        for name, value in msgspec.structs.asdict(line).items()
        if name not in {"event", "level", "timestamp"}
    }
