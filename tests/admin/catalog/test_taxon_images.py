"""The image of a taxon on its page in the dashboard."""

import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.admin.catalog_forms import TAXONS, error_messages, field, image_data, saved_message, unique_word, upload
from tests.admin.dashboard import UNKNOWN_ID, Dashboard, events


@pytest.fixture
async def taxon(dashboard: Dashboard, db: Any) -> str:
    """The path of the page of a new root taxon."""
    name = f"Tree {unique_word()}"
    assert saved_message(await dashboard.post(TAXONS, tree_name=name)) == "tree"
    return f"{TAXONS}/{await db.fetchval('select id from taxons where name = $1', name)}"


async def find_image(db: Any, taxon: str) -> Any:
    return await db.fetchrow("select id, alt from images where taxon_id = $1", UUID(taxon.rpartition("/")[2]))


async def test_an_image_is_uploaded_shown_and_replaced(
    dashboard: Dashboard, db: Any, http: httpx2.AsyncClient, taxon: str
) -> None:
    assert "No image yet" in (await dashboard.get(taxon)).text

    assert saved_message(await upload(dashboard, f"{taxon}/image", image_data(), new_alt="A kitchen")) == "image-saved"
    first, page = await find_image(db, taxon), (await dashboard.get(f"{taxon}?done=image-saved")).text
    assert saved_message(await upload(dashboard, f"{taxon}/image", image_data("#222222"))) == "image-saved"
    second = await find_image(db, taxon)

    (url,) = re.findall(r'<img src="(/media/[^"]+)" alt="A kitchen"', page)
    assert url.startswith(f"/media/{first['id']}/")
    assert "Image saved." in page
    assert (second["id"] != first["id"], second["alt"]) == (True, None)
    assert (await http.get(url)).status_code == 404
    assert ("image_created", "done") in await events(db, actor=dashboard.id, subject=second["id"])


async def test_an_image_is_described_and_deleted(dashboard: Dashboard, db: Any, taxon: str) -> None:
    await upload(dashboard, f"{taxon}/image", image_data())

    assert saved_message(await dashboard.post(f"{taxon}/image/alt", alt="Mugs on a shelf")) == "image-saved"
    assert field((await dashboard.get(taxon)).text, "alt") == "Mugs on a shelf"
    too_long = await dashboard.post(f"{taxon}/image/alt", alt="x" * 251)
    assert saved_message(await dashboard.post(f"{taxon}/image/remove")) == "image-removed"

    assert error_messages(too_long) == ["Image description must be one line of at most 250 characters."]
    assert field(too_long.text, "alt") == "x" * 251
    assert await find_image(db, taxon) is None
    assert (await dashboard.post(f"{taxon}/image/remove")).status_code == 404


async def test_an_invalid_image_file_is_refused_with_a_field_error(dashboard: Dashboard, db: Any, taxon: str) -> None:
    refusals = [
        await upload(dashboard, f"{taxon}/image", b"no picture", new_alt="Kept"),
        await upload(dashboard, f"{taxon}/image", b"", new_alt="Kept"),
        await upload(dashboard, f"{taxon}/image", image_data(), new_alt="x" * 251),
    ]

    assert [answer.status_code for answer in refusals] == [422] * 3
    assert [text for answer in refusals for text in error_messages(answer)] == [
        "Image is not a valid PNG, JPEG, WebP or GIF image.",
        "Image must be chosen.",
        "New image description must be one line of at most 250 characters.",
    ]
    assert field(refusals[0].text, "new_alt") == "Kept"
    assert await find_image(db, taxon) is None


async def test_an_image_of_an_unknown_taxon_is_404(dashboard: Dashboard) -> None:
    answers = [
        await upload(dashboard, f"{TAXONS}/{UNKNOWN_ID}/image", image_data()),
        await dashboard.post(f"{TAXONS}/{UNKNOWN_ID}/image/alt", alt="x"),
        await dashboard.post(f"{TAXONS}/{UNKNOWN_ID}/image/remove"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 3
