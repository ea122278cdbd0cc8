"""What a worker does a few times a second: heartbeats, metrics snapshots, and noticing a stop or changed keys."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shop.app.configuration import ServerConfiguration, make_run_dir
from shop.app.shop_settings import adopt_changed_keys
from shop.base.crypto.key_file import KeyFileWatch
from shop.web.endpoint import EndpointContext
from shop.web.log import flush_log
from shop.web.metrics import save_snapshot

WATCH_SECONDS = 0.2


class WorkerHeartbeat:
    """The heartbeat of one worker. `beats` is the counter that the parent watches."""

    def __init__(self, configuration: ServerConfiguration, beats: Any) -> None:
        self._configuration = configuration
        self._beats = beats
        self._snapshot = b""

    def other_snapshots(self) -> Iterable[Path]:
        """Returns the metrics snapshots of the other workers."""
        own_name = f"{os.getpid()}.metrics"
        return [file for file in self._configuration.run_dir.glob("*.metrics") if file.name != own_name]

    def is_stopping(self, endpoint_context: EndpointContext) -> bool:
        endpoint_context.draining = self._configuration.stopping.exists()
        return endpoint_context.draining

    async def run(self, endpoint_context: EndpointContext, key_file: KeyFileWatch | None) -> None:
        """Sends heartbeats, notices a stop, and exits if the parent was killed, which frees the port."""
        # A supervisor may send SIGTERM to every process; only the parent handles it, and stops workers with SIGINT.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        while True:
            self._beats.value += 1
            flush_log()
            # Keep watching when the disk is full.
            with contextlib.suppress(OSError):
                self._save_snapshot(endpoint_context)
            if os.getppid() != self._configuration.parent:
                shutil.rmtree(self._configuration.run_dir, ignore_errors=True)
                os._exit(1)
            self.is_stopping(endpoint_context)
            if key_file:
                adopt_changed_keys(key_file, endpoint_context.shared)
            await asyncio.sleep(WATCH_SECONDS)

    def _save_snapshot(self, endpoint_context: EndpointContext) -> None:
        make_run_dir(self._configuration.run_dir)
        file = self._configuration.run_dir / f"{os.getpid()}.metrics"
        self._snapshot = save_snapshot(file, endpoint_context.shared.database.connections.waits, self._snapshot)
