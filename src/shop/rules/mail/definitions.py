"""The e-mails to customers: when each is sent, its default texts, and the variables that its texts can use."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shop.models.setup.mails import TEXT_NAMES, MailSettings
from shop.rules.mail.templates import MAX_LENGTHS, TextError, always_shows, check_text
from shop.rules.mail_events import (
    BACK_IN_STOCK,
    CONFIRMATION,
    DRAFT_QUOTE,
    EMAIL_CHANGED,
    EMAIL_CHANGED_NEW,
    NEW_SIGN_IN,
    ORDER_CANCELED,
    ORDER_MESSAGE,
    ORDER_REFUNDED,
    ORDER_SHIPPED,
    PAYMENT_ATTENTION,
)

SIGN_IN_MAIL = "login_code"
CODE = "code"
LONG_CODE_SUBJECT = "Your code for {{ shop }}"
"""Long codes are for addresses under attack: they stay out of the subject."""
MESSAGE = "message"
REQUIRED_TEXTS = frozenset({"subject", "heading", "body"})


class MailVariable(msgspec.Struct, frozen=True):
    """A variable of the texts of an e-mail."""

    description: str
    example: str


class MailDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """An e-mail: its name in the dashboard, when it is sent, its variables and default texts."""

    kind: str
    name: str
    sent_when: str
    variables: Mapping[str, MailVariable]
    subject: str
    heading: str
    body: str
    button: str = ""
    """The label of the link; empty for an e-mail without a link."""
    footer: str = ""
    can_turn_off: bool = True
    part_example: Mapping[str, Any] | None = None
    """For an e-mail of an extension with a part of its own, the templates `parts/<kind>.html` and `.txt`: example
    values of the part.
    """

    @property
    def examples(self) -> dict[str, str]:
        return {name: variable.example for name, variable in self.variables.items()}

    @property
    def text_names(self) -> list[str]:
        """The texts that can be edited."""
        return [name for name in TEXT_NAMES if name != "button" or self.button]

    def texts(self, settings: MailSettings) -> dict[str, str]:
        """Returns the edited texts, or else the defaults."""
        return {name: settings.texts.get(name, getattr(self, name)) for name in TEXT_NAMES}


def text_errors(definition: MailDefinition, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the errors of edited texts by name."""
    errors: dict[str, list[str]] = {}
    for name in definition.text_names:
        text, most = texts.get(name, ""), MAX_LENGTHS[name]
        if len(text) > most:
            errors[name] = [f"must have at most {most:,} characters"]
        elif name in {"subject", "heading", "button"} and len(text.splitlines()) > 1:
            errors[name] = ["must be one line"]
        elif (name in REQUIRED_TEXTS or name == "button") and not text.strip():
            errors[name] = ["can't be blank"]
        else:
            try:
                check_text(text, definition.examples)
            except TextError as error:
                errors[name] = [str(error)]
    # Not the subject alone: long codes stay out of it.
    is_code_mail = definition.kind == SIGN_IN_MAIL and not errors
    if is_code_mail and not any(always_shows(texts[name], CODE) for name in ("heading", "body")):
        errors["body"] = ["The heading or the body must show {{ code }}, outside of any condition."]
    if definition.kind in {ORDER_MESSAGE, DRAFT_QUOTE} and not errors and not always_shows(texts["body"], MESSAGE):
        errors["body"] = ["The body must show {{ message }}, outside of any condition."]
    return errors


_SHOP = {"shop": MailVariable("The name of the shop", "Lantern & Loam")}
_NUMBER = {"number": MailVariable("The number of the order", "R123456789")}
_ORDER_FOOTER = "Questions? Reply to this e-mail and mention your order number, {{ number }}."
_ALL = (
    MailDefinition(
        kind=SIGN_IN_MAIL,
        name="Sign-in code",
        sent_when="A customer asks for a code to sign in.",
        variables={
            **_SHOP,
            CODE: MailVariable("The code; the heading or the body must show it", "123456"),
            "minutes": MailVariable("The number of minutes until the code expires", "10"),
        },
        subject="{{ code }} is your code for {{ shop }}",
        heading="{{ code }}",
        body="Enter this code to sign in to {{ shop }}. It works once and expires in {{ minutes }} minutes.",
        footer="If you did not request this code, ignore this e-mail. Never share the code with anyone.",
        can_turn_off=False,
    ),
    MailDefinition(
        kind=CONFIRMATION,
        name="Order confirmation",
        sent_when="An order is placed.",
        variables={
            **_SHOP,
            **_NUMBER,
            "total": MailVariable("The total of the order", "$64.00"),
            "pickup": MailVariable("“yes” if the customer picks up the goods, or else empty", ""),
        },
        subject="Your order {{ number }} at {{ shop }}",
        heading="Thank you for your order",
        body="We received your order {{ number }}"
        "{% if not pickup %} and will tell you when it is on its way{% endif %}.",
        button="View your order",
        footer="Keep this e-mail: you will need the order number if you have a question about your order.",
    ),
    MailDefinition(
        kind=ORDER_SHIPPED,
        name="Order shipped",
        sent_when="A shipment of an order is sent; one e-mail for each shipment.",
        variables={
            **_SHOP,
            **_NUMBER,
            "carrier": MailVariable("The shipping method", "Standard shipping"),
            "tracking": MailVariable("The tracking number; may be empty", "1Z999AA10123456784"),
        },
        subject="Your order {{ number }} is on its way",
        heading="Your order is on its way",
        body="Good news: we sent these items of your order {{ number }}{% if carrier %} by {{ carrier }}{% endif %}."
        "{% if tracking %}\n\nTracking number: {{ tracking }}{% endif %}",
        button="Track your parcel",
        footer=_ORDER_FOOTER,
    ),
    MailDefinition(
        kind=ORDER_REFUNDED,
        name="Refund",
        sent_when="A payment is refunded, in part or in full.",
        variables={
            **_SHOP,
            **_NUMBER,
            "amount": MailVariable("The refunded amount", "$12.00"),
            "credit": MailVariable("“yes” if it is store credit instead of money, or else empty", ""),
        },
        subject="Your refund of {{ amount }} from {{ shop }}",
        heading="We refunded {{ amount }}",
        body="We refunded {{ amount }} of your order {{ number }}{% if credit %} as store credit, which you can use "
        "for your next order.{% else %}, the same way you paid. Depending on your bank, it can take a few days until "
        "you see it.{% endif %}",
        button="View your order",
        footer=_ORDER_FOOTER,
    ),
    MailDefinition(
        kind=ORDER_CANCELED,
        name="Order canceled",
        sent_when="An order is canceled.",
        variables={**_SHOP, **_NUMBER},
        subject="Your order {{ number }} is canceled",
        heading="Your order is canceled",
        body="We canceled your order {{ number }}. If you have paid already, you get your money back; we tell you in a "
        "separate e-mail.",
        button="View your order",
        footer="If you did not expect this, reply to this e-mail and mention your order number, {{ number }}.",
    ),
    MailDefinition(
        kind=PAYMENT_ATTENTION,
        name="Payment needs attention",
        sent_when="A payment of a placed order fails, or a placed order owes an amount again; at most once an hour.",
        variables={**_SHOP, **_NUMBER, "amount": MailVariable("The amount to pay", "$64.00")},
        subject="Your order {{ number }} is waiting for your payment",
        heading="Your payment needs attention",
        body="We have not received {{ amount }} for your order {{ number }} yet. We send it as soon as it is paid.",
        button="Pay now",
        footer=_ORDER_FOOTER,
    ),
    MailDefinition(
        kind=ORDER_MESSAGE,
        name="Message about an order",
        sent_when="An operator writes to the customer on the page of an order.",
        variables={
            **_SHOP,
            **_NUMBER,
            MESSAGE: MailVariable("What the operator wrote; the body must show it", "Your lantern arrives on Monday."),
        },
        subject="About your order {{ number }}",
        heading="About your order {{ number }}",
        body="{{ message }}",
        button="View your order",
        footer=_ORDER_FOOTER,
        can_turn_off=False,
    ),
    MailDefinition(
        kind=DRAFT_QUOTE,
        name="Quote",
        sent_when="An operator e-mails the quote of a draft, which is attached as PDF.",
        variables={
            **_SHOP,
            "number": MailVariable("The number of the draft", "R123456789"),
            MESSAGE: MailVariable("What the operator wrote; the body must show it", "As discussed on the phone."),
        },
        subject="Your quote {{ number }} from {{ shop }}",
        heading="Your quote",
        body="{{ message }}\n\nOur quote {{ number }} is attached as PDF. It says until when it is valid.",
        footer="Questions? Reply to this e-mail and mention the number of the quote, {{ number }}.",
        can_turn_off=False,
    ),
    MailDefinition(
        kind=BACK_IN_STOCK,
        name="Back in stock",
        sent_when="A product is back in stock, to owners of wishlists who asked to be told; once for each request.",
        variables={**_SHOP, "product": MailVariable("The product", "Copper lantern")},
        subject="{{ product }} is back in stock",
        heading="{{ product }} is back",
        body="You asked us to tell you: {{ product }} is available again at {{ shop }}. We do not know how long the "
        "stock lasts.",
        button="View the product",
        footer="You get this e-mail once, because you asked for it on your wishlist.",
    ),
    MailDefinition(
        kind=NEW_SIGN_IN,
        name="Sign-in from a new device",
        sent_when="A customer signs in on a kind of device that has not been used before, except for the first time.",
        variables={
            **_SHOP,
            "device": MailVariable("The browser and the system", "Firefox on Windows"),
            "time": MailVariable("The time of the sign-in", "Nov 17, 2026, 9:30 AM UTC"),
        },
        subject="New sign-in to your account at {{ shop }}",
        heading="New sign-in to your account",
        body="Someone signed in to your account at {{ shop }}:\n\n{{ device }}\n{{ time }}\n\nIf this was you, there "
        "is nothing to do. If not, end this session in your account under “Sessions”, and make sure that only you can "
        "read your e-mail.",
        button="Review your sessions",
    ),
    MailDefinition(
        kind=EMAIL_CHANGED,
        name="E-mail address changed (old address)",
        sent_when="A customer's e-mail address changes. Sent to the old address.",
        variables=_SHOP,
        subject="The e-mail address of your account at {{ shop }} was changed",
        heading="Your e-mail address was changed",
        body="You were signed out everywhere and can no longer sign in with this address. Login codes and order "
        "confirmations now go to the new address.\n\nIf you did not request this change, contact the shop immediately.",
    ),
    MailDefinition(
        kind=EMAIL_CHANGED_NEW,
        name="E-mail address changed (new address)",
        sent_when="A customer's e-mail address changes. Sent to the new address.",
        variables=_SHOP,
        subject="This is now the e-mail address of your account at {{ shop }}",
        heading="Your new e-mail address",
        body="This is now the e-mail address of your account at {{ shop }}. Sign in with it; login codes and order "
        "confirmations go here.\n\nIf you do not have an account at {{ shop }}, contact the shop: someone entered your "
        "address by mistake.",
    ),
)
DEFINITIONS: dict[str, MailDefinition] = {each.kind: each for each in _ALL}
"""By kind. Extensions add theirs when a process starts."""
