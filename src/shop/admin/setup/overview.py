"""All pages of settings with what they contain, and a search over them."""

from shop.actions.context import Context
from shop.admin.listing import text_param
from shop.admin.pages import PageContext, page
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings"
_PAGES = {
    f"{PATH}/shop": (
        "Shop",
        "Name, currencies, default country and language, time zone, order numbers, units of weight and dimensions",
    ),
    f"{PATH}/website": ("Website", "Logo, colors, home page and contact of the website"),
    f"{PATH}/policies": ("Policies", "Terms, privacy, returns and other texts of the website"),
    f"{PATH}/mails": ("E-mails", "Subjects and texts of the e-mails to customers"),
    f"{PATH}/documents": ("Documents", "Address, tax numbers, support e-mail and numbers of invoices"),
    f"{PATH}/zones": ("Zones", "Groups of countries for taxes and shipping"),
    f"{PATH}/taxes": ("Taxes", "Tax categories and tax rates"),
    f"{PATH}/shipping": ("Shipping", "Shipping categories and shipping methods with their costs"),
    f"{PATH}/payments": ("Payments", "Payment methods and providers"),
    f"{PATH}/operators": ("Staff", "Operators of the dashboard and invitations"),
    f"{PATH}/roles": ("Roles", "Permissions of operators, limits and approvals of refunds"),
    "/admin/audit": ("Audit", "Who changed what"),
    f"{PATH}/backups": ("Backups", "Copies of the database, the images and the settings"),
    f"{PATH}/checks": ("Checks", "Consistency of stock, payments, reports and documents"),
    "/admin/stock/locations": ("Stock locations", "Warehouses and stores that keep stock"),
    "/admin/stock/threshold": ("Low stock", "The number at which stock is low"),
    "/admin/integrations/api": ("API applications", "Access of other software to the Platform API"),
    "/admin/integrations/webhooks": ("Webhooks", "Endpoints that receive events"),
    "/admin/account": ("Your account", "Password, authenticator, passkeys and sessions"),
}


async def show(request: Request, _ctx: Context, page_context: PageContext) -> Reply:
    words = text_param(request, "q").casefold().split()
    pages = [
        (path, title, hint)
        for path, (title, hint) in _PAGES.items()
        if page_context.can_open("GET", path) and all(word in f"{title} {hint}".casefold() for word in words)
    ]
    return page("setup/overview.html", page_context, pages=pages, q=text_param(request, "q"))
