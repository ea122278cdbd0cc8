"""Records the URL at which the shop is served, for commands that print it."""

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

FILE = "listening"
CONNECT_SECONDS = 0.5


@contextmanager
def record_url(data_dir: Path, url: str) -> Iterator[None]:
    """Records the URL while the shop is served; ignores a directory that cannot be written."""
    file = data_dir / FILE
    with contextlib.suppress(OSError):
        file.write_text(f"{url}\n")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if file.read_text().strip() == url:
                file.unlink()


def served_url(data_dir: Path, default: str) -> str:
    """Returns the last recorded URL if something listens there, else the default."""
    try:
        url = (data_dir / FILE).read_text().strip()
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_SECONDS):
            return url
    except (OSError, ValueError):
        return default
