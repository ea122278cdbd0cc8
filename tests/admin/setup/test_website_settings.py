"""The website settings in the dashboard: brand, home page, images and their preview."""

import asyncio
import html
import json
import re
from io import BytesIO
from typing import Any
from uuid import UUID

import httpx2
import pytest
from PIL import Image
from playwright.async_api import expect

from shop.rules.setup.website import LEAST_CONTRAST, contrast_with_white
from tests.admin.browser_session import open_page
from tests.admin.catalog_forms import error_messages, field, image_data, new_product, saved_message, unique_word
from tests.admin.dashboard import SAME_ORIGIN, UNKNOWN_ID, Dashboard, new_dashboard
from tests.browser import PHONE, Browser, accessibility_violations, scrolls_sideways
from tests.builders import Make
from tests.platform.client import Machine

WEBSITE = "/admin/settings/website"
TEXTS = {
    "accent": "#1D5C48",
    "radius": "4",
    "font": "serif",
    "hero_title": "Tea & <b>cake</b>",
    "hero_text": "Every day.\r\nFrom ten.",
    "announcement": "Open today",
    "description": "A shop for tests.",
    "hero_taxon_id": "",
    "promotion_id": "",
}


@pytest.fixture(autouse=True)
async def default_settings(db: Any) -> Any:
    """The settings are those of a new shop before and after each test."""
    reset = """update shops set website = '{}', version = version + 1 where website <> '{}';
        delete from images where shop_id is not null"""
    await db.execute(reset)
    yield
    await db.execute(reset)


async def load_version(dashboard: Dashboard) -> str:
    return field((await dashboard.get(WEBSITE)).text, "version")


async def save(dashboard: Dashboard, files: dict[str, bytes] | None = None, **fields: Any) -> httpx2.Response:
    """Submits the form as a browser does: with files, in several parts."""
    form = {"csrf": await dashboard.csrf(), "version": await load_version(dashboard), **TEXTS, **fields}
    parts = [(name, (f"{name}.png", data, "image/png")) for name, data in (files or {}).items()]
    headers = {**dashboard.cookie, **SAME_ORIGIN}
    return await dashboard.http.post(WEBSITE, data=form, files=parts or {"logo": ("", b"")}, headers=headers)


async def saved_settings(db: Any) -> Any:
    return json.loads(await db.fetchval("select website from shops"))


def logo_file() -> bytes:
    data = BytesIO()
    Image.new("RGBA", (320, 80), (20, 60, 40, 255)).save(data, "PNG")
    return data.getvalue()


async def test_what_is_saved_is_shown_again_and_on_the_website(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient
) -> None:
    answer = await save(dashboard)

    page = (await dashboard.get(f"{WEBSITE}?done=saved")).text
    home = (await http.get("/")).text
    assert saved_message(answer) == "saved"
    assert "Saved." in page
    assert field(page, "accent") == "#1d5c48"
    assert field(page, "radius") == "4"
    assert field(page, "hero_title") == TEXTS["hero_title"]
    assert field(page, "hero_text") == "Every day.\nFrom ten."
    assert re.search(r'value="serif"[^>]* checked', page)
    assert html.escape(TEXTS["hero_title"]) in home
    assert TEXTS["announcement"] in home
    (stylesheet,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', home)
    assert "--radius:4px" in (await http.get(stylesheet)).text
    settings = await saved_settings(db)
    assert (settings["accent"], settings["radius"], settings["font"]) == ("#1d5c48", 4, "serif")


async def test_the_change_is_audited_with_what_differs(dashboard: Dashboard, db: Any) -> None:
    await save(dashboard)
    await save(dashboard, radius="8")

    rows = await db.fetch(
        "select changes from audit_events where action = 'website_changed' and actor_id = $1 order by at, id",
        dashboard.id,
    )
    assert [json.loads(row["changes"]) for row in rows][1] == {"radius": [4, 8]}


async def test_featured_records_are_found_by_name_or_address_and_keep_their_order(
    dashboard: Dashboard, db: Any, make: Make
) -> None:
    name = f"Mug {unique_word()}"
    first, second = await new_product(dashboard), await new_product(dashboard, name=name)
    slug = await db.fetchval("select slug from products where id = $1", UUID(first.rpartition("/")[2]))
    taxon_id = await make.taxon(f"Cups {unique_word()}", (await make.taxonomy())[1])
    permalink = await db.fetchval("select permalink from taxons where id = $1", UUID(taxon_id))

    lists: dict[str, Any] = {
        "featured_products[]": ["", name.upper(), slug, name, ""],
        "featured_taxons[]": [permalink],
    }
    assert saved_message(await save(dashboard, **lists, hero_taxon_id=taxon_id)) == "saved"

    settings = await saved_settings(db)
    assert settings["featured_product_ids"] == [second.rpartition("/")[2], first.rpartition("/")[2]]
    assert settings["featured_taxon_ids"] == [taxon_id]
    assert settings["hero_taxon_id"] == taxon_id
    page = (await dashboard.get(WEBSITE)).text
    assert re.findall(r'name="featured_products\[\]" value="([^"]+)"', page)[1] == slug
    assert f'<option value="{taxon_id}" selected' in page


async def test_a_record_that_is_deleted_later_is_left_out(dashboard: Dashboard, db: Any) -> None:
    product = await new_product(dashboard)
    product_id = UUID(product.rpartition("/")[2])
    slug = await db.fetchval("select slug from products where id = $1", product_id)
    lists: dict[str, Any] = {"featured_products[]": [slug]}
    await save(dashboard, **lists)

    await db.execute("update products set deleted_at = now() where id = $1", product_id)
    page = await dashboard.get(WEBSITE)

    assert page.status_code == 200
    assert f'value="{slug}"' not in page.text
    assert saved_message(await save(dashboard)) == "saved"


@pytest.mark.security("W-13")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("accent", "#777777", "Accent color is too light for white text: its contrast is 4.4:1"),
        ("accent", "green", "Accent color must be a color like #1d5c48."),
        ("accent", "#1d5c48;}", "Accent color must be a color like #1d5c48."),
        ("radius", "25", "Corner radius must be a whole number from 0 to 24."),
        ("radius", "round", "Corner radius must be a whole number from 0 to 24."),
        ("radius", "9" * 5000, "Corner radius must be a whole number from 0 to 24."),
        ("font", "comic", "Font is not a valid choice."),
        ("hero_title", "x" * 121, "Banner title must be one line of at most 120 characters."),
        ("hero_title", "two\nlines", "Banner title must be one line of at most 120 characters."),
        ("hero_text", "x" * 401, "Banner text must be text of at most 400 characters."),
        ("announcement", "x" * 201, "Announcement must be one line of at most 200 characters."),
        ("description", "x" * 301, "Description must be text of at most 300 characters."),
        ("hero_taxon_id", UNKNOWN_ID, "Banner category does not exist."),
        ("promotion_id", UNKNOWN_ID, "Promotion does not exist."),
        ("featured_products[]", ["no such thing"], "“no such thing” does not exist."),
        ("featured_taxons[]", ["<b>"], "“<b>” does not exist."),
    ],
)
async def test_an_invalid_value_is_refused_with_a_sentence_and_what_was_typed_stays(
    dashboard: Dashboard, db: Any, name: str, value: Any, message: str
) -> None:
    before = await db.fetchrow("select * from shops")

    answer = await save(dashboard, **{"announcement": "Typed", name: value})

    assert answer.status_code == 422
    assert any(text.startswith(message) for text in error_messages(answer)), error_messages(answer)
    if name != "announcement":
        assert field(answer.text, "announcement") == "Typed"
    assert await db.fetchrow("select * from shops") == before


async def test_all_errors_are_said_at_once(dashboard: Dashboard) -> None:
    answer = await save(dashboard, accent="#ffffff", radius="99", hero_title="x" * 200)

    assert len(error_messages(answer)) == 3
    assert len(re.findall('aria-invalid="true"', answer.text)) == 3


async def test_a_logo_and_a_hero_image_are_saved_replaced_and_removed(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient
) -> None:
    hero = image_data(size=(1600, 900))
    assert saved_message(await save(dashboard, {"logo": logo_file(), "hero_image": hero})) == "saved"
    first = await saved_settings(db)
    header = (await http.get("/")).text
    assert saved_message(await save(dashboard, {"logo": image_data(size=(400, 100))})) == "saved"
    second = await saved_settings(db)
    assert saved_message(await save(dashboard, remove_logo="1", remove_hero_image="1")) == "saved"
    third = await saved_settings(db)

    assert (first["logo"]["width"], first["logo"]["height"]) == (320, 80)
    assert first["hero_image"]["width"] == 1600
    assert f'src="/media/{first["logo"]["id"]}/' in header
    (logo_url,) = re.findall(rf'src="(/media/{first["logo"]["id"]}/[^"]+)"', header)
    assert second["logo"]["id"] != first["logo"]["id"]
    assert second["hero_image"] == first["hero_image"]
    assert (third["logo"], third["hero_image"]) == (None, None)
    assert (await http.get(logo_url)).status_code == 404
    assert await db.fetchval("select count(*) from images where shop_id is not null") == 0


@pytest.mark.security("W-13")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no picture", "Logo is not a valid PNG, JPEG, WebP or GIF image."),
        (
            b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="50" onload="alert(1)"/>',
            "Logo is not a valid PNG, JPEG, WebP or GIF image.",
        ),
        (image_data(size=(100, 100)), "Logo must be at least 160 pixels wide."),
    ],
)
async def test_a_file_that_is_no_logo_is_refused(dashboard: Dashboard, db: Any, data: bytes, message: str) -> None:
    answer = await save(dashboard, {"logo": data})

    assert (answer.status_code, error_messages(answer)) == (422, [message])
    assert await saved_settings(db) == {}
    assert await db.fetchval("select count(*) from images where shop_id is not null") == 0


async def test_images_of_the_shop_are_not_part_of_the_catalogs_api(
    dashboard: Dashboard, db: Any, writer: Machine
) -> None:
    await save(dashboard, {"logo": logo_file()})
    logo_id = (await saved_settings(db))["logo"]["id"]

    listed = await writer.get("/images?per_page=500")
    one = await writer.get(f"/images/{logo_id}")
    removal = await writer.delete(f"/images/{logo_id}")

    assert logo_id not in {image["id"] for image in listed.json["data"]}
    assert (one.status, removal.status) == (404, 404)
    assert await db.fetchval("select count(*) from images where id = $1", UUID(logo_id)) == 1


async def test_whoever_typed_over_an_older_version_sees_both_and_can_save_again(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    version = await load_version(dashboard)
    await save(other_dashboard, announcement="Theirs")

    answer = await save(dashboard, version=version, announcement="Mine")

    assert answer.status_code == 409
    assert "Someone else changed the settings" in answer.text
    assert "<dt>Announcement</dt><dd>Theirs</dd>" in answer.text
    assert field(answer.text, "announcement") == "Mine"
    assert (await saved_settings(db))["announcement"] == "Theirs"
    assert saved_message(await save(dashboard, version=field(answer.text, "version"), announcement="Mine")) == "saved"


async def test_of_two_who_save_at_once_one_is_told_and_no_file_is_left(
    dashboard: Dashboard, other_dashboard: Dashboard, db: Any
) -> None:
    version = await load_version(dashboard)
    loose = await db.fetchval("select count(*) from loose_files")

    answers = await asyncio.gather(
        *(save(each, {"logo": logo_file()}, version=version) for each in (dashboard, other_dashboard))
    )

    assert sorted(answer.status_code for answer in answers) == [303, 409]
    assert await db.fetchval("select count(*) from images where shop_id is not null") == 1
    assert await db.fetchval("select count(*) from loose_files") == loose


async def test_the_preview_shows_the_saved_settings_without_a_script(dashboard: Dashboard) -> None:
    await save(dashboard, accent="#7a1f5a", radius="20", announcement="")

    page = (await dashboard.get(WEBSITE)).text

    assert "--brand: #7a1f5a; --radius: 20px;" in page
    assert page.count(html.escape(TEXTS["hero_title"])) >= 3
    assert 'data-preview="announcement" hidden' in page


@pytest.mark.parametrize("color", ["#000000", "#767676", "#1d5c48", "#c00000"])
def test_a_color_with_enough_contrast_passes_the_formula_of_wcag(color: str) -> None:
    assert contrast_with_white(color) >= LEAST_CONTRAST


def test_the_contrast_is_that_of_wcag() -> None:
    assert contrast_with_white("#ffffff") == pytest.approx(1)
    assert contrast_with_white("#000000") == pytest.approx(21)
    assert contrast_with_white("#777777") == pytest.approx(4.48, abs=0.01)


@pytest.mark.torture
async def test_the_preview_follows_what_is_typed(browser: Browser, http: httpx2.AsyncClient, db: Any) -> None:
    dashboard = await new_dashboard(http, db)
    async with open_page(browser, dashboard, WEBSITE) as page:
        site = page.locator(".site.light")
        await page.get_by_label("Accent color", exact=True).fill("#7a1f5a")
        await page.get_by_label("Banner title").fill("Typed just now")
        await page.get_by_role("radio", name="Serif", exact=False).last.check()
        await page.get_by_label("Logo").set_input_files(
            {"name": "l.png", "mimeType": "image/png", "buffer": logo_file()}
        )
        await expect(site.locator("[data-preview=hero_title]")).to_have_text("Typed just now")
        await expect(site.locator("em")).to_have_css("background-color", "rgb(122, 31, 90)")
        await expect(site.locator("[data-preview-image=logo]")).to_be_visible()
        await expect(page.get_by_text("Contrast 9.6:1")).to_be_visible()
        assert await accessibility_violations(page) == []
    async with open_page(browser, dashboard, WEBSITE, PHONE, is_dark=True) as page:
        assert await accessibility_violations(page) == []
        assert not await scrolls_sideways(page)
