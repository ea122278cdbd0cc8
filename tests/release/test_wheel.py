"""The wheel works without the repository: installed into an empty environment, it serves the demo from any directory.

Fetches the dependencies from the package index or the cache of uv, so the tests are torture.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shop import __version__
from tests.cluster import make_run_dir
from tests.service import Service
from tests.test_docs import paste

UV = Path(sys.executable).parent / "uv"
IMPORT_ALL = """
import importlib, pkgutil, shop
names = [module.name for module in pkgutil.walk_packages(shop.__path__, "shop.") if ".migrations" not in module.name]
for name in names:
    importlib.import_module(name)
print(len(names))
"""

pytestmark = pytest.mark.torture


def bare_environ(**extra: str) -> dict[str, str]:
    """The environment without the repository, without settings of a shop."""
    hidden = ("SHOP_", "PYTHON", "VIRTUAL_ENV")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**environ, "UV_SYSTEM_CERTS": "1", **extra}


class WheelService(Service):
    """Serves with an installed `shop` from a directory of its own."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._program, self._directory = program, directory
        super().__init__("--demo")

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        self.environ = bare_environ(SHOP_LOG_FORMAT="json")
        return subprocess.Popen(
            [self._program, *command],
            cwd=self._directory,
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory outside the repository that the account of the embedded database can enter."""
    directory = make_run_dir()
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def run(*command: str | Path, cwd: Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
    result = subprocess.run(command, cwd=cwd, env=bare_environ(), capture_output=True, text=True, check=False)
    assert result.returncode == 0 or not check, result.stderr
    return result


def test_without_the_extra_every_module_loads_and_a_start_says_what_to_do(release: Path, place: Path) -> None:
    (wheel,) = release.glob("*.whl")
    (empty := place / "empty").mkdir()
    run(UV, "venv", "--python", sys.executable, place / "server", cwd=empty)
    run(UV, "pip", "install", "--python", place / "server" / "bin" / "python", wheel, cwd=empty)

    loaded = run(place / "server" / "bin" / "python", "-c", IMPORT_ALL, cwd=empty)
    start = run(place / "server" / "bin" / "shop", "serve", cwd=empty, check=False)

    assert int(loaded.stdout) > 300
    assert start.returncode == 1
    assert start.stderr.startswith("shop: No database is configured: set SHOP_DATABASE_URL, or install the shop with")
    assert start.stderr.count("\n") == 1
    assert list(empty.iterdir()) == []


def test_the_tool_installed_from_the_wheel_serves_the_demo_and_sells(release: Path, place: Path) -> None:
    """The one-liner of README.md; a purchase with the commands of README.md."""
    (wheel,) = release.glob("*.whl")
    (shop_dir := place / "my shop").mkdir()
    tools = {"UV_TOOL_DIR": str(place / "tools"), "UV_TOOL_BIN_DIR": str(place / "bin")}
    install: list[str | Path] = [UV, "tool", "install", "--python", sys.executable, f"{wheel}[embedded]"]
    subprocess.run(install, cwd=shop_dir, env=bare_environ(**tools), check=True, capture_output=True)
    assert run(place / "bin" / "shop", "--version", cwd=shop_dir).stdout == f"shop, version {__version__}\n"

    service = WheelService(place / "bin" / "shop", shop_dir)
    try:
        *_, order = paste(2, service)
        assert order["data"]["attributes"]["state"] == "complete"
        assert order["data"]["attributes"]["payment_state"] in {"paid", "balance_due"}
        assert (shop_dir / "var" / "secret_keys").exists()
    finally:
        assert service.stop() == 0
