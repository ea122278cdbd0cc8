"""What is logged of a request: one line, by its route's template and never by its address."""

import contextlib
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import IO, Any, BinaryIO, ClassVar, TextIO, cast

import msgspec
import structlog
from msgspec import UNSET, UnsetType

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Answered(msgspec.Struct, gc=False):
    """What is noted of a request until its line is written."""

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
    """Who called what is deprecated."""


class _Line(msgspec.Struct):
    """The one line that every request leaves in the log."""

    request_id: str
    method: str
    route: str
    status: int
    ms: float
    statements: int
    who: str
    source: str
    event: str
    level: str
    timestamp: datetime
    deprecated_for: str | UnsetType = UNSET
    """Who called what is deprecated; not there for anything else."""


class _Steady:
    """A stream that loses what cannot be written: a full disk or a reader that went away costs log lines, and neither a
    request nor the process.
    """

    def __init__(self, stream: IO[Any]) -> None:
        self._stream = stream

    def write(self, text: Any) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


class _Log:
    """Where request lines go, set by `configure_logging`, and those that are not written yet."""

    put: Callable[[Answered], Any]
    encode: Callable[[_Line], bytes]
    stream = _Steady(sys.stderr.buffer)
    pending: ClassVar[list[Answered]] = []


def log_request(answered: Answered) -> None:
    _Log.put(answered)


def flush_log() -> None:
    """Writes the pending request lines together: a write for each would hand the interpreter to another thread each
    time, and to make one costs half where another was just made. Called a few times a second, at the end, and before
    any other log line.
    """
    if _Log.pending:
        lines = b"\n".join([*(_Log.encode(_line(answered)) for answered in _Log.pending), b""])
        _Log.pending.clear()
        _Log.stream.write(lines)
        _Log.stream.flush()


def configure_logging(level: str, form: str | None, stream: TextIO = sys.stderr) -> None:
    """JSON lines for machines; colours and columns for a person at a terminal."""
    form = form or ("console" if stream.isatty() else "json")
    encode = msgspec.json.Encoder(enc_hook=str).encode
    common: list[Any] = [_after_requests, structlog.processors.add_log_level, structlog.processors.TimeStamper("iso")]
    wrapper = structlog.make_filtering_bound_logger(_LEVELS[level])
    _Log.stream, _Log.encode = _Steady(stream.buffer), encode
    if form == "json":
        processors = [*common, structlog.processors.format_exc_info, lambda _logger, _name, event: encode(event)]
        structlog.configure(
            processors, wrapper, logger_factory=structlog.BytesLoggerFactory(cast(BinaryIO, _Log.stream))
        )
        put: Callable[[Answered], Any] = _Log.pending.append
    else:
        processors = [*common, _console_renderer(stream)]
        structlog.configure(
            processors, wrapper, logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Steady(stream)))
        )
        logger = structlog.get_logger("shop.request")
        put = lambda answered: logger.info("request", **_console(_line(answered)))  # noqa: E731
    _Log.put = staticmethod(put if _LEVELS[level] <= logging.INFO else lambda answered: None)


def _console_renderer(stream: TextIO) -> structlog.dev.ConsoleRenderer:
    # The library's own tracebacks show local variables, and with them tokens.
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)


def _after_requests(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    flush_log()
    return event


def _line(answered: Answered) -> _Line:
    return _Line(
        answered.request_id,
        answered.method,
        answered.route,
        answered.status,
        round(answered.seconds * 1000, 2),
        answered.statements,
        answered.who,
        answered.source,
        event="request",
        level="info",
        timestamp=datetime.fromtimestamp(answered.at, UTC),
        deprecated_for=answered.caller or UNSET,
    )


def _console(line: _Line) -> dict[str, Any]:
    return {
        name: value
        for name, value in msgspec.structs.asdict(line).items()
        if name not in {"event", "level", "timestamp"}
    }
