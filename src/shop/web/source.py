"""Determines the source address of a request: the peer, or the address that a trusted proxy forwards."""

import re
from collections.abc import Iterable, Sequence

from shop.base.client_networks import parse_address
from shop.base.config.setting_parsers import Network
from shop.base.config.settings import is_loopback
from shop.web.asgi import Scope

_HOST_NAME = re.compile(rb"(?:\[([^\]]*)\]|([^:]*))(?::[0-9]*)?", re.ASCII)
_FORWARDING_HEADERS = frozenset({b"forwarded", b"via", b"x-real-ip"})


def is_direct(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Returns whether a request was sent to a loopback host and not forwarded by a proxy.

    With DNS rebinding a page of another site can call a loopback service, but only with that site's own Host.
    """
    has_host = False
    for name, value in headers:
        if name == b"host":
            has_host = _is_loopback_host(value)
            if not has_host:
                return False
        elif name in _FORWARDING_HEADERS or name.startswith(b"x-forwarded-"):
            return False
    return has_host


def _is_loopback_host(value: bytes) -> bool:
    match = _HOST_NAME.fullmatch(value.strip())
    return match is not None and is_loopback((match[1] or match[2]).decode("latin-1").lower())


def source_address(scope: Scope, trusted_proxies: Sequence[Network]) -> str:
    """Returns the rightmost X-Forwarded-For address that is not a trusted proxy; addresses left of it can be forged."""
    client = scope.get("client")
    peer: str = _plain(client[0]) if client else "unknown"
    if not trusted_proxies or not _is_trusted(peer, trusted_proxies):
        return peer
    forwarded_for = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    for hop in reversed([part.strip() for part in forwarded_for.split(",") if part.strip()]):
        if not _is_address(hop):
            return peer
        peer = _plain(hop)
        if not _is_trusted(hop, trusted_proxies):
            break
    return peer


def _plain(text: str) -> str:
    """Normalizes an IPv4-mapped address: a dual-stack socket reports an IPv4 peer as ::ffff:10.0.0.1."""
    if "." not in text or not text.lower().startswith("::ffff:"):
        return text
    return text[7:] if _is_address(text[7:]) else text


def _is_address(text: str) -> bool:
    return parse_address(text) is not None


def _is_trusted(text: str, trusted_proxies: Sequence[Network]) -> bool:
    if not _is_address(text):
        return False
    address = parse_address(_plain(text))
    return any(address in network for network in trusted_proxies)
