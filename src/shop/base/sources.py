"""Who counts as one caller."""

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=4096)
def network_of(source: str) -> str:
    """An IPv4 address is one caller; of IPv6 a household has a whole /64."""
    try:
        address = ipaddress.ip_address(source)
    except ValueError:
        return source
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else source
