"""An extension whose parts all fail; some of them only until the file of its setting exists."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

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
    ExtensionRequest,
    Invalid,
    ListenedEvent,
    MenuLink,
    OrderPanel,
    OrderSummary,
    Package,
    PageContent,
    ShippingCalculator,
    StorefrontEndpoint,
)

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
    ],
    pages=[DashboardPage(handler=fail, summary="Faulty", permission="orders:read")],
    menu=[MenuLink("Faulty")],
    order_panels=[OrderPanel(title="Broken panel", handler=fail), OrderPanel(title="Slow panel", handler=hang)],
    listeners=[EventListener(name="categories", types=["taxonomy.*"], handler=handle_event)],
    shipping_calculators=[ShippingCalculator(type="x_faulty_cost", label="Faulty", calculate=fail_cost)],
    website_templates=_TEMPLATES / "website",
    mail_templates=_TEMPLATES / "mails",
    promotion_conditions={"x_faulty_condition": ConditionKind("Faulty", {}, fail_condition)},
    promotion_benefits={"x_faulty_benefit": BenefitKind("Faulty", {}, "line", fail_benefit)},
)
