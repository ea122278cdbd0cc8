"""The text that `shop serve` prints at start."""

from typing import TYPE_CHECKING

from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from shop.demo import shop as demo_shop
else:
    demo_shop = LazyModule("shop.demo.shop")

_PICK = """python3 -c 'import json,sys; print(json.load(sys.stdin)["data"]["attributes"]["token"])'"""


def base_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def banner(
    host: str,
    port: int,
    *,
    cors_origins: tuple[str, ...],
    has_mailbox: bool,
    first_operator: str | None = None,
    has_demo: bool = False,
) -> str:
    """Returns the start text; `first_operator` explains how to create the first operator."""
    base = base_url(host, port)
    mailbox = f"\n    Mailbox          {base}/mailbox" if has_mailbox else ""
    first = f"\n    First operator   {first_operator}" if first_operator else ""
    shoppers = _shoppers(f"{base}/mailbox" if has_mailbox else "their e-mail address") if has_demo else ""
    return f"""
  The shop is running.

    Storefront API   {base}/api/v2/storefront
    Platform API     {base}/api/v2/platform
    Dashboard        {base}/admin{first}{mailbox}
    API reference    {base}/docs
    Health           {base}/readyz
    CORS             {_describe_origins(cors_origins)}
{shoppers}
  Try it:

    TOKEN=$(curl -s -X POST {base}/api/v2/storefront/cart | {_PICK})
    curl -s -H "X-Shop-Order-Token: $TOKEN" {base}/api/v2/storefront/cart
"""


def _describe_origins(cors_origins: tuple[str, ...]) -> str:
    if cors_origins:
        return "browsers may call from " + ", ".join(cors_origins)
    return "off; SHOP_CORS_ORIGINS=http://localhost:3000 lets a storefront in the browser call from there"


def _shoppers(mailbox: str) -> str:
    """Lists the demo customers. They have no password: a login code is e-mailed and read in `mailbox`."""
    rows = "\n".join(f"    {person.email:<16} {person.first_name}, {person.note}" for person in demo_shop.SHOPPERS)
    return f"""
  Sign in to the storefront as one of these customers; login codes are sent to {mailbox}:

{rows}

  Coupon code to try: {demo_shop.COUPON}, {demo_shop.COUPON_DESCRIPTION}.
"""
