"""Where a shop of this data directory is served, for commands that print its address."""

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

FILE = "listening"
DEFAULT_URL = "http://127.0.0.1:8000"
CONNECT_SECONDS = 0.5


@contextmanager
def announced(data_dir: Path, url: str) -> Iterator[None]:
    """Notes the address while the shop is served. A directory that cannot be written costs the note alone."""
    file = data_dir / FILE
    with contextlib.suppress(OSError):
        file.write_text(f"{url}\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if file.read_text().strip() == url:
                file.unlink()


def served_url(data_dir: Path) -> str:
    """The address that was noted last, if something listens there; else the one that `shop serve` has by itself."""
    try:
        url = (data_dir / FILE).read_text().strip()
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_SECONDS):
            return url
    except (OSError, ValueError):
        return DEFAULT_URL
