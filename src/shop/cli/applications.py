"""`shop app`."""

import click
import msgspec

from shop.actions.applications import Made, create_application
from shop.actions.context import Context
from shop.base.errors import CannotStart
from shop.base.ids import new_id
from shop.cli.acting import act
from shop.cli.prepare import settings_here
from shop.rules.permissions import LEVELS


@click.group(epilog='Example: shop app create "Warehouse" --access write')
def app() -> None:
    """Platform applications: machines that may call the Platform API."""


@app.command(epilog='Example: shop app create "Warehouse" --access write')
@click.argument("name")
@click.option("--access", type=click.Choice(LEVELS), required=True, help="read: fetch records; write: change them too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
def create(name: str, access: str, as_json: bool) -> None:
    """Make an application, and print its client id and secret, once."""

    async def work(ctx: Context) -> Made | None:
        return await create_application(
            ctx, application_id=new_id(), name=name, access_level=access, created_by_id=None
        )

    made = act(settings_here(), work)
    if made is None:
        raise CannotStart("The application could not be made; try again.")
    scope = f"admin {access}"
    shown = {"client_id": made.application.client_id, "client_secret": made.secret, "access": access, "scope": scope}
    if as_json:
        click.echo(msgspec.json.encode(shown).decode())
        return
    click.echo(f"Client ID      {shown['client_id']}")
    click.echo(f"Client Secret  {shown['client_secret']}")
    click.echo(f"Scope          {scope}")
    click.echo("The secret is not shown again. Get a token with it at POST /shop_oauth/token.", err=True)
