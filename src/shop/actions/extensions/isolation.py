"""Runs the code of extensions so that a failure stays theirs: the log names the extension, the reply nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

from shop.base.errors import InternalError, ShopError, TransactionConflict

T = TypeVar("T")
PANEL_SECONDS = 2.0
"""How long a panel may take; the page around it waits."""
_log = structlog.get_logger("shop.extensions")


async def run_isolated(name: str, part: str, work: Awaitable[T]) -> T:
    """Awaits the code of an extension; an unexpected error is logged and becomes an InternalError."""
    try:
        return await work
    except (ShopError, TransactionConflict):
        raise
    except Exception:
        _log.exception("extension failed", extension=name, part=part)
        raise InternalError() from None


async def run_panel(name: str, part: str, work: Awaitable[T]) -> T | InternalError:
    """Awaits a panel; returns an error in its place if it fails or takes too long."""
    try:
        async with asyncio.timeout(PANEL_SECONDS):
            return await work
    except Exception:
        _log.exception("extension failed", extension=name, part=part)
        return InternalError()


def guard_function(name: str, part: str, function: Callable[..., Any], fallback: Any) -> Callable[..., Any]:
    """Returns a function that returns the fallback if the function of the extension fails."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception:
            _log.exception("extension failed", extension=name, part=part)
            return fallback

    return call
