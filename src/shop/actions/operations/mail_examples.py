"""Example data of e-mails, for previews and tests in the dashboard."""

from collections.abc import Mapping

from shop.actions.context import Shared
from shop.actions.operations.mail_layout import MailContent
from shop.actions.operations.order_mail import PaymentRequest
from shop.base.money import currency_digits, money_text
from shop.rules.mail.definitions import CODE, SIGN_IN_MAIL, MailDefinition
from shop.rules.mail_events import CONFIRMATION, ORDER_CANCELED, ORDER_SHIPPED

_ITEMS = ((2, "Copper lantern", "Size: Large"), (1, "Potting soil, 10 l", ""))
_PRICES = (48, 12)
_SHIPPING = 4
_PARTS = {CONFIRMATION: "order", ORDER_SHIPPED: "items", ORDER_CANCELED: "items"}


def build_example(shared: Shared, definition: MailDefinition, base_url: str | None) -> MailContent:
    """Returns example data in the currency and locale of the shop."""
    currency = shared.shop.currencies[0]
    money, unit = money_text(currency, shared.shop.default_locale), 10 ** currency_digits(currency)
    amounts = {"total": money((sum(_PRICES) + _SHIPPING) * unit), "amount": money(_PRICES[-1] * unit)}
    variables = definition.examples | {"shop": shared.shop.name}
    variables |= {name: text for name, text in amounts.items() if name in variables}
    details: Mapping[str, object] = definition.part_example or {}
    if definition.kind == CONFIRMATION:
        details = {
            "number": variables["number"],
            "lines": [(*item, money(price * unit)) for item, price in zip(_ITEMS, _PRICES, strict=True)],
            "sums": [("Items", money(sum(_PRICES) * unit)), ("Shipping", money(_SHIPPING * unit))],
            "total": amounts["total"],
            "included": None,
            "payments": [("Bank transfer", amounts["total"])],
            "requests": [PaymentRequest(amounts["total"], "Bank transfer", ("IBAN DE02 1203 0000 0000 2020 51",))],
            "payment_url": None,
            "shipping_methods": "Standard shipping",
            "addresses": [("Shipping and billing address", ("Ada Lovelace", "12 Garden Lane", "Springfield"))],
        }
    elif definition.kind in {ORDER_SHIPPED, ORDER_CANCELED}:
        details = {"items": _ITEMS}
    return MailContent(
        variables=variables,
        # A link to the home page: an example has no record of its own.
        url=base_url if definition.button else None,
        part=definition.kind if definition.part_example is not None else _PARTS.get(definition.kind),
        details=details,
        code=variables[CODE] if definition.kind == SIGN_IN_MAIL else None,
    )
