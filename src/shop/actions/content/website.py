"""Website settings: brand and home page. Every process sees a change within two seconds."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from shop.actions.audit import audit_change
from shop.actions.catalog import images
from shop.actions.context import Context
from shop.actions.event_subjects import SHOP, note_settings
from shop.actions.setup.shop import get_shop
from shop.base.errors import Conflict, Invalid, Unavailable
from shop.base.ids import new_id
from shop.db.pool import DatabaseSession
from shop.models.setup.shop import STORE_ID, Shop
from shop.models.setup.website import MAX_FEATURED, WebsiteImage, WebsiteSettings
from shop.queries.content import website as queries
from shop.queries.content.website import SettingChoice
from shop.queries.setup import shop as setup
from shop.rules.catalog.images import Picture
from shop.rules.setup.website import NARROWEST_HERO, NARROWEST_LOGO, website_errors

MAX_CHOICES = 500
_NARROWEST = {"logo": NARROWEST_LOGO, "hero_image": NARROWEST_HERO}
_CHANGED = "Someone else changed the settings; review them and try again."
_FindByWord = Callable[[DatabaseSession, Sequence[str]], Awaitable[list[SettingChoice]]]


class WebsiteForm(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the settings form, and the version of the shop that it was loaded from."""

    version: int
    accent: str
    radius: int | None
    font: str
    hero_title: str
    hero_text: str
    announcement: str
    description: str
    hero_taxon_id: UUID | None
    promotion_id: UUID | None
    featured_taxons: Sequence[str]
    """Permalinks or names, in order."""
    featured_products: Sequence[str]
    """Slugs or names, in order."""
    files: Mapping[str, bytes] = {}
    """New images: `logo`, `hero_image`."""
    removals: frozenset[str] = frozenset()
    """Images to remove."""


class WebsiteChoices(msgspec.Struct, frozen=True):
    """The records that the form offers, and those that the settings name; without records that no longer exist."""

    taxons: Sequence[SettingChoice]
    products: Sequence[SettingChoice]
    promotions: Sequence[SettingChoice]
    featured_taxons: Sequence[SettingChoice]
    featured_products: Sequence[SettingChoice]


async def list_choices(ctx: Context, settings: WebsiteSettings) -> WebsiteChoices:
    """Returns at most 500 choices of each kind, and always those that the settings name."""
    hero_ids = [settings.hero_taxon_id] if settings.hero_taxon_id else []
    promotion_ids = [settings.promotion_id] if settings.promotion_id else []
    taxons = await queries.list_taxons_by_id(ctx.db, [*settings.featured_taxon_ids, *hero_ids])
    products = await queries.list_products_by_id(ctx.db, settings.featured_product_ids)
    promotions = await queries.list_promotions_by_id(ctx.db, promotion_ids)
    return WebsiteChoices(
        _merge(await queries.list_taxons(ctx.db, most=MAX_CHOICES), taxons),
        _merge(await queries.list_products(ctx.db, most=MAX_CHOICES), products),
        _merge(await queries.list_promotions(ctx.db, most=MAX_CHOICES), promotions),
        _sort_like(settings.featured_taxon_ids, taxons),
        _sort_like(settings.featured_product_ids, products),
    )


def _merge(choices: Sequence[SettingChoice], current: Sequence[SettingChoice]) -> list[SettingChoice]:
    return list(dict.fromkeys([*choices, *current]))


def _sort_like(ids: Sequence[UUID], choices: Sequence[SettingChoice]) -> list[SettingChoice]:
    by_id = {choice.id: choice for choice in choices}
    return [by_id[each] for each in ids if each in by_id]


async def change_website(ctx: Context, form: WebsiteForm) -> None:
    """Saves the settings with their images, all or nothing.

    Raises Invalid with the errors of all fields, and Conflict if the shop's settings have changed since `version`.
    """
    if (await get_shop(ctx)).version != form.version:
        raise Conflict(_CHANGED)
    settings = await _read_settings(ctx, form)
    pictures = await _read_pictures(form)
    image_ids = {name: new_id() for name in pictures}
    for name, picture in pictures.items():
        await images.save_files(ctx.shared, image_ids[name], picture)
    try:
        new_images = {name: (image_ids[name], picture) for name, picture in pictures.items()}
        shop, obsolete_ids = await _save(ctx, form, settings, new_images)
    except Unavailable:
        # If the connection is lost at commit, the rows may or may not exist. The same transaction removes the marks.
        raise
    except Exception:
        for image_id in image_ids.values():
            await images.remove_files(ctx.shared, image_id)
        raise
    ctx.shared.shop = shop
    for image_id in obsolete_ids:
        await images.remove_files(ctx.shared, image_id)


async def _save(
    ctx: Context, form: WebsiteForm, settings: WebsiteSettings, new_images: Mapping[str, tuple[UUID, Picture]]
) -> tuple[Shop, list[UUID]]:
    """Saves settings and image rows; returns the shop and the ids of the images whose files are obsolete."""
    async with ctx.db.transaction():
        former_shop = await get_shop(ctx)
        before = former_shop.website_settings
        after_images = {
            name: _image_after(getattr(before, name), new_images.get(name), is_removed=name in form.removals)
            for name in _NARROWEST
        }
        after = msgspec.structs.replace(settings, **after_images)
        shop = await setup.update_website(ctx.db, version=form.version, website=_as_json(after))
        if shop is None:
            raise Conflict(_CHANGED)
        note_settings(ctx, former_shop, shop)
        for image_id, picture in new_images.values():
            await images.insert_shop_image(ctx, image_id, picture)
        obsolete_ids = [
            image.id for name in _NARROWEST if (image := getattr(before, name)) and image != after_images[name]
        ]
        for image_id in obsolete_ids:
            await images.delete_shop_image(ctx, image_id)
        audit_change(ctx, "website_changed", SHOP.type, STORE_ID, changes=_differences(before, after))
    return shop, obsolete_ids


def _image_after(
    before: WebsiteImage | None, new_image: tuple[UUID, Picture] | None, *, is_removed: bool
) -> WebsiteImage | None:
    if new_image:
        image_id, picture = new_image
        return WebsiteImage(image_id, picture.width, picture.height)
    return None if is_removed else before


def _as_json(settings: WebsiteSettings) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(settings)
    return values


def _differences(before: WebsiteSettings, after: WebsiteSettings) -> dict[str, tuple[Any, Any]]:
    old, new = _as_json(before), _as_json(after)
    return {name: (old[name], new[name]) for name in new if old[name] != new[name]}


async def _read_settings(ctx: Context, form: WebsiteForm) -> WebsiteSettings:
    """Checks the form and finds the records that it names."""
    texts = {name: getattr(form, name) for name in ("hero_title", "hero_text", "announcement", "description")}
    errors = website_errors(form.accent, form.radius, form.font, texts)
    ids = {
        "featured_taxon_ids": await _find_ids(
            ctx, "featured_taxons", form.featured_taxons, queries.list_taxons_by_word, errors
        ),
        "featured_product_ids": await _find_ids(
            ctx, "featured_products", form.featured_products, queries.list_products_by_word, errors
        ),
    }
    if form.hero_taxon_id and not await queries.list_taxons_by_id(ctx.db, [form.hero_taxon_id]):
        errors["hero_taxon_id"] = ["does not exist"]
    if form.promotion_id and not await queries.list_promotions_by_id(ctx.db, [form.promotion_id]):
        errors["promotion_id"] = ["does not exist"]
    if errors:
        raise Invalid(errors)
    links = {"hero_taxon_id": form.hero_taxon_id, "promotion_id": form.promotion_id}
    values = {"accent": form.accent, "radius": form.radius, "font": form.font, **texts, **links, **ids}
    return WebsiteSettings(**values)


async def _find_ids(
    ctx: Context, field: str, words: Sequence[str], find: _FindByWord, errors: dict[str, list[str]]
) -> tuple[UUID, ...]:
    """Returns the ids of the records by slug, permalink or name, without duplicates; adds errors of the field."""
    choices = await find(ctx.db, words)
    by_word = {choice.name.lower(): choice.id for choice in reversed(choices)}
    by_word |= {choice.key: choice.id for choice in choices}
    ids: dict[UUID, None] = {}
    for word in words:
        record_id = by_word.get(word) or by_word.get(word.lower())
        if record_id is None:
            errors.setdefault(field, []).append(f"“{word[:100]}” does not exist.")
        else:
            ids[record_id] = None
    if len(ids) > MAX_FEATURED:
        errors.setdefault(field, []).append(f"must be at most {MAX_FEATURED}")
    return tuple(ids)


async def _read_pictures(form: WebsiteForm) -> dict[str, Picture]:
    """Decodes and resizes the new images; raises Invalid on their fields."""
    pictures: dict[str, Picture] = {}
    errors: dict[str, list[str]] = {}
    for name, data in form.files.items():
        try:
            pictures[name] = await images.process_image(data)
        except Invalid as error:
            errors[name] = [sentence for sentences in error.errors.values() for sentence in sentences]
            continue
        if pictures[name].width < _NARROWEST[name]:
            errors[name] = [f"must be at least {_NARROWEST[name]} pixels wide"]
    if errors:
        raise Invalid(errors)
    return pictures
