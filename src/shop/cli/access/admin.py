"""`shop admin`: manages dashboard operators."""

import click

from shop.actions.access.operators import disable_by_email, has_operators, list_operators, make_first_link, make_link
from shop.actions.context import Context
from shop.base.config.settings import Settings
from shop.cli.database_session import run_action, run_action_on
from shop.cli.prepare import load_settings
from shop.cli.server.address import served_url
from shop.cli.server.banner import base_url
from shop.cli.tables import listing


@click.group(epilog="Example: shop admin create ada@example.com")
def admin() -> None:
    """Manage dashboard operators."""


@admin.command(epilog="Example: shop admin create ada@example.com")
@click.argument("email")
@click.option("--url", help="Base URL of the link; defaults to SHOP_PUBLIC_URL or the running shop.")
@click.option("--forget-totp", is_flag=True, help="Remove a lost authenticator.")
@click.option("--forget-passkeys", is_flag=True, help="Remove all passkeys, such as those of a lost device.")
@click.option("--enable", is_flag=True, help="Enable a disabled operator again.")
def create(email: str, url: str | None, forget_totp: bool, forget_passkeys: bool, enable: bool) -> None:
    """Print a one-time link, valid for 15 minutes, with which EMAIL sets a dashboard password.

    For an existing operator, using the link sets a new password and ends all their sessions.
    """
    settings = load_settings()

    async def work(ctx: Context) -> str:
        return await make_link(ctx, email, enable=enable, forget_totp=forget_totp, forget_passkeys=forget_passkeys)

    token = run_action(settings, work)
    default = base_url(settings.host, settings.port)
    base = (url or settings.public_url or served_url(settings.data_dir, default)).rstrip("/")
    click.echo(f"{base}/admin/join/{token}")
    click.echo(f"For {email}; open it within 15 minutes. It works once.", err=True)


@admin.command("list", epilog="Example: shop admin list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array, for scripts.")
def list_(as_json: bool) -> None:
    """List the operators."""
    rows = [
        {
            "email": operator.email,
            "state": "disabled" if operator.disabled_at else "active" if operator.password_hash else "invited",
            "authenticator": operator.totp_sealed is not None,
            "recovery_codes_left": operator.recovery_codes_left,
            "created_at": operator.created_at,
            "last_seen_at": operator.last_seen_at,
        }
        for operator in run_action(load_settings(), list_operators)
    ]
    click.echo(listing(rows, as_json=as_json, none="No operators yet; create one with `shop admin create EMAIL`."))


@admin.command(epilog="Example: shop admin disable ada@example.com")
@click.argument("email")
@click.option("--force", is_flag=True, help="Disable even the last owner who can sign in.")
def disable(email: str, force: bool) -> None:
    """Disable an operator: block sign-in, end all sessions immediately and invalidate links.

    Undo with `shop admin create EMAIL --enable`.
    """

    async def work(ctx: Context) -> int:
        return await disable_by_email(ctx, email, even_last=force)

    left = run_action(load_settings(), work)
    click.echo(f"{email} is disabled; {left} {'operator' if left == 1 else 'operators'} can sign in.")


def first_operator(settings: Settings, url: str, base: str, *, may_show_link: bool) -> str | None:
    """Returns a link for the first operator, or the command that prints one; None if the shop has an operator."""
    if may_show_link:
        token = run_action_on(url, settings, make_first_link)
        return f"{base}/admin/join/{token}  (works once, within 15 minutes)" if token else None
    if run_action_on(url, settings, has_operators):
        return None
    return "shop admin create EMAIL"
