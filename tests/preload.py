"""Imported once by the fork server: loads the shop, its statements and its templates."""

import gc

import shop.cli.main  # noqa: F401
from shop.actions.operations import mail_layout
from shop.admin import pages
from shop.db.statements import STATEMENTS

for statement in STATEMENTS:
    statement.sql  # noqa: B018 - compiles the statement
for templates in (pages._templates, mail_layout._html, mail_layout._plain):
    for name in templates.list_templates(["html", "txt"]):
        templates.get_template(name)
gc.collect()
gc.freeze()
