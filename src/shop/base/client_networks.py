"""Networks by which requests of a client address are rate limited."""

import ipaddress
from functools import lru_cache

# A household has a /64 or a /56, a hosting customer a /48: a client with many small networks must not multiply its
# limit by their number.
_IPV6_PREFIXES = ((64, 1), (56, 4), (48, 16))


@lru_cache(maxsize=4096)
def networks_of(source: str) -> tuple[tuple[str, int], ...]:
    """Returns the networks of a source, each with the factor by which a per-client limit is multiplied."""
    try:
        address = ipaddress.ip_address(source)
    except ValueError:
        return ((source, 1),)
    if isinstance(address, ipaddress.IPv4Address):
        return ((source, 1),)
    if address.ipv4_mapped:
        return ((str(address.ipv4_mapped), 1),)
    return tuple(
        (str(ipaddress.ip_network((int(address), prefix), strict=False)), factor) for prefix, factor in _IPV6_PREFIXES
    )
