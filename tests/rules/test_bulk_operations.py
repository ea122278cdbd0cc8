"""Changed prices: by percent or amount, rounded, and never zero or less."""

from decimal import Decimal

import pytest

from shop.rules.catalog_bulk.operations import BulkOperation, change_amount


@pytest.mark.parametrize(
    ("minor", "currency", "number", "is_percent", "rounding", "result"),
    [
        (2400, "USD", "5", True, "none", 2520),
        (2400, "USD", "5", True, "95", 2495),
        (2400, "USD", "5", True, "99", 2499),
        (2400, "USD", "5", True, "whole", 2500),
        (1999, "USD", "-10", True, "none", 1799),
        (2400, "USD", "1.50", False, "none", 2550),
        (2400, "USD", "-1.50", False, "none", 2250),
        (20, "USD", "1", True, "95", 95),
        (10, "USD", "1", True, "whole", 100),
        (100, "USD", "-1", False, "none", 100),
        (100, "USD", "-5", False, "none", 100),
        (1000, "JPY", "5", True, "95", 1050),
        (1234, "KWD", "0", True, "95", 950),
        (10**15 - 1, "USD", "10", True, "none", 10**15 - 1),
    ],
)
def test_a_price_is_changed_and_rounded(
    minor: int, currency: str, number: str, is_percent: bool, rounding: str, result: int
) -> None:
    operation = BulkOperation(
        "price", currency=currency, number=Decimal(number), is_percent=is_percent, rounding=rounding
    )

    assert change_amount(minor, operation) == result
