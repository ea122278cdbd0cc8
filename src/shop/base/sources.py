"""Which networks a client address is counted under."""

import ipaddress
from functools import lru_cache

# A household has a /64 or a /56, a customer of a host a /48: whoever has many of the small networks must not have as
# many times the limit.
_IPV6_PREFIXES = ((64, 1), (56, 4), (48, 16))


@lru_cache(maxsize=4096)
def networks_of(source: str) -> tuple[tuple[str, int], ...]:
    """The networks a source is counted under, each with the factor by which a limit for one caller is multiplied."""
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
