"""`shop app`: manages Platform API applications."""

import click
import msgspec

from shop.actions.access.applications import NewApplication, create_application, list_applications, revoke_by_client_id
from shop.actions.context import Context
from shop.base.errors import CannotStart
from shop.base.ids import new_id
from shop.cli.database_session import run_action
from shop.cli.prepare import load_settings
from shop.cli.tables import listing
from shop.models.access.applications import Application
from shop.rules.access.permissions import LEVELS


@click.group(epilog='Example: shop app create "Warehouse" --access write')
def app() -> None:
    """Manage applications that call the Platform API."""


@app.command(epilog='Example: shop app create "Warehouse" --access write')
@click.argument("name")
@click.option("--access", type=click.Choice(LEVELS), required=True, help="read: fetch records; write: change them too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for scripts.")
def create(name: str, access: str, as_json: bool) -> None:
    """Create an application and print its client ID and secret. The secret is shown only once."""

    async def work(ctx: Context) -> NewApplication | None:
        return await create_application(
            ctx, application_id=new_id(), name=name, access_level=access, created_by_id=None
        )

    credentials = run_action(load_settings(), work)
    if credentials is None:
        raise CannotStart("The application could not be created; try again.")
    scope = f"admin {access}"
    payload = {
        "client_id": credentials.application.client_id,
        "client_secret": credentials.secret,
        "access": access,
        "scope": scope,
    }
    if as_json:
        click.echo(msgspec.json.encode(payload).decode())
        return
    click.echo(f"Client ID      {payload['client_id']}")
    click.echo(f"Client Secret  {payload['client_secret']}")
    click.echo(f"Scope          {scope}")
    click.echo("The secret is not shown again. Use it to get a token from POST /shop_oauth/token.", err=True)


@app.command("list", epilog="Example: shop app list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, for scripts.")
def list_(as_json: bool) -> None:
    """List the applications, newest first. Secrets are not shown."""
    rows = [
        {
            "client_id": application.client_id,
            "name": application.name,
            "access": application.access_level,
            "created_at": application.created_at,
            "last_used_at": application.last_used_at,
            "live_tokens": application.live_token_count,
            "revoked_at": application.revoked_at,
        }
        for application in run_action(load_settings(), list_applications)
    ]
    click.echo(listing(rows, as_json=as_json, none="No applications yet; create one with `shop app create`."))


@app.command(epilog="Example: shop app revoke shpci_3vQBNpAhcy0pWbYKrF5Fbe")
@click.argument("client_id")
def revoke(client_id: str) -> None:
    """Permanently revoke an application: its secrets and tokens stop working immediately."""

    async def work(ctx: Context) -> Application:
        return await revoke_by_client_id(ctx, client_id)

    application = run_action(load_settings(), work)
    if application.revoked_at:
        click.echo(f"{application.name} ({client_id}) was already revoked.")
    else:
        click.echo(f"{application.name} ({client_id}) is revoked; its secrets and tokens no longer work.")
