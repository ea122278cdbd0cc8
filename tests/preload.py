"""Imported once by the fork server: loads the shop, its statements and its templates."""

import gc
from importlib import import_module
from pkgutil import walk_packages

import shop
from shop.actions.operations import mail_layout
from shop.admin import pages
from shop.db.statements import STATEMENTS

LIBRARIES = ("PIL.Image", "PIL.ImageOps", "aiosmtplib", "alembic.command", "markdown_it", "obstore.store", "segno")

# A real process loads much of this on first use, but each test would load it again.
for module in walk_packages(shop.__path__, "shop."):
    if not module.name.startswith("shop.migrations.versions") and module.name != "shop.migrations.env":
        import_module(module.name)
for library in LIBRARIES:
    import_module(library)
for statement in STATEMENTS:
    statement.sql  # noqa: B018 - compiles the statement
for templates in (pages._templates, mail_layout._html, mail_layout._plain):
    for name in templates.list_templates(["html", "txt"]):
        templates.get_template(name)
gc.collect()
gc.freeze()
