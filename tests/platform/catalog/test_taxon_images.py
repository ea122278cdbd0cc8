"""The image of a taxon by the platform: uploaded, replaced, described, deleted with its taxon."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.image_files import png
from tests.platform.catalog_builders import links, new, root_of, taxon_under
from tests.platform.client import Machine
from tests.service import Service
from tests.shopper import Answer

TAXON = "Spree::Taxon"


@pytest.fixture
def media(service: Service) -> Path:
    """The directory with the files of images."""
    return Path(service.environ["SHOP_DATA_DIR"]) / "media"


@pytest.fixture
async def root(writer: Machine) -> str:
    return await root_of(writer, (await new(writer, "taxonomy")).id)


@pytest.fixture
async def taxon(writer: Machine, root: str) -> str:
    return await taxon_under(writer, root)


async def upload(machine: Machine, data: bytes | None = None, **fields: Any) -> Answer:
    files = {"attachment": ("a.png", data or png(200, 100))}
    return await machine.ask("POST", "/images", files=files, data=fields)


async def list_images_of(db: Any, *taxons: str) -> list[str]:
    rows = await db.fetch("select id::text from images where taxon_id = any($1::text[]::uuid[])", list(taxons))
    return [row["id"] for row in rows]


def files_in(media: Path) -> set[Path]:
    return set(media.rglob("*"))


async def count_rows(db: Any) -> tuple[int, int]:
    return tuple(await db.fetchrow("select (select count(*) from images), (select count(*) from loose_files)"))


async def test_a_taxon_has_an_image(writer: Machine, http: httpx2.AsyncClient, taxon: str) -> None:
    image = await upload(writer, viewable_type=TAXON, viewable_id=taxon, alt="A shelf")

    response = await writer.get(f"/images/{image.id}", {"include": "taxon", "image_transformation[size]": "100x50"})
    with_image = await writer.get(f"/taxons/{taxon}", {"include": "image"})
    assert (image.status, image["alt"], image["viewable_type"], image["viewable_id"]) == (201, "A shelf", TAXON, taxon)
    assert [links(response, name) for name in ("taxon", "product", "variant")] == [[taxon], [], []]
    assert response.json["included"][0]["id"] == taxon
    assert response["transformed_url"] == f"/media/{image.id}/160.webp"
    assert links(with_image, "image") == [image.id]
    assert with_image.json["included"][0]["attributes"]["alt"] == "A shelf"
    assert (await http.get(image["original_url"])).status_code == 200


async def test_images_are_filtered_by_taxon_and_taxons_by_image(writer: Machine, taxon: str) -> None:
    image = await upload(writer, taxon_id=taxon, alt=f"Alt {taxon}")

    images = await writer.get("/images", {"filter[taxon_id_eq]": taxon})
    taxons = await writer.get("/taxons", {"filter[image_alt_eq]": f"Alt {taxon}"})

    assert [item["id"] for item in images.json["data"]] == [image.id]
    assert [item["id"] for item in taxons.json["data"]] == [taxon]


async def test_another_upload_replaces_the_image_and_its_files(
    writer: Machine, http: httpx2.AsyncClient, db: Any, media: Path, taxon: str
) -> None:
    old = await upload(writer, taxon_id=taxon)

    image = await upload(writer, taxon_id=taxon)

    assert (image.status, await list_images_of(db, taxon)) == (201, [image.id])
    assert (await writer.get(f"/images/{old.id}")).status == 404
    assert (await http.get(old["original_url"])).status_code == 404
    assert ((media / old.id).exists(), (media / image.id).is_dir()) == (False, True)
    assert await db.fetchval("select count(*) from loose_files where image_id = $1", old.id) == 0
    events = await db.fetch("select action from audit_events where subject_id = $1 order by id", old.id)
    assert [row["action"] for row in events] == ["image_created", "image_deleted"]


async def test_of_concurrent_uploads_one_image_remains_with_its_files(
    writer: Machine, db: Any, media: Path, taxon: str
) -> None:
    answers = await asyncio.gather(*(upload(writer, taxon_id=taxon) for _ in range(4)))

    (remaining,) = await list_images_of(db, taxon)
    rows = await db.fetch(
        "select subject_id::text from audit_events where action = 'image_created' and changes->'taxon_id'->>1 = $1",
        taxon,
    )
    assert {answer.status for answer in answers} <= {201, 409}
    assert [row["subject_id"] for row in rows if (media / row["subject_id"]).exists()] == [remaining]
    assert len(rows) == 4


async def test_a_repeated_upload_whose_image_was_replaced_is_a_conflict(writer: Machine, taxon: str) -> None:
    key, files = {"Idempotency-Key": uuid4().hex}, {"attachment": ("a.png", png(60, 40))}
    request = httpx2.Request("POST", "http://shop", files=files, data={"taxon_id": taxon})
    headers, body = {**key, "Content-Type": request.headers["content-type"]}, request.read()

    first = await writer.ask("POST", "/images", headers=headers, content=body)
    again = await writer.ask("POST", "/images", headers=headers, content=body)
    await upload(writer, taxon_id=taxon)
    late = await writer.ask("POST", "/images", headers=headers, content=body)

    assert (first.status, again.id, late.status, late.code) == (201, first.id, 409, "conflict")


async def test_the_alt_text_of_a_taxon_image_can_change_but_not_its_owner(writer: Machine, taxon: str) -> None:
    image = await upload(writer, taxon_id=taxon)
    product = await new(writer, "product")
    (master,) = links(product, "primary_variant")

    response = await writer.patch(f"/images/{image.id}", {"image": {"alt": "Lit", "variant_id": None}})
    owner_fields = {"viewable_type": TAXON, "viewable_id": taxon, "taxon_id": taxon, "product_id": None}
    sent_back = await writer.patch(f"/images/{image.id}", {"image": owner_fields})
    refusals = [
        await writer.patch(f"/images/{image.id}", {"image": {"variant_id": master}}),
        await writer.patch(f"/images/{image.id}", {"image": {"product_id": product.id}}),
        await writer.patch(f"/images/{image.id}", {"image": {"taxon_id": str(uuid4())}}),
    ]

    assert (response.status, response["alt"], sent_back.status) == (200, "Lit", 200)
    assert [(answer.status, *answer.json["errors"]) for answer in refusals] == [
        (422, "variant_id"), (422, "product_id"), (422, "taxon_id"),
    ]  # fmt: skip


async def test_an_image_of_a_taxon_is_deleted_with_its_files(writer: Machine, media: Path, taxon: str) -> None:
    image = await upload(writer, taxon_id=taxon)
    before = (await writer.get(f"/taxons/{taxon}"))["updated_at"]

    deletion = await writer.delete(f"/images/{image.id}")

    taxon_response = await writer.get(f"/taxons/{taxon}")
    assert (deletion.status, (await writer.delete(f"/images/{image.id}")).status) == (204, 404)
    assert (links(taxon_response, "image"), taxon_response["updated_at"] > before) == ([], True)
    assert not (media / image.id).exists()


@pytest.mark.parametrize("kind", ["taxon", "taxonomy"])
async def test_the_files_of_deleted_taxons_are_recorded_for_deletion(
    writer: Machine, db: Any, root: str, taxon: str, kind: str
) -> None:
    below, beside = await taxon_under(writer, taxon), await taxon_under(writer, root)
    image_ids = [(await upload(writer, taxon_id=each)).id for each in (taxon, below)]
    remaining_id = (await upload(writer, taxon_id=beside)).id
    (taxonomy,) = links(await writer.get(f"/taxons/{root}"), "taxonomy")

    response = await writer.delete(f"/taxons/{taxon}" if kind == "taxon" else f"/taxonomies/{taxonomy}")

    rows = await db.fetch("select image_id::text from loose_files where image_id = any($1)", [*image_ids, remaining_id])
    expected = image_ids if kind == "taxon" else [*image_ids, remaining_id]
    assert (response.status, {row["image_id"] for row in rows}) == (204, set(expected))
    assert await list_images_of(db, taxon, below, beside) == ([remaining_id] if kind == "taxon" else [])


async def test_an_unknown_or_ambiguous_owner_is_refused_and_stores_nothing(
    writer: Machine, db: Any, media: Path, taxon: str
) -> None:
    product = await new(writer, "product")
    deleted_taxon = await taxon_under(writer, taxon)
    await writer.delete(f"/taxons/{deleted_taxon}")
    bad: dict[str, list[dict[str, Any]]] = {
        "taxon_id": [
            {"viewable_type": TAXON, "viewable_id": str(uuid4())},
            {"taxon_id": deleted_taxon},
            {"taxon_id": "7"},
            {"taxon_id": taxon, "product_id": product.id},
        ],
        "viewable_id": [{"viewable_type": TAXON}, {"viewable_type": TAXON, "viewable_id": "7"}],
        "viewable_type": [{"viewable_type": "Spree::TaxonIcon", "viewable_id": taxon}],
    }
    files, rows = files_in(media), await count_rows(db)

    for name, bodies in bad.items():
        for body in bodies:
            answer = await upload(writer, **body)
            assert (answer.status, set(answer.json["errors"])) == (422, {name}), body
    refusal = await upload(writer, b"no picture", taxon_id=taxon)
    assert (refusal.status, set(refusal.json["errors"])) == (422, {"attachment"})
    assert (files_in(media), await count_rows(db)) == (files, rows)


async def test_a_refused_upload_does_not_change_the_image(writer: Machine, db: Any, taxon: str) -> None:
    image = await upload(writer, taxon_id=taxon)

    refusal = await upload(writer, b"no picture", taxon_id=taxon)

    assert (refusal.status, await list_images_of(db, taxon)) == (422, [image.id])


async def test_a_read_application_cannot_change_the_image_of_a_taxon(
    writer: Machine, reader: Machine, taxon: str
) -> None:
    image = await upload(writer, taxon_id=taxon)

    refusals = [
        await upload(reader, taxon_id=taxon),
        await reader.patch(f"/images/{image.id}", {"image": {"alt": "x"}}),
        await reader.delete(f"/images/{image.id}"),
    ]

    assert [(answer.status, answer.code) for answer in refusals] == [(403, "insufficient_scope")] * 3
    assert links(await reader.get(f"/taxons/{taxon}"), "image") == [image.id]
