"""Saved cards and store credit of a customer."""

from shop.actions.checkout import store_credit
from shop.actions.context import Context
from shop.actions.customers import account
from shop.actions.payments import saved_cards
from shop.web.input.request import Request
from shop.web.reply import Reply
from shop.website.layout import show_page
from shop.website.pages import notice_of, redirect
from shop.website.visits import Visit

_NOTICES = {"removed": "The card is removed."}
_ENTRY_TEXTS = {"granted": "Added", "spent": "Used", "restored": "Returned", "withdrawn": "Withdrawn"}


async def show_cards(request: Request, ctx: Context, visit: Visit) -> Reply:
    cards = await saved_cards.list_cards(ctx)
    notice = notice_of(request, _NOTICES)
    return await show_page(ctx, request, visit, "account/cards.html", title="Saved cards", cards=cards, notice=notice)


async def remove_card(request: Request, ctx: Context, _visit: Visit) -> Reply:
    await saved_cards.remove_card(ctx, request.path_params["id"])
    return redirect("/account/cards?done=removed")


async def show_store_credit(request: Request, ctx: Context, visit: Visit) -> Reply:
    user, _ = await account.get_account(ctx)
    return await show_page(
        ctx,
        request,
        visit,
        "account/store_credit.html",
        title="Store credit",
        balances=user.credits,
        entries=await store_credit.list_entries(ctx),
        entry_texts=_ENTRY_TEXTS,
    )
