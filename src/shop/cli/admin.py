"""`shop admin`: links with which operators choose a password."""

import click

from shop.actions.context import Context
from shop.actions.operators import make_first_link, make_link
from shop.base.settings import Settings
from shop.cli.acting import act, act_on
from shop.cli.prepare import settings_here


@click.group(epilog="Example: shop admin create ada@example.com")
def admin() -> None:
    """Let people into the dashboard."""


@admin.command(epilog="Example: shop admin create ada@example.com")
@click.argument("email")
@click.option("--url", help="Where the shop is reached; SHOP_PUBLIC_URL, or http://127.0.0.1:8000 without it.")
@click.option("--forget-totp", is_flag=True, help="Remove an authenticator that was lost.")
@click.option("--enable", is_flag=True, help="Let an operator in again who was shut out.")
def create(email: str, url: str | None, forget_totp: bool, enable: bool) -> None:
    """Print a link, good for one use within 15 minutes, with which EMAIL chooses a password for the dashboard.

    An operator who exists gets a link for a new password; using it signs them out everywhere.
    """
    settings = settings_here()

    async def work(ctx: Context) -> str:
        return await make_link(ctx, email, enable=enable, forget_totp=forget_totp)

    token = act(settings, work)
    base = (url or settings.public_url or "http://127.0.0.1:8000").rstrip("/")
    click.echo(f"{base}/admin/join/{token}")
    click.echo(f"For {email}; open it within 15 minutes. It works once.", err=True)


def first_link(settings: Settings, url: str) -> str | None:
    """The link of a shop that has no operator yet."""
    return act_on(url, settings, make_first_link)
