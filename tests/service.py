"""Runs a real `shop serve` for tests: starts it, reads its log, and always stops it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tests.forkserver import ForkedCommand
from tests.http_client import ANY_NUMBER, NO_CERTIFICATES, SharedTransport
from tests.secret_leaks import RecordingAsyncClient, RecordingClient, search_log

SHOP = Path(sys.executable).parent / "shop"
KEYS = "t1:" + "5a" * 32
START_SECONDS = 120
"""A generous limit: a busy machine may take long, and a process that ends is noticed at once."""


def clean_environ(**extra: str) -> dict[str, str]:
    """The environment of the machine without settings of a shop, and these variables."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SHOP_")}
    return {**environ, "SHOP_LOG_FORMAT": "json", **extra}


class Service:
    """One running shop. A test waits for a line of its log; nothing here sleeps."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        self._changed = threading.Condition()
        self.lines: list[str] = []
        self._ended = False
        self.environ = clean_environ(**environ)
        self.process = self._start(["serve", "--port", "0", *arguments])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            banner = self.wait_for(lambda line: "Storefront API" in line)
            self.url = banner.split()[-1].removesuffix("/api/v2/storefront")
            self.wait_for(lambda line: "worker ready" in line)
            self.wait_for_listener()
        except BaseException:
            self.kill()
            raise

    def _start(self, command: list[str]) -> "ForkedCommand | subprocess.Popen[str]":
        return ForkedCommand(command, self.environ)

    def _read(self) -> None:
        assert self.process.stderr
        log, rest = self.process.stderr.fileno(), b""
        while part := os.read(log, 1 << 16):
            *whole, rest = (rest + part).split(b"\n")
            with self._changed:
                self.lines += [line.decode() + "\n" for line in whole]
                self._changed.notify_all()
        with self._changed:
            self.lines += [rest.decode()] if rest else []
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, matches: Any, seconds: float = START_SECONDS, *, count: int = 1, since: int = 0) -> str:
        """Waits for the first matching line of the log, or the count-th; ignores the first `since` lines."""
        position = since
        hits: list[str] = []

        def has_enough() -> bool:
            nonlocal position
            new = self.lines[position:]
            position += len(new)
            hits.extend(line for line in new if matches(line))
            return len(hits) >= count

        with self._changed:
            self._changed.wait_for(lambda: has_enough() or self._ended, seconds)
        if len(hits) < count:
            raise AssertionError("the log has no such line; its last lines are:\n" + "".join(self.lines[-40:]))
        return hits[count - 1]

    def wait_for_listener(self) -> None:
        """Waits until a worker accepts connections: it logs that it is ready just before it listens."""
        address = urlsplit(self.url)
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((address.hostname or "", address.port or 0), 10).close()
            except ConnectionRefusedError:
                assert time.monotonic() < end, "no worker listens"
                time.sleep(0.005)
            else:
                return

    def client(self, *, timeout: float = 20, transport: SharedTransport | None = None) -> httpx2.AsyncClient:
        return RecordingAsyncClient(
            base_url=self.url, verify=NO_CERTIFICATES, timeout=timeout, transport=transport, limits=ANY_NUMBER
        )

    def get(self, path: str) -> httpx2.Response:
        """Over a new connection."""
        with RecordingClient(base_url=self.url, verify=NO_CERTIFICATES, timeout=20) as http:
            return http.get(path)

    def post(self, path: str, json: Any = None) -> httpx2.Response:
        """Over a new connection."""
        with RecordingClient(base_url=self.url, verify=NO_CERTIFICATES, timeout=20) as http:
            return http.post(path, json=json)

    def request_line(self, request_id: str) -> dict[str, Any]:
        """The line of the log about one request."""
        line: dict[str, Any] = json.loads(self.wait_for(lambda line: f'"request_id":"{request_id}"' in line))
        return line

    def worker_pids(self) -> list[int]:
        return [json.loads(line)["pid"] for line in self.lines if '"worker ready"' in line]

    def stop(self, seconds: float = 30) -> int:
        """Sends SIGTERM, and returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float = 30) -> int:
        try:
            status = self.process.wait(seconds)
        finally:
            self.kill()
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self._reader.join(10)
        # An orphan process may still have the pipe open; closing it while the thread reads would block forever.
        if self.process.stderr and not self._reader.is_alive():
            self.process.stderr.close()
        search_log(urlsplit(self.environ.get("SHOP_DATABASE_URL", "")).path or "a shop", self.lines)


class InstalledService(Service):
    """Runs the installed script, as an operator does."""

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [SHOP, *command],
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
