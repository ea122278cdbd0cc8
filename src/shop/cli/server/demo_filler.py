"""Loads the demo shop in a subprocess, which draws the images while the database of a first start is created.

A subprocess, because threads started in this process would not survive the fork of a worker, which would wait for them
forever.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

from shop.base.config.settings import Settings
from shop.base.errors import CannotStart
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from shop.cli.server import demo_progress
    from shop.demo import pictures as demo_pictures
else:
    demo_progress = LazyModule("shop.cli.server.demo_progress")
    demo_pictures = LazyModule("shop.demo.pictures")

Fill = Callable[[str], bool]
"""Loads the demo shop into an empty database; returns whether the database contains it."""


@contextmanager
def demo_filler(settings: Settings, host: str, *, is_wanted: bool) -> Iterator[Fill]:
    """Starts the subprocess if the demo shop is wanted; yields the function that lets it fill the database."""
    if not is_wanted:
        yield lambda _url: False
        return
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run, args=(there, settings, settings.is_try_out(host)))
    process.start()
    there.close()
    try:
        yield lambda url: _fill(here, process, url)
    finally:
        _end(process)
        here.close()


def _end(process: BaseProcess) -> None:
    process.kill()
    process.join()


def _fill(filler: Connection, process: BaseProcess, url: str) -> bool:
    try:
        filler.send(url)
        has_demo, reason = filler.recv()
    except (EOFError, OSError):
        has_demo, reason = False, "The demo shop could not be created: its process ended unexpectedly."
    finally:
        _end(process)
    if reason:
        raise CannotStart(reason)
    return bool(has_demo)


def _run(starter: Connection, settings: Settings, is_try_out: bool) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Exit at once when the parent ends, because nothing waits for the result.
        threading.Thread(target=lambda: wait([parent.sentinel]) and os._exit(1), daemon=True).start()
    try:
        pictures = demo_pictures.Pictures()
        if not settings.database_url and not (settings.data_dir / "postgres").exists():
            pictures.draw(demo_pictures.all_drawings())
        url = starter.recv()
        starter.send((demo_progress.load_demo_with_progress(url, settings, pictures, is_try_out=is_try_out), None))
    except CannotStart as reason:
        starter.send((False, str(reason)))
    except (EOFError, KeyboardInterrupt):
        pass  # The parent has ended, or receives the same signal and reports it.
