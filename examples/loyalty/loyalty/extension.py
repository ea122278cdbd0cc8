"""The declaration of the extension."""

from pathlib import Path

from loyalty.listener import LISTENER
from loyalty.mail import MAIL
from loyalty.pages import ENDPOINT, FORM, MENU, PAGE, PANEL
from loyalty.payment import PROVIDER
from loyalty.points import LoyaltySettings
from loyalty.resource import ACCOUNTS
from loyalty.tables import TABLES
from shop.extension import Extension

_HERE = Path(__file__).parent

EXTENSION = Extension(
    name="loyalty",
    version="1.0.0",
    api_version=1,
    settings=LoyaltySettings,
    tables=TABLES,
    migrations=_HERE / "migrations",
    resources=[ACCOUNTS],
    endpoints=[ENDPOINT],
    pages=[PAGE],
    forms=[FORM],
    menu=[MENU],
    order_panels=[PANEL],
    listeners=[LISTENER],
    mails=[MAIL],
    payment_providers=[PROVIDER],
    dashboard_templates=_HERE / "templates",
)
