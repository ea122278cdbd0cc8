"""Checks a theme before the shop starts."""

from pathlib import Path

from jinja2 import FileSystemLoader, TemplateSyntaxError

from shop.base.errors import CannotStart
from shop.website.pages import templates


def check_theme(theme_dir: Path | None) -> None:
    """Raises CannotStart for a template that cannot be compiled; otherwise a shopper would be the first to see it."""
    if theme_dir is None:
        return
    environment = templates(theme_dir)
    for name in FileSystemLoader(theme_dir / "templates").list_templates():
        if not name.endswith(".html"):
            continue
        try:
            environment.get_template(name)
        except TemplateSyntaxError as error:
            raise CannotStart(f"SHOP_THEME_DIR: templates/{name}, line {error.lineno}: {error.message}") from None
        except (OSError, UnicodeDecodeError):
            raise CannotStart(f"SHOP_THEME_DIR: templates/{name} cannot be read.") from None
