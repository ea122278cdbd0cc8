"""Client addresses, and the networks by which their requests are rate limited."""

import ipaddress
from functools import lru_cache

# A household has a /64 or a /56, a hosting customer a /48: a client with many small networks must not multiply its
# limit by their number.
_IPV6_PREFIXES = ((64, 1), (56, 4), (48, 16))


@lru_cache(maxsize=4096)
def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an IP address, or returns None. Cached, because a request asks several times about the same one."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def networks_of(source: str) -> tuple[tuple[str, int], ...]:
    """Returns the networks of a source, each with the factor by which a per-client limit is multiplied."""
    address = parse_address(source)
    if address is None or isinstance(address, ipaddress.IPv4Address):
        return ((source, 1),)
    if address.ipv4_mapped:
        return ((str(address.ipv4_mapped), 1),)
    return tuple(
        (str(ipaddress.ip_network((int(address), prefix), strict=False)), factor) for prefix, factor in _IPV6_PREFIXES
    )
