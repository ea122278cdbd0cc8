"""The pages, policies and menus of the demo shop."""

from collections.abc import Mapping
from uuid import UUID

from shop.actions.content import menus, pages
from shop.actions.context import Context
from shop.demo.shop import DEPARTMENTS, MOONS, NAME
from shop.models.content.inputs import MenuItemInput

PAGES = {
    "About us": f"""\
**{NAME}** began as one stall at the night market in Whitby, with eleven lanterns and a tray of seedlings. We still sell
what we use ourselves: things that give light, and things that grow.

## What we care about

- Everything can be repaired, refilled or planted again.
- Seeds are open-pollinated and come from growers whom we visit every year.
- We pack in paper and straw. Nothing in the box has to be thrown away.

## Come and see us

The warehouse on the quay has a small shop at the front, open from Thursday to Saturday, ten to six. Write to
[hello@example.com](mailto:hello@example.com) before you travel far.
""",
    "Shipping and returns": """\
Orders leave the warehouse within two working days.

| Way | Takes | Good to know |
|---|---|---|
| Post | 3 to 6 days | Fits most letter boxes |
| Courier | 1 to 2 days | Needs a signature |

## Returns

You have 30 days to change your mind. Send the goods back unused, and we refund the price within a week of their
arrival. Seeds that have been opened cannot be returned.

The details are in our [returns policy](/policies/returns-policy) and our [shipping policy](/policies/shipping-policy).
""",
}
POLICIES = {
    "Terms of service": f"""\
These terms apply to every order placed with {NAME}, a shop that exists for demonstration only.

1. **Orders.** An order is accepted when it is shipped. Until then either side may cancel it.
2. **Prices.** Prices include the taxes shown at checkout.
3. **Liability.** Lanterns burn. Please do not leave them alone.
""",
    "Privacy policy": """\
We store what an order needs: your name, your addresses, your e-mail address and what you bought.

- We do not sell data, and we do not track visitors.
- Card numbers go to the payment provider and never reach us.
- You may ask for a copy of your data, or for its deletion, at [privacy@example.com](mailto:privacy@example.com).
""",
    "Returns policy": """\
Goods may be returned within **30 days** of delivery, unused and in their packaging.

Faulty goods are repaired or replaced for two years, and we pay for the way back.
""",
    "Shipping policy": """\
We ship from two warehouses. An order that is packed in both arrives in two parcels, at no extra charge.

A parcel that has not arrived after three weeks counts as lost: we send it again, or refund it.
""",
}
HEADER, FOOTER = "Main menu", "Footer menu"


async def make_pages(ctx: Context, taxons: Mapping[str, UUID]) -> None:
    page_ids = {title: await pages.create_page(ctx, {"title": title, "content": text}) for title, text in PAGES.items()}
    for name, text in POLICIES.items():
        await pages.create_policy(ctx, {"name": name, "body": text, "show_in_checkout_footer": True})
    await _make_header(ctx, taxons)
    await _make_footer(ctx, page_ids)


async def _make_header(ctx: Context, taxons: Mapping[str, UUID]) -> None:
    menu_id = await menus.create_menu(ctx, {"name": HEADER, "location": "header"})
    groups = {**DEPARTMENTS, "By the moon": MOONS}
    for group, categories in groups.items():
        container: MenuItemInput = {"menu_id": menu_id, "name": group, "item_type": "Container"}
        parent_id = await menus.create_item(ctx, container)
        for category in categories:
            link: MenuItemInput = {
                "menu_id": menu_id,
                "parent_id": parent_id,
                "name": category,
                "linked_resource_type": "taxon",
                "linked_resource_id": taxons[category],
            }
            await menus.create_item(ctx, link)


async def _make_footer(ctx: Context, page_ids: Mapping[str, UUID]) -> None:
    menu_id = await menus.create_menu(ctx, {"name": FOOTER, "location": "footer"})
    for title, page_id in page_ids.items():
        link: MenuItemInput = {
            "menu_id": menu_id,
            "name": title,
            "linked_resource_type": "cms_page",
            "linked_resource_id": page_id,
        }
        await menus.create_item(ctx, link)
    for name in POLICIES:
        destination = f"/policies/{name.lower().replace(' ', '-')}"
        await menus.create_item(ctx, {"menu_id": menu_id, "name": name, "destination": destination})
