"""Runs the `shop` command in tests: its output and its exit status."""

import subprocess
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.forkserver import ForkedCommand
from tests.service import KEYS, clean_environ

Result = subprocess.CompletedProcess[str]


class Command:
    """`shop("migrate", SHOP_DATA_DIR=...)` runs that command to its end."""

    def __call__(self, *arguments: str, **environ: str) -> Result:
        (result,) = self.run_concurrently(1, *arguments, **environ)
        return result

    def run_concurrently(self, count: int, *arguments: str, **environ: str) -> list[Result]:
        """Runs the same command `count` times concurrently."""
        with TemporaryDirectory() as directory:
            files = [(Path(directory, f"output{number}"), Path(directory, f"log{number}")) for number in range(count)]
            for path in chain(*files):
                path.touch()
            running = [
                ForkedCommand(arguments, clean_environ(**environ), output=output, log=log) for output, log in files
            ]
            return [_finish(process, *paths) for process, paths in zip(running, files, strict=True)]

    def serve(self, *arguments: str, **environ: str) -> Result:
        """Runs `shop serve`, which must fail to start."""
        return self("serve", "--port", "0", *arguments, **environ)


def _finish(process: ForkedCommand, output: Path, log: Path) -> Result:
    try:
        status = process.wait(120)
    finally:
        process.kill()
    return Result(process.arguments, status, output.read_text(), log.read_text())


def external(url: str, **environ: str) -> Mapping[str, str]:
    """The settings of a shop on an external database. Its data directory cannot exist, so nothing is created in it."""
    settings = {"SHOP_DATA_DIR": "/proc/none", "SHOP_DATABASE_URL": url, "SHOP_SECRET_KEYS": KEYS, "SHOP_MAILBOX": "on"}
    return {**settings, **environ}


def sentence(result: Result) -> str:
    """The error of a command that failed, which is one sentence."""
    assert result.returncode == 1, result
    assert result.stdout == ""
    assert result.stderr.startswith("shop: "), result.stderr
    assert (result.stderr.count("\n"), result.stderr[-1]) == (1, "\n"), result.stderr
    return result.stderr.removeprefix("shop: ").strip()
