"""The `shop` command for tests: what it says, and how it ends."""

import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

from tests.service import KEYS, clean_environ
from tests.warm import Forked

Done = subprocess.CompletedProcess[str]


class Command:
    """`shop("migrate", SHOP_DATA_DIR=...)` runs that command to its end."""

    def __call__(self, *arguments: str, **environ: str) -> Done:
        (done,) = self.at_once(1, *arguments, **environ)
        return done

    def at_once(self, count: int, *arguments: str, **environ: str) -> list[Done]:
        """The same command so many times, side by side."""
        with ExitStack() as open_files:
            files = [tuple(open_files.enter_context(TemporaryFile("w+")) for _ in range(2)) for _ in range(count)]
            running = [Forked(arguments, clean_environ(**environ), files=(output, log)) for output, log in files]
            return [_done(forked, *written) for forked, written in zip(running, files, strict=True)]

    def serve(self, *arguments: str, **environ: str) -> Done:
        """A start that cannot succeed."""
        return self("serve", "--port", "0", *arguments, **environ)


def _done(forked: Forked, output: IO[str], log: IO[str]) -> Done:
    try:
        status = forked.wait(30)
    finally:
        forked.kill()
    output.seek(0)
    log.seek(0)
    return Done(forked.arguments, status, output.read(), log.read())


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
