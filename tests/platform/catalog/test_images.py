"""Images of products: which files are accepted, which are refused and leave nothing, and how images change."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from PIL import Image

from tests.image_files import bomb, encode_image, open_image, png, png_with_excess_data, text_bomb, two_color_image
from tests.platform.client import PREFIX, Machine
from tests.sampling import first
from tests.service import Service
from tests.shopper import Answer

MIB = 1024 * 1024


@pytest.fixture
def media(service: Service) -> Path:
    """The directory with the files of images."""
    return Path(service.environ["SHOP_DATA_DIR"]) / "media"


def files_in(media: Path) -> set[str]:
    return {str(file.relative_to(media)) for file in media.rglob("*")}


async def new_product(writer: Machine) -> str:
    product = await writer.post("/products", {"product": {"name": f"Lamp {uuid4().hex}", "price": "9.0"}})
    return product.id


async def new_variant(writer: Machine, product_id: str) -> str:
    return (await writer.post("/variants", {"variant": {"product_id": product_id}})).id


async def upload(
    writer: Machine, data: bytes, *, name: str = "a.png", kind: str | None = None, **fields: Any
) -> Answer:
    file = (name, data, kind) if kind else (name, data)
    return await writer.ask("POST", "/images", files={"attachment": file}, data=fields)


async def count_rows(db: Any) -> tuple[int, int]:
    return tuple(await db.fetchrow("select (select count(*) from images), (select count(*) from loose_files)"))


async def download_image(http: httpx2.AsyncClient, url: str) -> Image.Image:
    answer = await http.get(url)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    return open_image(answer.content)


async def test_an_image_is_stored_in_every_style_up_to_its_own_width(
    writer: Machine, http: httpx2.AsyncClient, service: Service, media: Path
) -> None:
    product_id = await new_product(writer)

    image = await upload(writer, png(1000, 500), product_id=product_id, alt="A lamp")

    sizes = [(48, 24), (160, 80), (480, 240), (960, 480), (1000, 500)]
    assert (image.status, image["alt"], image["position"], image["width"]) == (201, "A lamp", 1, 1000)
    assert [(style["size"], style["width"], style["height"]) for style in image["styles"]] == [
        (f"{width}x{height}", str(width), str(height)) for width, height in sizes
    ]
    assert image["original_url"] == f"{service.url}/media/{image.id}/1000.webp"
    assert image["transformed_url"] is None
    assert [(await download_image(http, style["url"])).size for style in image["styles"]] == sizes
    assert {file.name for file in (media / image.id).iterdir()} == {f"{width}.webp" for width, _ in sizes}
    assert [path.stat().st_mode & 0o777 for path in (media, media / image.id)] == [0o700, 0o700]


async def test_transformed_url_is_the_smallest_style_that_covers_the_size(writer: Machine) -> None:
    image = await upload(writer, png(1000, 500), product_id=await new_product(writer))
    widths = {
        "40x20": 48,
        "40x25": 160,
        "160x10": 160,
        "480x241": 960,
        "5000x1": 1000,
    }

    for size, width in widths.items():
        response = await writer.get(f"/images/{image.id}", {"image_transformation[size]": size})
        assert response["transformed_url"].endswith(f"/{image.id}/{width}.webp"), size
    for invalid in ("40", "x", "40x", "-1x5", "1e9x1", "40x20x10"):
        assert (await writer.get(f"/images/{image.id}", {"image_transformation[size]": invalid})).status == 400
    assert (await writer.get(f"/images/{image.id}", {"image_transformation": "40x20"})).status == 400


async def test_a_small_image_is_not_enlarged(writer: Machine) -> None:
    image = await upload(writer, png(30, 20), product_id=await new_product(writer))

    assert [style["size"] for style in image["styles"]] == ["30x20"]


@pytest.mark.torture
async def test_a_large_image_is_reduced(writer: Machine) -> None:
    image = await upload(
        writer, encode_image(Image.new("1", (6000, 3000)), "PNG"), product_id=await new_product(writer)
    )

    assert (image["width"], image["height"]) == (4096, 2048)
    assert [style["width"] for style in image["styles"]] == ["48", "160", "480", "960", "1600", "4096"]


@pytest.mark.parametrize(
    "data",
    [
        encode_image(two_color_image(60, 40), "JPEG"),
        encode_image(two_color_image(60, 40), "WEBP"),
        encode_image(two_color_image(60, 40), "GIF", save_all=True, append_images=[two_color_image(60, 40).rotate(90)]),
        encode_image(two_color_image(60, 40, "RGBA"), "PNG"),
        encode_image(two_color_image(60, 40).convert("P"), "PNG"),
        encode_image(two_color_image(60, 40).convert("CMYK"), "JPEG"),
        encode_image(two_color_image(60, 40).convert("L"), "PNG"),
        encode_image(Image.linear_gradient("L").resize((60, 40)).convert("I;16"), "PNG"),
    ],
    ids=["jpeg", "webp", "animated gif", "transparent", "palette", "cmyk", "grayscale", "16 bits"],
)
async def test_every_common_image_format_is_accepted(writer: Machine, http: httpx2.AsyncClient, data: bytes) -> None:
    image = await upload(writer, data, name="image", product_id=await new_product(writer))

    assert image.status == 201, image
    assert (await download_image(http, image["original_url"])).size == (60, 40)


async def test_exif_rotation_is_applied_and_metadata_is_removed(writer: Machine, http: httpx2.AsyncClient) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # Rotated by 90 degrees.
    exif[0x010F] = "A camera of mine"
    exif.get_ifd(0x8825)[1] = "N"
    data = encode_image(two_color_image(80, 40), "JPEG", exif=exif, comment=b"my house", icc_profile=b"my screen" * 20)

    uploaded_image = await upload(writer, data, product_id=await new_product(writer))

    assert (uploaded_image["width"], uploaded_image["height"]) == (40, 80)
    for style in uploaded_image["styles"]:
        content = (await http.get(style["url"])).content
        assert b"EXIF" not in content
        assert b"camera" not in content
        assert b"house" not in content
        assert b"screen" not in content
        image, middle = open_image(content).convert("RGB"), int(style["width"]) // 2
        top, bottom = image.getpixel((middle, 2)), image.getpixel((middle, image.height - 3))
        assert isinstance(top, tuple)
        assert isinstance(bottom, tuple)
        assert top[0] > bottom[0] + 100
        assert bottom[2] > top[2] + 100


async def test_data_appended_to_an_image_is_not_served(writer: Machine, http: httpx2.AsyncClient) -> None:
    payload = b"<script>alert(1)</script>PK\x03\x04"

    image = await upload(
        writer, encode_image(two_color_image(60, 40), "GIF") + payload, product_id=await new_product(writer)
    )

    assert image.status == 201
    for style in image["styles"]:
        assert b"script" not in (await http.get(style["url"])).content


@pytest.mark.parametrize("kind", ["text/html", "application/x-msdownload", "image/svg+xml"])
async def test_the_content_of_a_file_decides_and_not_its_name_or_content_type(
    writer: Machine, http: httpx2.AsyncClient, kind: str
) -> None:
    product_id = await new_product(writer)

    image = await upload(writer, png(60, 40), name="../../evil.html", kind=kind, product_id=product_id)
    page = await upload(writer, b"<html>", name="a.png", kind="image/png", product_id=product_id)

    assert (image.status, page.status) == (201, 422)
    assert (await http.get(image["original_url"])).headers["content-type"] == "image/webp"


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
INVALID_FILES: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"not a image",
    "svg": lambda: SVG,
    "bmp": lambda: encode_image(two_color_image(9, 9), "BMP"),
    "tiff": lambda: encode_image(two_color_image(9, 9), "TIFF"),
    "png header only": lambda: png(300, 200)[:40],
    "truncated png": lambda: png(300, 200)[:-40],
    "truncated jpeg": lambda: encode_image(two_color_image(300, 200), "JPEG")[:-300],
    "truncated webp": lambda: encode_image(two_color_image(300, 200), "WEBP")[:-40],
    "broken png": lambda: png(300, 200).replace(b"IDAT", b"IDAX"),
    "bomb": bomb,
    "text bomb": text_bomb,
    "41 megapixels": lambda: encode_image(Image.new("1", (41_000, 1001)), "PNG"),
    "larger than 20 MiB": lambda: png(9, 9) + b"\x00" * (20 * MIB),
}


@pytest.mark.parametrize("name", first(5, INVALID_FILES))
async def test_an_invalid_image_file_is_refused_and_stores_nothing(
    writer: Machine, db: Any, media: Path, name: str
) -> None:
    product_id = await new_product(writer)
    before, rows = files_in(media), await count_rows(db)
    data = INVALID_FILES[name]()
    start = perf_counter()

    answer = await upload(writer, data, product_id=product_id)

    assert (answer.status, set(answer.json["errors"])) == (422, {"attachment"}), answer
    assert (files_in(media), await count_rows(db)) == (before, rows)
    assert perf_counter() - start < 10


async def test_excess_compressed_data_in_a_png_does_not_slow_the_upload(writer: Machine) -> None:
    start = perf_counter()

    answer = await upload(writer, png_with_excess_data(), product_id=await new_product(writer))

    assert answer.status in {201, 422}
    assert perf_counter() - start < 10


async def test_a_file_of_50_mib_is_too_large(writer: Machine, db: Any, media: Path) -> None:
    product_id = await new_product(writer)
    before, rows = files_in(media), await count_rows(db)

    answer = await upload(writer, png(9, 9) + b"\x00" * 50 * MIB, product_id=product_id)

    assert (answer.status, answer.code) == (413, "too_large")
    assert (files_in(media), await count_rows(db)) == (before, rows)


async def test_invalid_fields_of_an_upload_are_refused_and_store_nothing(writer: Machine, db: Any, media: Path) -> None:
    product_id, other = await new_product(writer), await new_product(writer)
    variant_id = await new_variant(writer, other)
    before, rows = files_in(media), await count_rows(db)
    deleted_product = await new_product(writer)
    await writer.delete(f"/products/{deleted_product}")
    invalid = {
        "product_id": [
            {"product_id": str(uuid4())},
            {"product_id": deleted_product},
            {"product_id": "7"},
            {"alt": "of nothing"},
        ],
        "variant_id": [{"product_id": product_id, "variant_id": variant_id}, {"variant_id": str(uuid4())}],
        "position": [{"product_id": product_id, "position": "first"}],
        "alt": [{"product_id": product_id, "alt": "x" * 5001}],
    }

    for field, bodies in invalid.items():
        for body in bodies:
            answer = await upload(writer, png(9, 9), **body)
            assert (answer.status, set(answer.json["errors"])) == (422, {field}), body
    missing = await writer.ask("POST", "/images", files={"other": ("a.png", png(9, 9))}, data={"alt": "a"})
    assert (missing.status, set(missing.json["errors"])) == (422, {"attachment", "product_id"})
    assert (files_in(media), await count_rows(db)) == (before, rows)


async def test_only_uploads_accept_multipart_and_they_accept_nothing_else(writer: Machine) -> None:
    here = await writer.post("/images", {"image": {"product_id": str(uuid4())}})
    elsewhere = await writer.ask("POST", "/products", files={"product[name]": ("a", b"Lamp")})
    gzip_response = await writer.ask(
        "POST", "/images", headers={"Content-Encoding": "gzip"}, files={"attachment": ("a", b"")}
    )

    assert [answer.status for answer in (here, elsewhere, gzip_response)] == [415, 415, 415]
    assert "multipart/form-data" in here.json["error"]


BOUNDARY = "multipart/form-data; boundary=cut"
PART = b'--cut\r\nContent-Disposition: form-data; name="alt"\r\n\r\na\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", PART + b"--cut--\r\n"),
        ("multipart/form-data; boundary=" + "x" * 5000, PART + b"--cut--\r\n"),
        (BOUNDARY, b"nothing of the kind"),
        (BOUNDARY, PART),
        (BOUNDARY, PART[:-20]),
        (BOUNDARY, PART * 21 + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"form-data;", b"attachment;") + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"; name", b"; nome") + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"\r\na\r\n", b"\r\n\xff\r\n") + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"\r\na\r\n", b"\r\n\x00\r\n") + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"\r\na\r\n", b"\r\n" + b"a" * 70_000 + b"\r\n") + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b'"alt"', b'"alt[][]"') + b"--cut--\r\n"),
        (BOUNDARY, PART.replace(b"Content", b"X-A: " + b"b" * 50_000 + b"\r\nContent") + b"--cut--\r\n"),
    ],
    ids=range(13),
)
async def test_a_malformed_multipart_body_is_400(writer: Machine, kind: str, body: bytes) -> None:
    answer = await writer.ask("POST", "/images", headers={"Content-Type": kind}, content=body)

    assert (answer.status, answer.code) == (400, "malformed")


async def test_an_upload_without_write_access_is_refused_and_stores_nothing(
    reader: Machine, http: httpx2.AsyncClient, media: Path
) -> None:
    before = files_in(media)

    refusal = await upload(reader, b"\x00" * 10 * MIB, product_id=str(uuid4()))
    unknown = await http.post(f"{PREFIX}/images", files={"attachment": ("a.png", png(9, 9))})

    assert (refusal.status, refusal.code, unknown.status_code) == (403, "insufficient_scope", 401)
    assert files_in(media) == before


async def test_images_are_listed_updated_and_included_with_their_product(writer: Machine, db: Any) -> None:
    product_id = await new_product(writer)
    variant_id = await new_variant(writer, product_id)
    first, second = [(await upload(writer, png(60, 40), product_id=product_id)).id for _ in range(2)]
    third = await upload(writer, png(60, 40), variant_id=variant_id, position="0")

    response = await writer.patch(
        f"/images/{first}", {"image": {"alt": "Lit", "position": 9, "product_id": product_id}}
    )
    foreign = await writer.patch(f"/images/{first}", {"image": {"variant_id": str(uuid4())}})

    listing = await writer.get("/images", {"filter[product_id_eq]": product_id})
    product = await writer.get(f"/products/{product_id}", {"include": "images"})
    order = [third.id, second, first]
    assert (response.status, response["alt"], response["position"], foreign.status) == (200, "Lit", 9, 422)
    assert [item["id"] for item in listing.json["data"]] == order
    assert [item["id"] for item in product.json["data"]["relationships"]["images"]["data"]] == order
    assert {item["id"] for item in product.json["included"]} == set(order)
    assert third.json["data"]["relationships"]["variant"]["data"]["id"] == variant_id
    assert await db.fetchval("select image_ids::text[] from listings where product_id = $1", product_id) == order


async def test_deleting_an_image_deletes_its_files(
    writer: Machine, http: httpx2.AsyncClient, db: Any, media: Path
) -> None:
    product_id = await new_product(writer)
    image = await upload(writer, png(60, 40), product_id=product_id)
    assert (media / image.id).is_dir()

    response = await writer.delete(f"/images/{image.id}")

    assert (response.status, (await writer.delete(f"/images/{image.id}")).status) == (204, 404)
    assert (await writer.get(f"/images/{image.id}")).status == 404
    assert (await http.get(image["original_url"])).status_code == 404
    assert not (media / image.id).exists()
    assert await db.fetchval("select image_ids from listings where product_id = $1", product_id) == []
    events = await db.fetch("select action from audit_events where subject_id = $1 order by id", image.id)
    assert [row["action"] for row in events] == ["image_created", "image_deleted"]


async def test_a_repeated_idempotency_key_creates_one_image(writer: Machine, db: Any, media: Path) -> None:
    product_id, key = await new_product(writer), {"Idempotency-Key": uuid4().hex, "Content-Type": BOUNDARY}
    body = b'--cut\r\nContent-Disposition: form-data; name="attachment"; filename="a"\r\n\r\n' + png(60, 40)
    body += (
        PART.replace(b"--cut", b"\r\n--cut")
        .replace(b'"alt"', b'"product_id"')
        .replace(b"\r\na\r\n", f"\r\n{product_id}\r\n".encode())
    )
    body += b"--cut--\r\n"

    first, second = [await writer.ask("POST", "/images", headers=key, content=body) for _ in range(2)]

    assert (first.status, second.status, first.id) == (201, 201, second.id)
    rows = await db.fetch("select id::text from images where product_id = $1", product_id)
    assert [row["id"] for row in rows] == [first.id]
    assert await db.fetchval("select count(*) from loose_files") == 0


async def test_concurrent_uploads_get_distinct_positions(writer: Machine, db: Any, media: Path) -> None:
    product_id = await new_product(writer)

    answers = await asyncio.gather(*(upload(writer, png(400, 300), product_id=product_id) for _ in range(6)))

    assert [answer.status for answer in answers] == [201] * 6
    assert sorted(answer["position"] for answer in answers) == [1, 2, 3, 4, 5, 6]
    image_ids = await db.fetchval("select image_ids::text[] from listings where product_id = $1", product_id)
    assert sorted(image_ids) == sorted(answer.id for answer in answers)
    assert all((media / answer.id).is_dir() for answer in answers)


@pytest.mark.torture
async def test_other_requests_are_served_while_a_large_image_is_processed(
    writer: Machine, http: httpx2.AsyncClient, service: Service
) -> None:
    product_id = await new_product(writer)
    large = encode_image(Image.effect_noise((1000, 700), 90).resize((5000, 3500)).convert("RGB"), "JPEG", quality=80)
    waits = []
    async with service.client(timeout=120) as patient_http:
        machine = Machine(patient_http, {"access_token": writer.access_token, "refresh_token": ""})
        start = perf_counter()
        task = asyncio.create_task(upload(machine, large, product_id=product_id))
        while not task.done():
            request_start = perf_counter()
            assert (await http.get("/livez")).status_code == 200
            waits.append(perf_counter() - request_start)
        answer, seconds = await task, perf_counter() - start

    assert answer.status == 201
    assert seconds > 0.3, "the image is too small for this test"
    assert max(waits) < seconds / 2
