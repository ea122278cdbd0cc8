"""Commands that need not load their libraries: forks of a process that has them, and does nothing else.

To load them takes as long as everything else of a start. The fork runs the command as the installed script would, with
an environment of its own, and writes where it is told to.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO

_READY_TO_FORK = """
import atexit, contextlib, ctypes, gc, json, os, select, signal, socket, sys, threading, traceback
from shop.actions.operations import mail_templates
from shop.admin import pages
from shop.cli.main import main
from shop.db.statements import STATEMENTS

gc.collect()
gc.freeze()
asked = socket.socket(fileno=0)
# Where the system reads what it tells others of our environment; nothing else uses it once that is cleared.
first, last = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[47:49])

def status(error):
    if isinstance(error, SystemExit):
        return error.code or 0
    traceback.print_exc()
    return 1

def run(arguments, environ, output, log):
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, end in ((0, nothing), (1, output), (2, log)):
        os.dup2(end, number)
    os.closerange(3, 100)
    os.environ.clear()
    os.environ.update(environ)
    told = b"".join(f"{name}={value}".encode() + bytes(1) for name, value in environ.items())
    ctypes.memmove(first, told.ljust(last - first, bytes(1)), last - first)
    sys.argv = ["shop", *arguments]
    code = 0
    try:
        main()
    except BaseException as error:
        code = status(error)
    # As the interpreter ends, but that it would take apart all that was loaded, and copy it for that.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)

def compiled():
    # What every shop would make for itself when it is first wanted.
    for known in STATEMENTS:
        yield known.sql
    for templates in (pages._templates, mail_templates._templates, mail_templates._plain):
        for name in templates.list_templates(["html", "txt"]):
            yield templates.get_template(name)

making = compiled()

while True:
    while not select.select([asked], [], [], 0)[0] and next(making, None):
        pass
    said, ends, _, _ = socket.recv_fds(asked, 1 << 20, 3)
    if not said:
        break
    output, log, told = ends
    if os.fork() == 0:
        # One to wait for the end, and to tell how it was.
        pid = os.fork()
        if pid == 0:
            run(*json.loads(said), output, log)
        os.close(output)
        os.close(log)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.write(told, b"%d\\n" % pid)
        os.write(told, b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    for end in ends:
        os.close(end)
    with contextlib.suppress(ChildProcessError):
        while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG):
            pass
"""


@cache
def warm() -> socket.socket:
    """Where to ask it, for this process and for what is forked off it later; it ends with the last of them."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    roomy = {**os.environ, "ROOM": " " * 4096}
    process = subprocess.Popen([sys.executable, "-c", _READY_TO_FORK], stdin=its.fileno(), env=roomy)
    its.close()
    atexit.register(process.wait, 10)
    atexit.register(ours.close)  # The last that is registered is the first that is done.
    return ours


class Forked:
    """A command in a fork, with what a `Popen` would tell of it. What it writes can be read, if no files are given."""

    def __init__(
        self,
        arguments: Sequence[str],
        environ: dict[str, str],
        files: tuple[IO[str], IO[str]] | None = None,
    ) -> None:
        self.arguments = list(arguments)
        self.returncode: int | None = None
        with contextlib.ExitStack() as here:
            output, log = files or self._to_be_read(here)
            told, telling = os.pipe()
            here.callback(os.close, telling)
            self._told = os.fdopen(told)
            asked = json.dumps([self.arguments, environ]).encode()
            socket.send_fds(warm(), [asked], [output.fileno(), log.fileno(), telling])
        self.pid = int(self._told.readline())

    def _to_be_read(self, here: contextlib.ExitStack) -> tuple[IO[str], IO[str]]:
        reading, log = os.pipe()
        self.stderr: IO[str] = os.fdopen(reading)
        return here.enter_context(Path(os.devnull).open("w")), here.enter_context(os.fdopen(log, "w"))

    def send_signal(self, sign: int) -> None:
        # Killed by another, it may be gone before anybody told us.
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sign)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self._note()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.arguments, timeout or 0)
            self._note()
        assert self.returncode is not None
        return self.returncode

    def _note(self) -> None:
        self.returncode = int(self._told.readline())
        self._told.close()
