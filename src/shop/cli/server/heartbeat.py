"""Detects hanging workers: each event loop increments a counter in shared memory, which the parent checks."""

import ctypes
import multiprocessing
import threading
from collections.abc import Callable
from typing import Any

POLL_SECONDS = 1.0
MAX_SILENT_POLLS = 10
MAX_START_POLLS = 60
"""Higher before the first beat: a worker may have to load the whole program on a busy machine."""


class Heartbeat:
    """The parent's view of one worker.

    It counts checks, not seconds: a parent that is suspended together with its workers, as on a sleeping machine,
    does not check, and finds them alive when all resume.
    """

    def __init__(self) -> None:
        self.beats: Any = multiprocessing.RawValue(ctypes.c_uint64, 0)
        self._last = 0
        self._silent_polls = 0

    def is_lost(self) -> bool:
        """Returns True once per period of silence; called once per check."""
        beats = self.beats.value
        self._silent_polls = self._silent_polls + 1 if beats == self._last else 0
        self._last = beats
        if self._silent_polls < (MAX_SILENT_POLLS if beats else MAX_START_POLLS):
            return False
        self._silent_polls = 0
        return True


class PollingEvent(threading.Event):
    """Calls `check` every second while the main thread waits for the event. It uses no extra thread, which could hold
    the log's lock while a worker is forked.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__()
        self._check = check

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None:
            return super().wait(timeout)
        while not super().wait(POLL_SECONDS):
            self._check()
        return True
