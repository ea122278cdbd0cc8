"""Pages and policies over the Platform API: slugs, types, Markdown and its bounds."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from shop.rules.content.markdown import MAX_MARKDOWN_BYTES
from tests.platform.catalog_builders import change_record, delete_record, get_record, new, patch_record, post_record
from tests.platform.client import Machine
from tests.platform.invalid_values import INVALID_VALUES, assert_refused
from tests.shopper import Answer


def new_title() -> str:
    return f"Page {uuid4().hex}"


async def new_page(machine: Machine, **fields: Any) -> Answer:
    return await new(machine, "cms_page", **{"title": new_title(), **fields})


async def test_a_page_is_visible_standard_and_in_the_default_locale_by_default(writer: Machine) -> None:
    page = await new_page(writer)

    attributes = {name: page[name] for name in ("visible", "type", "locale", "content", "content_html", "deleted_at")}
    assert attributes == {
        "visible": True,
        "type": "standard",
        "locale": "en-US",
        "content": None,
        "content_html": "",
        "deleted_at": None,
    }


async def test_markdown_is_stored_as_sent_and_rendered_with_each_change(writer: Machine) -> None:
    page = await new_page(writer, content="# Hello\n\n<script>x</script> [a](javascript:x)")
    after = await change_record(writer, "cms_page", page.id, content="*bye*")

    assert page["content"] == "# Hello\n\n<script>x</script> [a](javascript:x)"
    assert page["content_html"] == "<h1>Hello</h1>\n<p>&lt;script&gt;x&lt;/script&gt; a</p>\n"
    assert (after["content"], after["content_html"]) == ("*bye*", "<p><em>bye</em></p>\n")
    assert (await change_record(writer, "cms_page", page.id, content=None))["content_html"] == ""


async def test_a_slug_is_derived_from_the_title_and_unique(writer: Machine) -> None:
    title = f"Über uns {uuid4().hex}"
    first, second = [await new(writer, "cms_page", title=title) for _ in range(2)]
    without_latin = await new(writer, "cms_page", title="お茶")

    assert first["slug"] == title.lower().replace("ü", "u").replace(" ", "-")
    assert second["slug"] == f"{first['slug']}-2"
    assert without_latin["slug"] == without_latin.id
    assert (await writer.get(f"/cms_pages/{second['slug']}")).id == second.id


@pytest.mark.parametrize(("kind", "name"), [("cms_page", "title"), ("policy", "name")])
async def test_concurrent_records_with_one_title_get_distinct_slugs(writer: Machine, kind: str, name: str) -> None:
    title = new_title()

    responses = await asyncio.gather(*(post_record(writer, kind, **{name: title}) for _ in range(4)))

    assert {answer.status for answer in responses} == {201}, responses
    assert len({answer["slug"] for answer in responses}) == 4


async def test_a_slug_changes_only_when_it_is_set_or_cleared(writer: Machine) -> None:
    page, word = await new_page(writer), uuid4().hex

    assert (await change_record(writer, "cms_page", page.id, title=f"Other {word}"))["slug"] == page["slug"]
    assert (await change_record(writer, "cms_page", page.id, slug=f"about-{word}"))["slug"] == f"about-{word}"
    assert (await change_record(writer, "cms_page", page.id, slug=""))["slug"] == f"other-{word}"


async def test_a_slug_in_use_or_malformed_is_refused_with_a_field_error(writer: Machine) -> None:
    page = await new_page(writer)

    assert_refused(await post_record(writer, "cms_page", title="x", slug=page["slug"]), "slug")
    assert_refused(await patch_record(writer, "cms_page", (await new_page(writer)).id, slug=page["slug"]), "slug")
    for slug in ("a b", "a/b", "../x", "UPPER", "-a", "%"):
        assert_refused(await post_record(writer, "cms_page", title="x", slug=slug), "slug")


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("homepage", "homepage"),
        ("feature", "feature"),
        ("Spree::Cms::Pages::StandardPage", "standard"),
        ("Spree::Cms::Pages::Homepage", "homepage"),
        ("Spree::Cms::Pages::FeaturePage", "feature"),
    ],
)
async def test_the_type_of_a_page_may_have_the_class_name_of_spree(writer: Machine, type_: str, expected: str) -> None:
    assert (await new_page(writer, type=type_))["type"] == expected


async def test_every_invalid_field_gets_a_field_error(writer: Machine) -> None:
    fields = {"title": "a\nb", "type": "blog", "locale": "English", "meta_title": "x" * 256}

    assert_refused(await post_record(writer, "cms_page", **fields), *fields)
    assert_refused(await post_record(writer, "cms_page", title=" "), "title")
    assert_refused(await post_record(writer, "policy", name=""), "name")


@pytest.mark.parametrize(("kind", "field"), [("cms_page", "content"), ("policy", "body")])
async def test_markdown_of_64_kib_is_accepted_and_more_is_refused_with_a_field_error(
    writer: Machine, kind: str, field: str
) -> None:
    record = await (new_page(writer) if kind == "cms_page" else new(writer, kind))
    largest = "ä" * (MAX_MARKDOWN_BYTES // 2)

    assert (await change_record(writer, kind, record.id, **{field: largest}))[field] == largest
    assert_refused(await patch_record(writer, kind, record.id, **{field: largest + "x"}), field)
    for value in [*INVALID_VALUES["text"][:5], *INVALID_VALUES["text"][6:]]:
        assert_refused(await patch_record(writer, kind, record.id, **{field: value}), field)
    markdown = f"[a]: /{'x' * 1900}\n\n" + "[a] " * 10_000
    assert_refused(await patch_record(writer, kind, record.id, **{field: markdown}), field)


async def test_the_audit_truncates_a_long_text(writer: Machine, db: Any) -> None:
    page = await new_page(writer, content="x" * 60_000)

    statement = "select changes->'content'->>1 from audit_events where subject_id = $1"
    assert await db.fetchval(statement, page.id) == "x" * 5_000 + "..."


async def test_pages_are_filtered_by_title_type_and_locale(writer: Machine) -> None:
    word = uuid4().hex
    page = await new_page(writer, title=f"About {word}", type="feature", locale="de")
    await new_page(writer, title=f"Other {word}")

    params = {"filter[title_cont]": f"bout {word}", "filter[type_eq]": "feature", "filter[locale_eq]": "de"}
    assert [item["id"] for item in (await writer.get("/cms_pages", params)).json["data"]] == [page.id]


async def test_a_deleted_page_frees_its_slug(writer: Machine) -> None:
    page = await new_page(writer)

    assert (await delete_record(writer, "cms_page", page.id)).status == 204
    assert (await get_record(writer, "cms_page", page["slug"])).status == 404
    assert (await new_page(writer, slug=page["slug"]))["slug"] == page["slug"]


@pytest.mark.parametrize("path", ["cms_pages", "policies", "menus", "menu_items"])
async def test_a_read_application_cannot_write(writer: Machine, reader: Machine, path: str) -> None:
    assert (await reader.get(f"/{path}")).status == 200
    for method, address in (("POST", f"/{path}"), ("PATCH", f"/{path}/{uuid4()}"), ("DELETE", f"/{path}/{uuid4()}")):
        refusal = await reader.ask(method, address, json={})
        assert (refusal.status, refusal.code) == (403, "insufficient_scope")


async def test_a_body_without_the_resource_key_may_change_the_locale(writer: Machine) -> None:
    page = await writer.post("/cms_pages", {"cms_page": {"title": f"Page {uuid4().hex}"}})

    response = await writer.patch(f"/cms_pages/{page.id}", {"locale": "de", "title": "Impressum"})
    unknown = await writer.patch(f"/cms_pages/{page.id}", {"nothing": 1})

    assert (response.status, response["locale"]) == (200, "de")
    assert (unknown.status, list(unknown.json["errors"])) == (422, ["nothing"])
