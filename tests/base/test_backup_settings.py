"""The settings that a backup contains never include a secret."""

import re

from shop.base.config.settings import split_settings
from shop.base.config.variables import VARIABLES

# The URL of the shop is public, and so are the base of the Stripe API and a publishable key.
PUBLIC = {"SHOP_PUBLIC_URL", "SHOP_STRIPE_PUBLISHABLE_KEY"}


def test_every_setting_that_can_hold_a_secret_is_marked() -> None:
    suspects = {each.name for each in VARIABLES if re.search(r"URL|KEY|SECRET|PASS|TOKEN$", each.name)} - PUBLIC

    assert suspects - {each.name for each in VARIABLES if each.is_secret} == set()


def test_only_the_names_of_secrets_are_returned() -> None:
    environ = {"SHOP_SMTP_URL": "smtp://user:password@host", "SHOP_WEBSITE": "off", "HOME": "/root", "SHOP_METRICS": ""}

    assert split_settings(environ) == ({"SHOP_WEBSITE": "off"}, ["SHOP_SMTP_URL"])
