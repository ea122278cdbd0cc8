"""Checks what an extension declares before the shop starts with it. Each error says what is wrong with which part."""

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, TemplateError

from shop.actions.extensions.declarations import Extension
from shop.admin.extensions.pages import page_path
from shop.admin.pages import compile_template
from shop.db.rows import COLUMN_TYPES
from shop.extension import API_VERSION
from shop.models.setup.mails import NO_MAIL_SETTINGS
from shop.platform.extension_resources import find_collision
from shop.rules.access.permissions import PERMISSIONS, RESOURCES
from shop.rules.event_types import parse_type_patterns
from shop.rules.mail.definitions import text_errors
from shop.website import pages as website_pages

NAME = re.compile("[a-z][a-z0-9]{1,19}", re.ASCII)
_PART_NAME = re.compile("[a-z][a-z0-9_]{0,49}", re.ASCII)


def find_error(extension: object, entry_name: str) -> str | None:
    """Returns the first error of a declaration, or None."""
    return next(list_errors(extension, entry_name), None)


def list_errors(extension: object, entry_name: str) -> Iterator[str]:
    if not isinstance(extension, Extension):
        yield f"its entry point is {type(extension).__name__}, not an Extension of shop.extension"
        return
    if extension.api_version != API_VERSION:
        yield (
            f"it needs version {extension.api_version} of shop.extension, and this shop has version {API_VERSION}; "
            "install a version of the extension for this shop"
        )
        return
    if not NAME.fullmatch(extension.name):
        yield "its name must have 2 to 20 lower-case letters and digits"
    if extension.name != entry_name:
        yield f"its entry point is named {entry_name}; it must be {extension.name}"
    yield from _list_table_errors(extension)
    yield from _list_resource_errors(extension)
    yield from _list_type_errors(extension)
    yield from _list_page_errors(extension)
    yield from _list_listener_errors(extension)
    yield from _list_handler_errors(extension)
    yield from _list_template_errors(extension)
    yield from _list_mail_errors(extension)


def _list_table_errors(extension: Extension) -> Iterator[str]:
    prefix = f"x_{extension.name}_"
    tables = extension.tables.metadata.tables if extension.tables else {}
    for name, table in tables.items():
        if not name.startswith(prefix):
            yield f"its table {name} must begin with {prefix}"
        for column in table.columns:
            if repr(column.type) not in COLUMN_TYPES:
                yield f"its column {name}.{column.name} has a type that rows do not have; declare it with a Row"
        for foreign_key in table.foreign_keys:
            if not foreign_key.target_fullname.startswith(prefix):
                yield f"its table {name} refers to {foreign_key.target_fullname}; store the id without a foreign key"
    if tables and extension.migrations is None:
        yield "it has tables but no migrations"
    if extension.migrations is not None and not extension.migrations.is_dir():
        yield f"its folder of migrations does not exist: {extension.migrations}"


def _list_resource_errors(extension: Extension) -> Iterator[str]:
    tables = extension.tables.metadata.tables.values() if extension.tables else ()
    names: set[str] = set()
    for collection in extension.resources:
        type_ = collection.resource.type
        if collision := find_collision(collection):
            yield f"its resource {type_} has a {collision} that exists already; rename it"
        if collection.access not in RESOURCES:
            yield f"its resource {type_} has the access {collection.access}; use one of {', '.join(RESOURCES)}"
        if collection.actions.records.table not in tables:
            yield f"its resource {type_} has no table of the extension"
        if names & {type_, collection.path}:
            yield f"its resource {type_} is declared twice"
        names |= {type_, collection.path}


def _list_type_errors(extension: Extension) -> Iterator[str]:
    types = [
        *(each.type for each in extension.payment_providers),
        *(each.type for each in extension.shipping_calculators),
        *extension.promotion_conditions,
        *extension.promotion_benefits,
        *(each.definition.kind for each in extension.mails),
    ]
    prefix = f"x_{extension.name}_"
    for type_ in types:
        if not type_.startswith(prefix) or not _PART_NAME.fullmatch(type_):
            yield f"its type {type_} must begin with {prefix}, and have only lower-case letters, digits and _"
    for provider in extension.payment_providers:
        if bool(provider.verify_webhook) != bool(provider.handle_webhook):
            yield f"its provider {provider.type} needs both verify_webhook and handle_webhook, or neither"
    yield from (f"its type {type_} is declared twice" for type_ in _find_repeated(types))


def _list_page_errors(extension: Extension) -> Iterator[str]:
    paths = [page_path(extension.name, each.path) for each in extension.pages]
    forms = [page_path(extension.name, each.path) for each in extension.forms]
    endpoints = [f"{each.method} {each.path.strip('/')}" for each in extension.endpoints]
    for path in (*_find_repeated(paths), *_find_repeated(forms), *_find_repeated(endpoints)):
        yield f"{path} is declared twice"
    parts: list[Any] = [*extension.pages, *extension.forms, *extension.order_panels]
    for permission in {part.permission for part in parts} - set(PERMISSIONS):
        yield f"its permission {permission} is unknown; use one such as orders:read"
    for link in extension.menu:
        if page_path(extension.name, link.path) not in paths:
            yield f"its menu entry {link.text} leads to no page"


def _list_listener_errors(extension: Extension) -> Iterator[str]:
    names = [listener.name for listener in extension.listeners]
    yield from (f"its listener {name} is declared twice" for name in _find_repeated(names))
    for listener in extension.listeners:
        if not _PART_NAME.fullmatch(listener.name):
            yield f"its listener {listener.name} must have a name of lower-case letters, digits and _"
        try:
            parse_type_patterns(",".join(listener.types))
        except ValueError as error:
            yield f"its listener {listener.name} {error}"
        if not listener.types:
            yield f"its listener {listener.name} has no types of events"


def _list_handler_errors(extension: Extension) -> Iterator[str]:
    pages = (*extension.pages, *extension.forms, *extension.order_panels)
    parts: list[Any] = [*extension.endpoints, *pages, *extension.listeners]
    handlers = [
        *(each.handler for each in parts),
        *(each.load for each in extension.mails),
        *(function for each in extension.payment_providers for function in (each.execute, each.find)),
        *(each.verify_webhook for each in extension.payment_providers if each.verify_webhook),
        *(each.handle_webhook for each in extension.payment_providers if each.handle_webhook),
    ]
    for handler in handlers:
        if not inspect.iscoroutinefunction(handler):
            yield f"{getattr(handler, '__qualname__', handler)} must be declared with async def"


def _list_template_errors(extension: Extension) -> Iterator[str]:
    folders = (
        (extension.dashboard_templates, compile_template),
        (extension.website_templates, website_pages.templates(None).compile),
        (extension.mail_templates, Environment(autoescape=True).compile),
    )
    for folder, compile_source in folders:
        if folder is None:
            continue
        if not folder.is_dir():
            yield f"its folder of templates does not exist: {folder}"
            continue
        for name in FileSystemLoader(folder).list_templates():
            if not name.endswith(".html"):
                continue
            try:
                compile_source((folder / name).read_text())
            except (TemplateError, OSError, UnicodeDecodeError) as error:
                yield f"its template {name} cannot be compiled: {error}"


def _list_mail_errors(extension: Extension) -> Iterator[str]:
    for definition in (each.definition for each in extension.mails):
        for name, errors in text_errors(definition, definition.texts(NO_MAIL_SETTINGS)).items():
            yield f"the {name} of its e-mail {definition.kind} is wrong: {errors[0]}"
        folder = extension.mail_templates or Path()
        for suffix in (".html", ".txt") if definition.part_example is not None else ():
            if extension.mail_templates is None or not (folder / "parts" / f"{definition.kind}{suffix}").is_file():
                yield f"its e-mail {definition.kind} needs the template parts/{definition.kind}{suffix}"


def _find_repeated(names: Iterable[Any]) -> list[Any]:
    values = list(names)
    return sorted({name for name in values if values.count(name) > 1})
