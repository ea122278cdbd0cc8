"""The e-mail about earned points. Its texts are edited at Settings, E-mails."""

from uuid import UUID

from loyalty.tables import FIND_ACCOUNT_BY_ID, FIND_ENTRY_BY_ID
from shop.extension import ExtensionContext, ExtensionMail, MailDefinition, MailValues, MailVariable

KIND = "x_loyalty_points_earned"


async def load_mail(ctx: ExtensionContext, entry_id: UUID) -> MailValues | None:
    """Loads what the e-mail is about when it is sent: nothing of it is stored with the e-mail."""
    entry = await ctx.one(FIND_ENTRY_BY_ID, entry_id=entry_id)
    if entry is None:
        return None
    account = await ctx.one(FIND_ACCOUNT_BY_ID, account_id=entry.account_id)
    if account is None:
        return None
    variables = {"points": f"{entry.points:,}", "balance": f"{account.balance:,}", "number": entry.order_number}
    return MailValues(variables=variables, path="/account")


MAIL = ExtensionMail(
    definition=MailDefinition(
        kind=KIND,
        name="Loyalty points earned",
        sent_when="A signed-in customer earns points with an order.",
        variables={
            "shop": MailVariable("The name of the shop", "Lantern & Loam"),
            "points": MailVariable("The points of this order", "64"),
            "balance": MailVariable("All points of the customer", "1,280"),
            "number": MailVariable("The number of the order", "R123456789"),
        },
        subject="You earned {{ points }} points at {{ shop }}",
        heading="You earned {{ points }} points",
        body="Thank you for your order {{ number }}. You now have {{ balance }} points, and can pay with them.",
        button="View your account",
    ),
    load=load_mail,
)
