"""Signals for the background loops of this process: which kinds of work are due."""

import asyncio
from collections import defaultdict
from contextlib import suppress

SAFETY_SECONDS = 300.0
"""How often a loop looks for work without a signal."""


class WorkSignals:
    """One signal for each kind of work. One statement asks for all kinds at once (`actions/operations/due_work.py`)."""

    def __init__(self) -> None:
        self._signals: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def find(self, kind: str) -> asyncio.Event:
        return self._signals[kind]

    def wake(self, kind: str) -> None:
        self._signals[kind].set()

    async def wait(self, kind: str) -> bool:
        """Waits until work of this kind is due and returns True; returns False after `SAFETY_SECONDS`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._signals[kind].wait(), SAFETY_SECONDS)
        is_due = self._signals[kind].is_set()
        self._signals[kind].clear()
        return is_due
