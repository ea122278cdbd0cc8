"""Reads the TLS certificate that a web server shows."""

import socket
import ssl
from datetime import datetime
from urllib.parse import urlsplit

from cryptography import x509

_SECONDS = 5.0


def find_certificate_end(url: str) -> datetime:
    """Returns the end of the certificate of an https URL; raises OSError if the server cannot be reached, and its
    subclass `ssl.SSLCertVerificationError` if the certificate is not valid.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    with (
        socket.create_connection((host, parts.port or 443), _SECONDS) as connection,
        ssl.create_default_context().wrap_socket(connection, server_hostname=host) as session,
    ):
        document = session.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(document or b"").not_valid_after_utc
