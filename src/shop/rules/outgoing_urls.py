"""Which URLs and IP addresses from a caller the shop can send requests to: public ones, over https.

Both are checked: the URL when it is entered and before each request, and the address of each connection
(`gateways/safe_http.py`). Only the second check is safe: the owner of a name can change its address at any time.
"""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import idna

MAX_URL = 2048
_MAX_HOST = 253
# The special-purpose registries of IANA. Not `is_global` of the standard library, whose answers depend on its version.
_REFUSED = tuple(
    (ip_network(network), kind)
    for kind, networks in {
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
        "loopback": "127.0.0.0/8 ::1/128",
        "link-local": "169.254.0.0/16 fe80::/10",
        "carrier-grade NAT": "100.64.0.0/10",
        "multicast": "224.0.0.0/4 ff00::/8",
        "unspecified": "0.0.0.0/8 ::/128",
        "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "benchmarking": "198.18.0.0/15 2001:2::/48",
        # Azure serves metadata at a public address; the other clouds at link-local, private or NAT addresses.
        "cloud metadata": "168.63.129.16/32",
        # 192.88.99.0/24: relays of 6to4. 2001::/23: Teredo and other protocols. 2002::/16: 6to4.
        "reserved": "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 2001::/23 2002::/16",
        "IPv4-mapped": "::ffff:0:0/96",
        "IPv4-compatible": "::/96",
    }.items()
    for network in networks.split()
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# Browsers read a host as an IPv4 address if its last label is a number, also an octal or hexadecimal one.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_DEFAULT_PORTS = {"https": 443, "http": 80}
_LOCAL_DOMAINS = (".local", ".internal", ".home.arpa")


def address_error(address: IPv4Address | IPv6Address, *, is_try_out: bool) -> str | None:
    """Returns why the shop does not connect to an address; None for a public one. A try-out can use loopback."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        # On a network without IPv4, the name server maps IPv4 addresses to this prefix.
        return address_error(IPv4Address(address.packed[-4:]), is_try_out=False)
    kind = _refused_kind(address)
    if kind is None or (kind == "loopback" and is_try_out):
        return None
    return f"The address is not public ({kind})."


def _refused_kind(address: IPv4Address | IPv6Address) -> str | None:
    for network, kind in _REFUSED:
        if address.version == network.version and address in network:
            return kind
    return "reserved" if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST else None


def url_error(url: str, *, is_try_out: bool) -> str | None:
    """Returns why the shop sends no request to a URL; None for https at a public host. A try-out can use http at
    loopback.
    """
    if len(url) > MAX_URL:
        return f"The URL is longer than {MAX_URL} characters."
    if _UNSAFE.search(url):
        return "The URL contains a space, a control character or a backslash."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "The URL is invalid."
    if "#" in url:
        return "The URL contains a fragment (#)."
    return _scheme_error(parts, is_try_out=is_try_out) or _authority_error(parts, port, is_try_out=is_try_out)


def _scheme_error(parts: SplitResult, *, is_try_out: bool) -> str | None:
    can_use_http = is_try_out and _is_loopback(parts.hostname or "")
    return None if parts.scheme in ({"https", "http"} if can_use_http else {"https"}) else "The URL must use https."


def _authority_error(parts: SplitResult, port: int | None, *, is_try_out: bool) -> str | None:
    if "@" in parts.netloc:
        return "The URL contains a user name or password."
    if port is not None and port < 1024 and port != _DEFAULT_PORTS[parts.scheme]:
        return "The port must be 443 or at least 1024."
    host = ascii_host(parts.hostname or "")
    return "The host name is invalid." if host is None else _host_error(host, is_try_out=is_try_out)


def ascii_host(host: str) -> str | None:
    """Returns a host as it is sent, with international names in IDNA form; None if it is invalid."""
    if ":" in host:
        return host if _parse_address(host) and "%" not in host else None
    if not host.isascii():
        try:
            # With the mapping of UTS 46, as browsers do. It also maps wide digits to those of an IPv4 address.
            host = idna.encode(host, uts46=True, std3_rules=True).decode()
        except (idna.IDNAError, UnicodeError):
            return None
    host = host.lower()
    labels = host.removesuffix(".").split(".")
    return host if len(host) <= _MAX_HOST and all(_LABEL.fullmatch(label) for label in labels) else None


def _host_error(host: str, *, is_try_out: bool) -> str | None:
    address = _parse_address(host)
    if address is not None:
        return address_error(address, is_try_out=is_try_out)
    name = host.removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return "An IPv4 address must have four decimal numbers."
    if _is_loopback(name):
        return None if is_try_out else "The host name is not public."
    if "." not in name or name.endswith(_LOCAL_DOMAINS):
        return "The host name is not public."
    return None


def _is_loopback(host: str) -> bool:
    address = _parse_address(host)
    return address.is_loopback if address else host == "localhost" or host.endswith(".localhost")


def _parse_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
