"""The image of a taxon on its page in the dashboard."""

import re
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.admin.catalog_forms import TAXONS, done, field, mark, picture, said, upload
from tests.admin.dashboard import NOBODY, Desk, events


@pytest.fixture
async def taxon(desk: Desk, db: Any) -> str:
    """The address of a new tree's page."""
    name = f"Tree {mark()}"
    assert done(await desk.post(TAXONS, tree_name=name)) == "tree"
    return f"{TAXONS}/{await db.fetchval('select id from taxons where name = $1', name)}"


async def find_image(db: Any, taxon: str) -> Any:
    return await db.fetchrow("select id, alt from images where taxon_id = $1", UUID(taxon.rpartition("/")[2]))


async def test_an_image_is_uploaded_shown_and_replaced(
    desk: Desk, db: Any, http: httpx.AsyncClient, taxon: str
) -> None:
    assert "No image yet" in (await desk.get(taxon)).text

    assert done(await upload(desk, f"{taxon}/image", picture(), new_alt="A kitchen")) == "image-saved"
    first, page = await find_image(db, taxon), (await desk.get(f"{taxon}?done=image-saved")).text
    assert done(await upload(desk, f"{taxon}/image", picture("#222222"))) == "image-saved"
    second = await find_image(db, taxon)

    (url,) = re.findall(r'<img src="(/media/[^"]+)" alt="A kitchen"', page)
    assert url.startswith(f"/media/{first['id']}/")
    assert "The image is saved." in page
    assert (second["id"] != first["id"], second["alt"]) == (True, None)
    assert (await http.get(url)).status_code == 404
    assert ("image_created", "done") in await events(db, actor=desk.id, subject=second["id"])


async def test_an_image_is_described_and_removed(desk: Desk, db: Any, taxon: str) -> None:
    await upload(desk, f"{taxon}/image", picture())

    assert done(await desk.post(f"{taxon}/image/alt", alt="Mugs on a shelf")) == "image-saved"
    assert field((await desk.get(taxon)).text, "alt") == "Mugs on a shelf"
    too_long = await desk.post(f"{taxon}/image/alt", alt="x" * 251)
    assert done(await desk.post(f"{taxon}/image/remove")) == "image-removed"

    assert said(too_long) == ["What the image shows must be one line of at most 250 characters."]
    assert field(too_long.text, "alt") == "x" * 251
    assert await find_image(db, taxon) is None
    assert (await desk.post(f"{taxon}/image/remove")).status_code == 404


async def test_a_file_that_is_no_image_is_refused_and_the_page_says_why(desk: Desk, db: Any, taxon: str) -> None:
    refusals = [
        await upload(desk, f"{taxon}/image", b"no picture", new_alt="Kept"),
        await upload(desk, f"{taxon}/image", b"", new_alt="Kept"),
        await upload(desk, f"{taxon}/image", picture(), new_alt="x" * 251),
    ]

    assert [answer.status_code for answer in refusals] == [422] * 3
    assert [text for answer in refusals for text in said(answer)] == [
        "Image is not a valid PNG, JPEG, WebP or GIF image.",
        "Image must be chosen.",
        "What the new image shows must be one line of at most 250 characters.",
    ]
    assert field(refusals[0].text, "new_alt") == "Kept"
    assert await find_image(db, taxon) is None


async def test_a_taxon_that_does_not_exist_gets_no_image(desk: Desk) -> None:
    answers = [
        await upload(desk, f"{TAXONS}/{NOBODY}/image", picture()),
        await desk.post(f"{TAXONS}/{NOBODY}/image/alt", alt="x"),
        await desk.post(f"{TAXONS}/{NOBODY}/image/remove"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 3
