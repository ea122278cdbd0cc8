"""An extension whose parts all fail; some of them only until the file of its setting exists."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from shop.extension import (
    Basket,
    BasketItem,
    BenefitKind,
    ConditionKind,
    DashboardPage,
    EventListener,
    Extension,
    ExtensionContext,
    ExtensionMail,
    ExtensionRequest,
    Invalid,
    ListenedEvent,
    MailDefinition,
    MailValues,
    MailVariable,
    MenuLink,
    OrderPanel,
    OrderSummary,
    Package,
    PageContent,
    ShippingCalculator,
    StorefrontEndpoint,
    new_id,
)

NOTE_KIND = "x_faulty_note"
_TEMPLATES = Path(__file__).resolve().parent / "templates"


class FaultySettings(msgspec.Struct, frozen=True):
    """The file that ends the failures of the listener."""

    switch: str = ""


class Note(msgspec.Struct):
    """The body of the endpoint."""

    text: str


async def fail(_ctx: ExtensionContext, _argument: Any) -> Any:
    raise RuntimeError("secret internals")


async def hang(_ctx: ExtensionContext, _order: OrderSummary) -> PageContent | None:
    await asyncio.Event().wait()
    return None


async def echo(_ctx: ExtensionContext, request: ExtensionRequest) -> Note:
    if request.body.text == "refused":
        raise Invalid({"text": ["is refused"]})
    return Note(request.body.text)


async def handle_event(ctx: ExtensionContext, event: ListenedEvent) -> None:
    is_switched_on = await asyncio.to_thread(Path(ctx.settings.switch).exists)
    if event.record and event.record["name"].startswith("Poison") and not is_switched_on:
        raise RuntimeError(f"cannot handle {event.record['name']}")


async def send_note(ctx: ExtensionContext, request: ExtensionRequest) -> Note:
    """Queues an e-mail to the address of the body, or one of the shop's own kinds, which is refused."""
    kind, _, address = request.body.text.rpartition(" ")
    is_queued = await ctx.send_mail(kind or NOTE_KIND, new_id(), to=address)
    return Note(str(is_queued))


async def load_note(ctx: ExtensionContext, _ref_id: UUID) -> MailValues | None:
    """Fails until the file beside that of the setting exists."""
    if not await asyncio.to_thread(Path(f"{ctx.settings.switch}_mail").exists):
        raise RuntimeError("secret internals")
    return MailValues(variables={"note": "at last"})


def fail_condition(_settings: Mapping[str, Any], _basket: Basket) -> Any:
    raise RuntimeError("secret internals")


def fail_benefit(
    _settings: Mapping[str, Any], _basket: Basket, items: Sequence[BasketItem], _remaining: int
) -> Iterable[tuple[int, tuple[int, int]]]:
    yield items[0].position, (1, 0)
    raise RuntimeError("secret internals")


def fail_cost(_package: Package, _amounts: Sequence[tuple[Decimal, int]]) -> int | None:
    raise RuntimeError("secret internals")


EXTENSION = Extension(
    name="faulty",
    version="0.0.1",
    api_version=1,
    settings=FaultySettings,
    endpoints=[
        StorefrontEndpoint(path="fail", handler=fail, summary="Fail", who="anyone"),
        StorefrontEndpoint(
            method="POST", path="notes", handler=echo, summary="Echo a note", who="anyone", takes=Note, shows=Note
        ),
        StorefrontEndpoint(
            method="POST", path="mails", handler=send_note, summary="Send a note", who="anyone", takes=Note, shows=Note
        ),
    ],
    pages=[DashboardPage(handler=fail, summary="Faulty", permission="orders:read")],
    menu=[MenuLink("Faulty")],
    order_panels=[OrderPanel(title="Broken panel", handler=fail), OrderPanel(title="Slow panel", handler=hang)],
    mails=[
        ExtensionMail(
            definition=MailDefinition(
                kind=NOTE_KIND,
                name="Note",
                sent_when="Never",
                variables={"shop": MailVariable("The shop", "Shop"), "note": MailVariable("A note", "Hello")},
                subject="Note: {{ note }}",
                heading="{{ note }}",
                body="A note of {{ shop }}.",
                part_example={},
            ),
            load=load_note,
        )
    ],
    listeners=[EventListener(name="categories", types=["taxonomy.*"], handler=handle_event)],
    shipping_calculators=[ShippingCalculator(type="x_faulty_cost", label="Faulty", calculate=fail_cost)],
    website_templates=_TEMPLATES / "website",
    mail_templates=_TEMPLATES / "mails",
    promotion_conditions={"x_faulty_condition": ConditionKind("Faulty", {}, fail_condition)},
    promotion_benefits={"x_faulty_benefit": BenefitKind("Faulty", {}, "line", fail_benefit)},
)
