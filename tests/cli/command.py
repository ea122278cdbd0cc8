"""The `shop` command for tests: what it says, and how it ends.

A command takes a second to load its libraries. One process loads them once, and every command that a test gives runs in
a fork of it, with an environment of its own, as it would run from the installed script. What was loaded is frozen: the
collection at the end of each fork would otherwise look at all of it, for a quarter of a second.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.service import KEYS, clean_environ

Done = subprocess.CompletedProcess[str]

_READY_TO_FORK = """
import gc, json, os, signal, sys
from shop.cli.main import main

gc.collect()
gc.freeze()

def begin(arguments, environ, directory):
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(30)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["shop", *arguments]
    sys.exit(main())

for line in sys.stdin:
    arguments, environ, directories = json.loads(line)
    pids = [begin(arguments, environ, directory) for directory in directories]
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]), flush=True)
"""


class Command:
    """`shop("migrate", SHOP_DATA_DIR=...)` runs that command to its end."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, "-c", _READY_TO_FORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *arguments: str, **environ: str) -> Done:
        (done,) = self.at_once(1, *arguments, **environ)
        return done

    def at_once(self, count: int, *arguments: str, **environ: str) -> list[Done]:
        """The same command so many times, side by side."""
        assert self._process.stdin
        assert self._process.stdout
        places = [self._directory / str(number) for number in range(count)]
        for place in places:
            place.mkdir(exist_ok=True)
        asked = json.dumps([arguments, clean_environ(**environ), [str(place) for place in places]])
        print(asked, file=self._process.stdin, flush=True)
        statuses = json.loads(self._process.stdout.readline())
        return [
            subprocess.CompletedProcess(
                arguments, status, (place / "stdout").read_text(), (place / "stderr").read_text()
            )
            for place, status in zip(places, statuses, strict=True)
        ]

    def serve(self, *arguments: str, **environ: str) -> Done:
        """A start that cannot succeed."""
        return self("serve", "--port", "0", *arguments, **environ)

    def close(self) -> None:
        self._process.communicate(timeout=30)


def external(url: str, **environ: str) -> Mapping[str, str]:
    """The settings of a shop on a database of its own. Nothing is made in the data directory, which cannot exist."""
    settings = {"SHOP_DATA_DIR": "/proc/none", "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on"}
    return {**settings, **environ}


def sentence(done: Done) -> str:
    """The one sentence of a command that could not do its work."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert done.stderr.startswith("shop: "), done.stderr
    assert (done.stderr.count("\n"), done.stderr[-1]) == (1, "\n"), done.stderr
    return done.stderr.removeprefix("shop: ").strip()
