"""`shop archive`: archives old orders now, shows archived ones, and restores them."""

import click

from shop.actions.archive.archived_orders import archive_all, find_faults, get_archived, restore_order
from shop.actions.archive.contents import encode_rows, load_rows
from shop.actions.context import Context
from shop.base.errors import CannotStart, NotFound
from shop.cli.database_session import run_action
from shop.cli.prepare import load_settings
from shop.models.cart.archived_orders import ArchivedOrder


@click.group(epilog="Example: shop archive show R1234567890")
def archive() -> None:
    """Show and restore archived orders."""


@archive.command(epilog="Example: shop archive run")
def run() -> None:
    """Archive all orders that are due, instead of waiting for the worker."""
    settings = load_settings()
    if settings.archive_url is None:
        raise CannotStart("Set SHOP_ARCHIVE_URL to a directory or a bucket.")
    run_action(settings, archive_all)
    click.echo(f"Orders that are finished for {settings.archive_after} days are in the archive.")


@archive.command(epilog="Example: shop archive show R1234567890 > order.jsonl")
@click.argument("number")
def show(number: str) -> None:
    """Print all rows of an archived order as JSON lines."""

    async def work(ctx: Context) -> bytes:
        return encode_rows(await load_rows(ctx.shared, await _get(ctx, number)))

    click.echo(run_action(load_settings(), work), nl=False)


@archive.command(epilog="Example: shop archive restore R1234567890")
@click.argument("number")
def restore(number: str) -> None:
    """Bring an archived order back, for example to refund it."""

    async def work(ctx: Context) -> ArchivedOrder:
        order = await _get(ctx, number)
        await restore_order(ctx, order)
        return order

    order = run_action(load_settings(), work)
    click.echo(f"Order {order.number} is restored.")


@archive.command(epilog="Example: shop archive verify")
def verify() -> None:
    """Read every archived order, and list those that could not be restored."""
    settings = load_settings()
    count, faults = run_action(settings, find_faults)
    for number, sentence in faults:
        click.echo(f"{number}: {sentence}")
    if faults:
        raise CannotStart(f"{len(faults)} of {count} archived orders cannot be restored.")
    click.echo(f"All {count} archived orders can be restored.")


async def _get(ctx: Context, number: str) -> ArchivedOrder:
    try:
        return await get_archived(ctx, number)
    except NotFound:
        raise CannotStart(f"No archived order has the number {number!r}.") from None
