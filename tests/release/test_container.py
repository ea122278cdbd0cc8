"""The steps of deploy/Dockerfile, replayed in a Debian root, give a container that serves as an ordinary user."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.mailserver import free_port
from tests.programs import find_program
from tests.release.builds import ROOT
from tests.release.dockerfile import Image, compressed_size, replay, start
from tests.service import KEYS
from tests.tcp_proxy import proxy_to

LARGEST_BYTES = 250_000_000

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(os.geteuid() != 0, reason="chroot and debootstrap need root"),
]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """Needs debootstrap and a mirror of Debian; takes minutes."""
    directory = Path(tempfile.mkdtemp(prefix="shop-container-"))
    directory.chmod(0o755)
    base = directory / "base"
    try:
        subprocess.run(
            [find_program("debootstrap"), "--variant=minbase", "bookworm", base], check=True, capture_output=True
        )
        # The published image has no packages in its cache either.
        shutil.rmtree(base / "var" / "cache" / "apt" / "archives")
        yield replay(ROOT / "deploy" / "Dockerfile", ROOT, base, directory)
    finally:
        shutil.rmtree(directory)


def read_uids(pid: int) -> set[str]:
    return set(Path(f"/proc/{pid}/status").read_text().partition("\nUid:")[2].split()[:4])


def run(image: Image, command: list[str], environ: dict[str, str]) -> tuple[int, str, str]:
    process = start(image, command, environ, volumes=("/var/lib/shop",))
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def test_the_compressed_container_is_small(image: Image) -> None:
    size = compressed_size(image)

    print(f"compressed root: {size / 1e6:.0f} MB")
    assert size < LARGEST_BYTES


async def test_the_container_migrates_serves_and_stops_as_an_ordinary_user(
    image: Image, own_database: Callable[..., str]
) -> None:
    port = free_port()
    url = own_database("template1")
    with proxy_to(url) as proxy:
        environ = {
            "SHOP_DATABASE_URL": proxy.url(urlsplit(url).path.removeprefix("/")),
            "SHOP_SECRET_KEYS": KEYS,
            "SHOP_MAILBOX": "on",
            "SHOP_HOST": "127.0.0.1",
            "SHOP_PORT": str(port),
        }
        migration = run(image, [*image.entrypoint, "migrate"], environ)
        write = run(image, ["python", "-c", "import os; print(os.getuid()); open('/opt/shop/file', 'w')"], environ)
        process = start(image, [*image.entrypoint, *image.command], environ, volumes=("/var/lib/shop",))
        try:
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
                await wait_until_ready(http, process)
                cart = await http.post("/api/v2/storefront/cart")
            health = run(image, image.health_check, environ)
            uids = read_uids(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)

    assert migration[0] == 0, migration
    assert (write[0], write[1]) == (1, "10001\n")
    assert "Read-only file system" in write[2]
    assert cart.status_code == 201
    assert health[0] == 0, health
    assert uids == {"10001"}
    assert process.returncode == 0, log


async def wait_until_ready(http: httpx2.AsyncClient, process: "subprocess.Popen[str]") -> None:
    """Polls as a proxy does, until the shop is ready or its process ends."""
    async with asyncio.timeout(120):
        while True:
            assert process.poll() is None, process.stderr and process.stderr.read()
            try:
                if (await http.get("/readyz")).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.2)
