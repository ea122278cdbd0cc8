"""The shop sends requests of callers only to public addresses, over https."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shop.rules.outgoing_urls import address_error, ascii_host, url_error

PUBLIC = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2a00:1450:4001:830::200e",
    "64:ff9b::1.1.1.1",
]
REFUSED = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.0": "private",
    "10.255.255.255": "private",
    "100.64.0.0": "carrier-grade NAT",
    "100.100.100.200": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "127.0.0.1": "loopback",
    "127.255.255.255": "loopback",
    "168.63.129.16": "cloud metadata",
    "169.254.169.254": "link-local",
    "169.254.0.0": "link-local",
    "172.16.0.0": "private",
    "172.31.255.255": "private",
    "192.0.0.192": "reserved",
    "192.0.2.1": "documentation",
    "192.88.99.1": "reserved",
    "192.168.0.1": "private",
    "198.18.0.0": "benchmarking",
    "198.19.255.255": "benchmarking",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::127.0.0.1": "IPv4-compatible",
    "::1.1.1.1": "IPv4-compatible",
    "::ffff:127.0.0.1": "IPv4-mapped",
    "::ffff:169.254.169.254": "IPv4-mapped",
    "::ffff:1.1.1.1": "IPv4-mapped",
    "64:ff9b::127.0.0.1": "loopback",
    "64:ff9b::10.0.0.1": "private",
    "64:ff9b::169.254.169.254": "link-local",
    "64:ff9b:1::1.1.1.1": "reserved",
    "100::1": "reserved",
    "2001::1": "reserved",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "reserved",
    "2001:2::1": "benchmarking",
    "2001:10::1": "reserved",
    "2001:db8::1": "documentation",
    "2002:7f00:1::": "reserved",
    "2002:a00:1::1": "reserved",
    "2002:101:101::1": "reserved",
    "3fff::1": "documentation",
    "4000::1": "reserved",
    "5f00::1": "reserved",
    "fc00::1": "private",
    "fd00:ec2::254": "private",
    "fd20:ce::254": "private",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "private",
    "ff02::1": "multicast",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert address_error(ip_address(address), is_try_out=False) is None


@pytest.mark.security("A-04")
@pytest.mark.parametrize(("address", "kind"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused(address: str, kind: str) -> None:
    assert address_error(ip_address(address), is_try_out=False) == f"The address is not public ({kind})."


@pytest.mark.parametrize("address", REFUSED)
def test_a_try_out_allows_loopback_only(address: str) -> None:
    is_allowed = address_error(ip_address(address), is_try_out=True) is None

    assert is_allowed == (address in {"127.0.0.1", "127.255.255.255", "::1"})


@given(st.ip_addresses(v=4))
def test_no_other_form_of_an_ipv4_address_is_allowed_if_the_address_is_refused(address: IPv4Address) -> None:
    number = int(address)
    forms = [
        IPv6Address(number),
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(0x64FF9B << 96 | number),
        IPv6Address(0x2002 << 112 | number << 80),
        IPv6Address(0x20010000 << 96 | (number ^ 0xFFFFFFFF)),
    ]

    if address_error(address, is_try_out=False):
        assert all(address_error(form, is_try_out=False) for form in forms)


@given(st.ip_addresses())
def test_an_allowed_address_is_global_for_the_standard_library_too(address: IPv4Address | IPv6Address) -> None:
    is_nat64 = isinstance(address, IPv6Address) and int(address) >> 32 == 0x64FF9B << 64

    if address_error(address, is_try_out=False) is None and not is_nat64:
        assert address.is_global
        assert not address.is_multicast


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "HTTPS://EXAMPLE.com/Path",
        "https://example.com:443/hooks?key=1&b=%2F",
        "https://example.com:8443/hooks",
        "https://example.com./hooks",
        "https://a_b.example.com/",
        "https://1.1.1.1/hooks",
        "https://[2606:4700::1111]:8443/hooks",
        "https://bücher.example/hooks",
        "https://例え.テスト/hooks",
        "https://xn--bcher-kva.example/",
        "https://3com.example.com/",
        "https://example.com/ä",
        "https://example.com/" + "a" * 2000,
    ],
)
def test_https_at_a_public_host_is_allowed(url: str) -> None:
    assert url_error(url, is_try_out=False) is None
    assert url_error(url, is_try_out=True) is None


@pytest.mark.security("A-04")
@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("", "must use https"),
        ("example.com", "must use https"),
        ("//example.com", "must use https"),
        ("http://example.com/", "must use https"),
        ("ftp://example.com/", "must use https"),
        ("file:///etc/passwd", "must use https"),
        ("gopher://example.com/", "must use https"),
        ("javascript:alert(1)", "must use https"),
        ("https:", "host name is invalid"),
        ("https:///path", "host name is invalid"),
        ("https://?a", "host name is invalid"),
        ("https://user@example.com/", "user name"),
        ("https://user:password@example.com/", "user name"),
        ("https://@example.com/", "user name"),
        ("https://1.1.1.1@127.0.0.1/", "user name"),
        ("https://example.com/#top", "fragment"),
        ("https://example.com/#", "fragment"),
        ("https://example.com#@127.0.0.1/", "fragment"),
        ("https://example.com\\@127.0.0.1/", "backslash"),
        ("https://example.com/a b", "space"),
        (" https://example.com/", "space"),
        ("https://example.com/\n", "control"),
        ("https://exam\tple.com/", "control"),
        ("https://example.com/\x00", "control"),
        ("https://example.com/" + "a" * 2048, "longer than 2048"),
        ("https://example.com:0/", "port"),
        ("https://example.com:22/", "port"),
        ("https://example.com:25/", "port"),
        ("https://example.com:80/", "port"),
        ("https://example.com:65536/", "invalid"),
        ("https://example.com:https/", "invalid"),
        ("https://[::1/", "invalid"),
        ("https://[fe80::1%25eth0]/", "host name is invalid"),
        ("https://exa%6dple.com/", "host name is invalid"),
        ("https://a..example.com/", "host name is invalid"),
        ("https://-a.example.com/", "host name is invalid"),
        (f"https://{'a' * 64}.example.com/", "host name is invalid"),
        (f"https://{'a.' * 130}com/", "host name is invalid"),
        ("https://exa mple.com/", "space"),
        ("https://exa<mple.com/", "host name is invalid"),
        ("https://☃︎\u200d.example/", "host name is invalid"),
        ("https://localhost/", "not public"),
        ("https://LOCALHOST./", "not public"),
        ("https://a.localhost:8443/", "not public"),
        ("https://intranet/", "not public"),
        ("https://printer.local/", "not public"),
        ("https://metadata.google.internal/computeMetadata/v1/", "not public"),
        ("https://127.0.0.1/", "not public (loopback)"),
        ("https://[::1]/", "not public (loopback)"),
        ("https://[::ffff:127.0.0.1]/", "not public (IPv4-mapped)"),
        ("https://[::ffff:7f00:1]/", "not public (IPv4-mapped)"),
        ("https://[::127.0.0.1]/", "not public (IPv4-compatible)"),
        ("https://[64:ff9b::a9fe:a9fe]/", "not public (link-local)"),
        ("https://[fd00:ec2::254]/", "not public (private)"),
        ("https://169.254.169.254/latest/meta-data/", "not public (link-local)"),
        ("https://10.0.0.1/", "not public (private)"),
        ("https://2130706433/", "four decimal numbers"),
        ("https://0x7f000001/", "four decimal numbers"),
        ("https://0X7F.1/", "four decimal numbers"),
        ("https://127.0.0.0x1/", "four decimal numbers"),
        ("https://017700000001/", "four decimal numbers"),
        ("https://0177.0.0.1/", "four decimal numbers"),
        ("https://127.1/", "four decimal numbers"),
        ("https://127.0.0.1./", "four decimal numbers"),
        ("https://1.1.1.1.1/", "four decimal numbers"),
        ("https://256.1.1.1/", "four decimal numbers"),
        ("https://example.0x/", "four decimal numbers"),
        ("https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/", "not public (loopback)"),
        ("https://①②⑦.⓪.⓪.①/", "not public (loopback)"),
        ("https://127。0。0。1/", "not public (loopback)"),
        ("https://ⓛocalhost/", "not public"),
    ],
)
def test_another_url_is_refused(url: str, error: str) -> None:
    assert error in (url_error(url, is_try_out=False) or "")


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("http://localhost:9000/hooks", True),
        ("http://a.localhost:9000/hooks", True),
        ("http://127.0.0.1/", True),
        ("http://127.0.0.1:80/", True),
        ("http://127.9.9.9:9000/", True),
        ("http://[::1]:9000/", True),
        ("https://localhost:9000/", True),
        ("http://localhost:22/", False),
        ("http://localhost:443/", False),
        ("http://user@localhost/", False),
        ("http://example.com/", False),
        ("http://10.0.0.1/", False),
        ("https://10.0.0.1/", False),
        ("http://127.1/", False),
        ("http://[::ffff:127.0.0.1]/", False),
        ("http://localhost.example.com/", False),
        ("https://intranet/", False),
    ],
)
def test_a_try_out_allows_http_at_loopback(url: str, is_allowed: bool) -> None:
    assert (url_error(url, is_try_out=True) is None) is is_allowed
    if url.startswith("http://"):
        assert url_error(url, is_try_out=False) is not None


@given(st.text() | st.text(st.sampled_from("htps:/[]@.%#?\\0x127a-_é\uff11。\u200d")).map("https://".__add__))
def test_no_url_raises_an_error(url: str) -> None:
    assert isinstance(url_error(url, is_try_out=False), str | None)


def test_an_international_name_is_sent_in_its_ascii_form() -> None:
    assert ascii_host("Bücher.example") == "xn--bcher-kva.example"
