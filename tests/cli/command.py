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
        (result,) = self.at_once(1, *arguments, **environ)
        return result

    def at_once(self, count: int, *arguments: str, **environ: str) -> list[Done]:
        """The same command so many times, side by side."""
        with ExitStack() as open_files:
            files = [tuple(open_files.enter_context(TemporaryFile("w+")) for _ in range(2)) for _ in range(count)]
            running = [Forked(arguments, clean_environ(**environ), files=(output, log)) for output, log in files]
            return [_finish(process, *streams) for process, streams in zip(running, files, strict=True)]

    def serve(self, *arguments: str, **environ: str) -> Done:
        """A start that cannot succeed."""
        return self("serve", "--port", "0", *arguments, **environ)


def _finish(process: Forked, output: IO[str], log: IO[str]) -> Done:
    try:
        status = process.wait(30)
    finally:
        process.kill()
    output.seek(0)
    log.seek(0)
    return Done(process.arguments, status, output.read(), log.read())


def external(url: str, **environ: str) -> Mapping[str, str]:
    """The settings of a shop on a database of its own. Nothing is made in the data directory, which cannot exist."""
    settings = {"SHOP_DATA_DIR": "/proc/none", "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on"}
    return {**settings, **environ}


def sentence(result: Done) -> str:
    """The one sentence of a command that could not do its work."""
    assert result.returncode == 1, result
    assert result.stdout == ""
    assert result.stderr.startswith("shop: "), result.stderr
    assert (result.stderr.count("\n"), result.stderr[-1]) == (1, "\n"), result.stderr
    return result.stderr.removeprefix("shop: ").strip()
