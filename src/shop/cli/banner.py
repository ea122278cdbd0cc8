"""What a person sees when the shop is served."""

_PICK = """python3 -c 'import json,sys; print(json.load(sys.stdin)["data"]["attributes"]["token"])'"""


def banner(host: str, port: int, *, has_mailbox: bool, link: str | None = None) -> str:
    """`link` is the first operator's, while there is none."""
    shown = f"[{host}]" if ":" in host else host
    base = f"http://{shown}:{port}"
    mailbox = f"\n    Mailbox          {base}/mailbox" if has_mailbox else ""
    first = f"\n    First operator   {base}/admin/join/{link}  (works once, within 15 minutes)" if link else ""
    return f"""
  The shop is served.

    Storefront API   {base}/api/v2/storefront
    Dashboard        {base}/admin{first}{mailbox}
    API reference    {base}/docs
    Health           {base}/readyz

  Try it:

    TOKEN=$(curl -s -X POST {base}/api/v2/storefront/cart | {_PICK})
    curl -s -H "X-Shop-Order-Token: $TOKEN" {base}/api/v2/storefront/cart
"""
