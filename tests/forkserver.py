"""Runs `shop` commands in forks of a process that has imported the shop, which takes half of the time of a start."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preload"])
_NOWHERE = Path(os.devnull)


def start_fork_server() -> None:
    """Starts the fork server, which then imports the shop."""
    _CONTEXT.Process(target=int).start()


class ForkedCommand:
    """A running command, with the interface of a `Popen`. Its standard error is a pipe, unless `log` is a file."""

    stderr: IO[str]

    def __init__(
        self, arguments: Sequence[str], environ: dict[str, str], *, output: Path = _NOWHERE, log: Path | None = None
    ) -> None:
        self.arguments = list(arguments)
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run, args=(self.arguments, environ, output, log or sender))
        self._process.start()
        sender.close()
        if log is None:
            self.stderr = os.fdopen(os.dup(receiver.fileno()))
        receiver.close()

    @property
    def pid(self) -> int:
        assert self._process.pid
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.arguments, timeout or 0)
        return self.returncode


def _run(arguments: list[str], environ: dict[str, str], output: Path, log: Path | Connection) -> None:
    from shop.cli.main import main

    # Tests find the processes that a command leaves behind by their session.
    os.setsid()
    _redirect(1, output)
    _redirect(2, log)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["shop", *arguments]
    main()


def _redirect(number: int, target: Path | Connection) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND) if isinstance(target, Path) else target.fileno()
    os.dup2(descriptor, number)
    if isinstance(target, Path):
        os.close(descriptor)
    else:
        target.close()
