"""Loads the installed extensions, checks them, and adds what they declare to the shop. Runs once in each process."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import msgspec

from shop.actions.extensions.declarations import Extension
from shop.actions.extensions.isolation import guard_function
from shop.actions.extensions.mails import load_extension_mail
from shop.actions.extensions.providers import ExtensionProvider
from shop.actions.installed_extensions import NO_EXTENSIONS, InstalledExtension, InstalledExtensions
from shop.actions.operations import mail_contents, mail_layout
from shop.base.config.settings import EXTENSION_PREFIX, Settings
from shop.base.errors import CannotStart
from shop.base.lazy_modules import LazyModule
from shop.gateways.payments import Provider
from shop.rules.cart import promotion_kinds
from shop.rules.mail.definitions import DEFINITIONS
from shop.rules.setup import shipping
from shop.storefront.extension_endpoints import build_endpoint
from shop.web.endpoint import Route
from shop.website import pages as website_pages

if TYPE_CHECKING:
    from shop.admin import menu
    from shop.admin import pages as admin_pages
    from shop.admin.extensions import pages as extension_pages
    from shop.admin.setup import shipping as shipping_pages
    from shop.app import extension_checks
    from shop.platform import extension_resources
else:
    menu, admin_pages = LazyModule("shop.admin.menu"), LazyModule("shop.admin.pages")
    extension_pages = LazyModule("shop.admin.extensions.pages")
    shipping_pages = LazyModule("shop.admin.setup.shipping")
    extension_checks = LazyModule("shop.app.extension_checks")
    extension_resources = LazyModule("shop.platform.extension_resources")

GROUP = "shop.extensions"
_NOT_AVAILABLE = "it is not available now"


class ExtensionRoutes(msgspec.Struct, frozen=True, eq=False):
    """The extensions of this process and their routes; those of the dashboard need its session."""

    installed_extensions: InstalledExtensions = NO_EXTENSIONS
    storefront: Sequence[Route] = ()
    platform: Sequence[Route] = ()


NO_ROUTES = ExtensionRoutes()
_cache: dict[str, ExtensionRoutes] = {}


def load_extensions(settings: Settings) -> ExtensionRoutes:
    """Loads the extensions once; raises CannotStart with the name of one that cannot be used."""
    if "routes" not in _cache:
        declarations = [load_declaration(point) for point in select_entry_points(settings)]
        extensions = [InstalledExtension(each, read_settings(each, settings)) for each in declarations]
        _cache["routes"] = _install(extensions)
    return _cache["routes"]


def list_entry_points() -> dict[str, EntryPoint]:
    """Returns the entry points of installed extensions by name."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda each: each.name)}


def select_entry_points(settings: Settings) -> list[EntryPoint]:
    """Returns those that SHOP_EXTENSIONS selects; all by default."""
    points = list_entry_points()
    if settings.extensions is None:
        return list(points.values())
    for name in settings.extensions:
        if name not in points:
            installed_names = ", ".join(points) or "none"
            raise CannotStart(f"SHOP_EXTENSIONS names {name}, which is not installed (installed: {installed_names}).")
    return [points[name] for name in settings.extensions]


def load_declaration(point: EntryPoint) -> Extension:
    """Imports an extension and checks its declaration."""
    try:
        extension = point.load()
    except (Exception, SystemExit) as error:
        raise _cannot_load(point, f"{type(error).__name__}: {error}") from None
    if error_text := extension_checks.find_error(extension, point.name):
        raise _cannot_load(point, error_text)
    declaration: Extension = extension
    return declaration


def _cannot_load(point: EntryPoint, reason: str) -> CannotStart:
    package = f" ({point.dist.name} {point.dist.version})" if point.dist else ""
    line = " ".join(reason.split())
    return CannotStart(
        f"The extension {point.name}{package} cannot be loaded: {line}. Uninstall or replace the package, or start "
        "without it: set SHOP_EXTENSIONS to the names of the others, or off."
    )


def read_settings(extension: Extension, settings: Settings) -> Any:
    """Returns the settings of an extension from the variables with its prefix."""
    prefix = f"{EXTENSION_PREFIX}{extension.name.upper()}_"
    fields = {f"{prefix}{name.upper()}": name for name in extension.settings.__struct_fields__}
    values: dict[str, str] = {}
    for name, value in settings.extension_variables.items():
        if not name.startswith(prefix):
            continue
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1, cutoff=0.0)
            hint = f"; did you mean {near[0]}?" if near else "; it has no settings."
            raise CannotStart(f"{name} is not a setting of the extension {extension.name}{hint}")
        if value:
            values[fields[name]] = value
    try:
        return msgspec.convert(values, extension.settings, strict=False)
    except msgspec.ValidationError as error:
        raise CannotStart(f"The settings {prefix}… of the extension {extension.name} cannot be read: {error}") from None


def _install(extensions: Sequence[InstalledExtension]) -> ExtensionRoutes:
    platform_routes: list[Route] = []
    storefront_routes: list[Route] = []
    providers: dict[str, Callable[[Any], Provider]] = {}
    labels: dict[str, str] = {}
    for extension in extensions:
        declaration: Extension = extension.declaration
        if declaration.resources:
            # The shop's own routes are built from the registry, so it must not yet contain those of extensions.
            import_module("shop.platform.routes")
        for collection in declaration.resources:
            if collision := extension_resources.find_collision(collection):
                raise CannotStart(
                    f"The extension {extension.name} declares a {collision} that another extension declares too; "
                    "choose one of them with SHOP_EXTENSIONS."
                )
            platform_routes += extension_resources.add_resource(collection)
        storefront_routes += [build_endpoint(extension, each) for each in declaration.endpoints]
        for each in declaration.payment_providers:
            providers[each.type] = partial(ExtensionProvider, extension=extension, declaration=each)
            labels[each.type] = each.label
        for mail in declaration.mails:
            DEFINITIONS[mail.definition.kind] = mail.definition
            mail_contents.add_loader(mail.definition.kind, partial(load_extension_mail, extension, mail))
        _add_kinds(declaration)
        _add_pages(declaration)
    installed_extensions = InstalledExtensions(extensions, providers, labels)
    return ExtensionRoutes(installed_extensions, storefront_routes, platform_routes)


def _add_kinds(extension: Extension) -> None:
    """Adds promotion kinds and shipping rates. One that fails makes no cart fail: it offers nothing."""
    guard = partial(guard_function, extension.name)
    for type_, condition in extension.promotion_conditions.items():
        check = guard(type_, condition.check, (_NOT_AVAILABLE, None))
        promotion_kinds.CONDITIONS[type_] = msgspec.structs.replace(condition, check=check)
    for type_, benefit in extension.promotion_benefits.items():
        calculate = guard(type_, partial(_list_amounts, benefit.calculate), ())
        promotion_kinds.BENEFITS[type_] = msgspec.structs.replace(benefit, calculate=calculate)
    for each in extension.shipping_calculators:
        shipping.CALCULATORS[each.type] = guard(each.type, each.calculate, None)
        shipping_pages.CALCULATORS[each.type] = each.label


def _list_amounts(calculate: Callable[..., Iterable[Any]], *arguments: Any) -> list[Any]:
    """Calculates all amounts at once, so that a generator cannot fail later."""
    return list(calculate(*arguments))


def _add_pages(extension: Extension) -> None:
    if extension.dashboard_templates:
        admin_pages.add_templates(extension.name, extension.dashboard_templates)
    if extension.mail_templates:
        mail_layout.add_templates(extension.mail_templates)
    if extension.website_templates:
        website_pages.add_templates(extension.website_templates)
    for link in extension.menu:
        menu.add_entry(link.text, extension_pages.page_path(extension.name, link.path))
