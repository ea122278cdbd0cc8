"""`shop doctor` checks the certificate of SHOP_PUBLIC_URL as a browser does, and names its end in time."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Command, external
from tests.mailserver import free_port, make_certificate

DAY = 86_400.0


@contextmanager
def serve_tls(directory: Path) -> Iterator[str]:
    """The URL of a server with the certificate of this directory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "certificate.pem", directory / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    # The handshake belongs to the thread of the connection: a client that refuses the certificate ends only that.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def find_line(shop: Command, database: str, url: str, directory: Path) -> str:
    """The line of the doctor about certificates, on a machine that trusts the certificate of this directory."""
    trust = {"SSL_CERT_FILE": str(directory / "certificate.pem")}
    result = shop("doctor", **external(database, SHOP_DATA_DIR=str(directory), SHOP_PUBLIC_URL=url), **trust)
    (line,) = (line for line in result.stdout.splitlines() if line[8:].startswith("certificates: "))
    return line


@pytest.mark.parametrize(
    ("address", "days", "line"),
    [
        ("127.0.0.1", 90.5, "  ok    certificates: the certificate of {url} is valid for 90 days"),
        ("127.0.0.1", 5.5, "  FAIL  certificates: the certificate of {url} ends in 5 days; renew it."),
        ("127.0.0.1", -0.5, "  FAIL  certificates: {url} has no valid certificate: certificate has expired."),
        (
            "127.0.0.2",
            90.5,
            "  FAIL  certificates: {url} has no valid certificate: IP address mismatch, certificate is not valid for "
            "'127.0.0.1'.",
        ),
    ],
    ids=["valid", "ends soon", "expired", "other name"],
)
def test_the_doctor_checks_the_certificate_of_the_shop(
    address: str, days: float, line: str, shop: Command, own_database: Callable[..., str], tmp_path: Path
) -> None:
    make_certificate(tmp_path, address=address, seconds=days * DAY)

    with serve_tls(tmp_path) as url:
        assert find_line(shop, own_database(), url, tmp_path) == line.format(url=url)


def test_the_doctor_trusts_no_unknown_authority_and_tolerates_an_unreachable_address(
    shop: Command, own_database: Callable[..., str], tmp_path: Path
) -> None:
    database, closed_url = own_database(), f"https://127.0.0.1:{free_port()}"
    for name in ("served", "trusted"):
        (tmp_path / name).mkdir()
        make_certificate(tmp_path / name, seconds=90 * DAY)

    with serve_tls(tmp_path / "served") as url:
        unknown = find_line(shop, database, url, tmp_path / "trusted")
    closed = find_line(shop, database, closed_url, tmp_path / "trusted")

    assert unknown.startswith(f"  FAIL  certificates: {url} has no valid certificate: self")
    assert (
        closed
        == f"  ok    certificates: {closed_url} cannot be reached from this machine, so its certificate was "
        + ("not checked")
    )
