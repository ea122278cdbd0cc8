"""The page of the website settings, with a live preview."""

from collections.abc import Sequence
from typing import Any

import msgspec

from shop.actions.content import website
from shop.actions.content.website import WebsiteChoices, WebsiteForm
from shop.actions.context import Context
from shop.actions.setup.shop import get_shop
from shop.admin.fields import Fields
from shop.admin.pages import PageContext, notice_of, page, redirect
from shop.base.errors import Conflict, Invalid
from shop.models.setup.shop import Shop
from shop.models.setup.website import MAX_FEATURED, MAX_RADIUS, WebsiteSettings
from shop.queries.content.website import SettingChoice
from shop.rules.setup.website import FONT_FAMILIES, FONT_NAMES, LEAST_CONTRAST, accent_error
from shop.web.input.request import Request
from shop.web.reply import Reply

PATH = "/admin/settings/website"
IMAGES = ("logo", "hero_image")
LABELS = {
    "accent": "Accent color",
    "radius": "Corner radius",
    "font": "Font",
    "logo": "Logo",
    "hero_title": "Banner title",
    "hero_text": "Banner text",
    "hero_image": "Banner image",
    "hero_taxon_id": "Banner category",
    "announcement": "Announcement",
    "promotion_id": "Promotion",
    "featured_taxons": "Featured categories",
    "featured_products": "Featured products",
    "description": "Description",
}
_TEXTS = (
    *("accent", "font", "hero_title", "hero_text", "announcement", "description"),
    *("hero_taxon_id", "promotion_id"),
)
_LISTS = ("featured_taxons", "featured_products")
_NOTICES = {"saved": "Saved."}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    shop = await get_shop(ctx)
    return await _page(ctx, page_context, shop, None, notice=notice_of(request, _NOTICES))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    fields = Fields(request)
    try:
        await website.change_website(ctx, _read_form(request, fields))
    except Invalid as error:
        return await _page(ctx, page_context, await get_shop(ctx), fields, 422, errors=error.errors)
    except Conflict as conflict:
        return await _page(ctx, page_context, await get_shop(ctx), fields, 409, conflict=conflict.sentence)
    return redirect(f"{PATH}?done=saved")


def _read_form(request: Request, fields: Fields) -> WebsiteForm:
    version = fields.whole("version")
    return WebsiteForm(
        version=-1 if version is None else version,
        accent=fields.texts.get("accent", "").strip().lower(),
        radius=fields.whole("radius"),
        font=fields.texts.get("font", ""),
        hero_title=fields.texts.get("hero_title", "").strip(),
        hero_text=_prose(fields, "hero_text"),
        announcement=fields.texts.get("announcement", "").strip(),
        description=_prose(fields, "description"),
        hero_taxon_id=fields.id("hero_taxon_id"),
        promotion_id=fields.id("promotion_id"),
        featured_taxons=fields.lines("featured_taxons"),
        featured_products=fields.lines("featured_products"),
        files={name: data for name in IMAGES if (data := request.file(name))},
        removals=frozenset(name for name in IMAGES if fields.flag(f"remove_{name}")),
    )


def _prose(fields: Fields, name: str) -> str:
    return fields.texts.get(name, "").replace("\r\n", "\n").strip()


async def _page(
    ctx: Context, page_context: PageContext, shop: Shop, fields: Fields | None, status: int = 200, **more: Any
) -> Reply:
    settings = shop.website_settings
    choices = await website.list_choices(ctx, settings)
    saved_values = _saved_values(settings, choices)
    values = _typed_values(fields) if fields else saved_values
    taxons = {"": "All products", **_options(choices.taxons)}
    promotions = {"": "None", **_options(choices.promotions)}
    return page(
        "setup/website.html",
        page_context,
        status,
        **{"errors": {}, "conflict": None, **more},
        labels=LABELS,
        version=shop.version,
        values={**values, **{name: _pad(values[name]) for name in _LISTS}},
        current=_differing_texts(values, saved_values, {"hero_taxon_id": taxons, "promotion_id": promotions}),
        saved=settings,
        preview=_preview_settings(values, settings),
        choices=choices,
        taxons=taxons,
        promotions=promotions,
        fonts=FONT_NAMES,
        families=FONT_FAMILIES,
        largest_radius=MAX_RADIUS,
        least_contrast=LEAST_CONTRAST,
    )


def _saved_values(settings: WebsiteSettings, choices: WebsiteChoices) -> dict[str, Any]:
    return {
        **{name: str(getattr(settings, name) or "") for name in _TEXTS},
        "radius": str(settings.radius),
        "featured_taxons": [choice.key for choice in choices.featured_taxons],
        "featured_products": [choice.key for choice in choices.featured_products],
    }


def _typed_values(fields: Fields) -> dict[str, Any]:
    texts: dict[str, Any] = {name: fields.texts.get(name, "") for name in (*_TEXTS, "radius")}
    return texts | {name: fields.lines(name) for name in _LISTS}


def _differing_texts(
    values: dict[str, Any], saved_values: dict[str, Any], options: dict[str, dict[str, str]]
) -> dict[str, str]:
    """Returns the saved values that differ from those of the form, by label."""
    texts: dict[str, str] = {}
    for name, value in saved_values.items():
        if value != values[name]:
            text = ", ".join(value) if isinstance(value, list) else options.get(name, {}).get(value, value)
            texts[LABELS[name]] = text
    return texts


def _preview_settings(values: dict[str, Any], saved: WebsiteSettings) -> WebsiteSettings:
    """Returns what the preview shows without a script: the values of the form as far as they are valid."""
    accent, radius, font = str(values["accent"]).lower(), str(values["radius"]), values["font"]
    is_radius = radius.isascii() and radius.isdigit() and len(radius) < 4 and int(radius) <= MAX_RADIUS
    return msgspec.structs.replace(
        saved,
        accent=saved.accent if accent_error(accent) else accent,
        radius=int(radius) if is_radius else saved.radius,
        font=font if font in FONT_FAMILIES else saved.font,
        **{name: values[name] for name in ("hero_title", "hero_text", "announcement")},
    )


def _pad(words: Sequence[str]) -> list[str]:
    """Returns one word for each input of a list; the last two are empty, if that many are allowed."""
    size = min(len(words) + 2, MAX_FEATURED)
    return [*words, *[""] * (size - len(words))]


def _options(choices: Sequence[SettingChoice]) -> dict[str, str]:
    return {str(choice.id): f"{choice.name} ({choice.key})" if choice.key else choice.name for choice in choices}
