"""The networks under which a client address is counted."""

import pytest

from shop.base.client_networks import networks_of


@pytest.mark.security("M-07")
def test_an_ipv6_address_is_counted_in_three_networks_each_with_its_factor() -> None:
    assert networks_of("2001:db8:12:3456:7::8") == (
        ("2001:db8:12:3456::/64", 1),
        ("2001:db8:12:3400::/56", 4),
        ("2001:db8:12::/48", 16),
    )


@pytest.mark.parametrize("source", ["198.51.100.7", "::ffff:198.51.100.7", "::ffff:c633:6407"])
def test_an_ipv4_address_is_one_source_in_any_notation(source: str) -> None:
    assert networks_of(source) == (("198.51.100.7", 1),)


def test_text_that_is_no_address_is_counted_as_it_is() -> None:
    assert networks_of("unknown") == (("unknown", 1),)
