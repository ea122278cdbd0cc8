"""Image stores: both kinds keep the same contract, and a shop on S3 behaves like one on a disk."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from shop.actions.context import Shared
from shop.actions.operations.housekeeping import run_housekeeping
from shop.base.config.buckets import parse_bucket
from shop.base.config.settings import read_settings
from shop.base.crypto.keys import parse_keys
from shop.base.errors import Unavailable
from shop.base.ids import new_id
from shop.db.pool import open_database
from shop.gateways.media import BucketStore, DirectoryStore, MediaStore
from shop.models.setup.shop import Shop
from tests.cluster import Cluster
from tests.image_files import png
from tests.platform.client import Machine, new_machine
from tests.s3_server import SECRET, BucketServer, bucket_server
from tests.service import KEYS, Service

FILES = {"48.webp": b"small", "960.webp": bytes(range(256)) * 40_000}


@pytest.fixture
def bucket() -> Iterator[BucketServer]:
    with bucket_server() as server:
        yield server


@pytest.fixture(params=["directory", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path, bucket: BucketServer) -> MediaStore:
    return DirectoryStore(tmp_path / "media") if request.param == "directory" else BucketStore(parse_bucket(bucket.url))


async def test_saved_files_are_found_and_removed_ones_are_not(store: MediaStore) -> None:
    image_id, other_id = new_id(), new_id()
    await store.save(image_id, FILES)
    await store.save(other_id, {"48.webp": b"other"})

    contents = {name: await store.find(image_id, name) for name in FILES}
    missing = [await store.find(image_id, "160.webp"), await store.find(new_id(), "48.webp")]
    await store.remove(image_id)
    await store.remove(image_id)

    assert (contents, missing) == (FILES, [None, None])
    assert [await store.find(image_id, name) for name in FILES] == [None, None]
    assert await store.find(other_id, "48.webp") == b"other"


async def test_a_directory_has_all_files_of_an_image_or_none(tmp_path: Path) -> None:
    root, image_id = tmp_path / "media", new_id()
    store = DirectoryStore(root)

    with pytest.raises(Unavailable):
        await store.save(image_id, {"48.webp": b"a", "no/such/name.webp": b"b"})

    assert await store.find(image_id, "48.webp") is None
    await store.remove(image_id)
    assert list(root.iterdir()) == []


async def test_every_bucket_request_is_signed_without_credentials_of_the_environment(
    bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    image_id, store = new_id(), BucketStore(parse_bucket(bucket.url))

    await store.save(image_id, FILES)
    await store.find(image_id, "48.webp")

    assert set(bucket.objects) == {f"shop/media/{image_id}/{name}" for name in FILES}
    assert {kind for _, kind in bucket.objects.values()} == {"image/webp"}
    assert (bucket.refusals, len(bucket.request_headers)) == ([], 3)
    assert "from-the-environment" not in str(bucket.request_headers)
    assert SECRET not in str(bucket.request_headers)


async def test_a_wrong_secret_is_refused_and_not_shown(bucket: BucketServer) -> None:
    url = bucket.url.replace("secret", "wrong")

    with pytest.raises(Unavailable) as failure:
        await BucketStore(parse_bucket(url)).save(new_id(), FILES)

    assert set(bucket.refusals) == {"SignatureDoesNotMatch"}
    assert bucket.objects == {}
    assert "wrong" not in repr(failure.value) + failure.value.sentence


async def test_an_unreachable_bucket_is_unavailable(bucket: BucketServer) -> None:
    store = BucketStore(parse_bucket(bucket.url))
    bucket.is_away = True

    for call in (store.save(new_id(), FILES), store.find(new_id(), "48.webp"), store.remove(new_id())):
        with pytest.raises(Unavailable):
            await call


@pytest.mark.parametrize(
    "text",
    [
        "s3://host/bucket",
        "s3://KEY@host/bucket",
        "s3://KEY:hidden@host",
        "s3://KEY:hidden@host/",
        "s3://KEY:hidden@host/UPPER",
        "s3://KEY:hidden@host:99999/bucket",
        "s3://KEY:hidden@host/bucket/../other",
        "s3://KEY:hidden@host/bucket?tls=no",
        "s3://KEY:hidden@host/bucket?regions=a",
        "s3://KEY:hidden@host/bucket?region=A%20B",
        "s3://KEY:hidden@[::1/bucket",
        "s3://KEY:hidden@/bucket",
        "https://KEY:hidden@host/bucket",
        "hidden",
    ],
)
def test_an_invalid_url_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match="give s3://KEY:SECRET@") as failure:
        parse_bucket(text)

    assert "hidden" not in str(failure.value)


def test_a_url_is_parsed_and_its_secret_is_not_shown() -> None:
    bucket = parse_bucket("s3://K%2FY:a%2Fb%40c@store.example/pictures/a/b/?region=eu-1")
    plain = parse_bucket("s3://k:s@[::1]:9000/pictures?tls=0")

    assert (bucket.endpoint, bucket.name, bucket.prefix, bucket.region) == (
        "https://store.example",
        "pictures",
        "a/b",
        "eu-1",
    )
    assert (bucket.key_id, bucket.secret) == ("K/Y", "a/b@c")
    assert (plain.endpoint, plain.prefix, plain.region) == ("http://[::1]:9000", "", "us-east-1")
    assert "a/b@c" not in f"{bucket} {bucket!r}"


class S3Shop:
    """A shop on S3, and an application that writes to it."""

    def __init__(
        self, service: Service, database_url: str, machine: Machine, db: Any, bucket: BucketServer, data_dir: Path
    ) -> None:
        self.service = service
        self.database_url = database_url
        self.machine = machine
        self.db = db
        self.bucket = bucket
        self.data_dir = data_dir

    async def upload(self, product_id: str) -> Any:
        files = {"attachment": ("a.png", png(600, 400))}
        return await self.machine.ask("POST", "/images", files=files, data={"product_id": product_id})

    async def count_rows(self) -> tuple[int, int]:
        row = await self.db.fetchrow("select (select count(*) from images), (select count(*) from loose_files)")
        return row[0], row[1]


@pytest.fixture(scope="module")
async def s3_shop(
    cluster: Cluster, worker_name: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[S3Shop]:
    """One shop for all tests; the last test stops it."""
    data_dir = tmp_path_factory.mktemp("data")
    with bucket_server() as server, cluster.database(f"media_{worker_name}") as url:
        service = Service(
            SHOP_DATA_DIR=str(data_dir),
            SHOP_DATABASE_URL=url,
            SHOP_SECRET_KEYS=KEYS,
            SHOP_MAILBOX="on",
            SHOP_DRAIN_SECONDS="0",
            SHOP_MEDIA_URL=server.url,
        )
        connection = await asyncpg.connect(url)
        async with service.client() as client:
            machine = await new_machine(client, connection)
            yield S3Shop(service, url, machine, connection, server, data_dir)
        await connection.close()
        service.kill()


@pytest.fixture
async def shop(s3_shop: S3Shop) -> S3Shop:
    """The shop without images."""
    await s3_shop.db.execute("delete from images; delete from loose_files")
    s3_shop.bucket.objects.clear()
    s3_shop.bucket.put_requested.clear()
    return s3_shop


@pytest.mark.torture
async def test_a_failed_upload_to_s3_saves_nothing(shop: S3Shop) -> None:
    bucket = shop.bucket
    product = await shop.machine.post("/products", {"product": {"name": f"Lamp {uuid4().hex}"}})
    image = await shop.upload(product.id)
    response = await shop.machine.http.get(image["styles"][0]["url"])

    bucket.is_away = True
    failed_upload = await shop.upload(product.id)
    failed_download = await shop.machine.http.get(image["styles"][0]["url"])
    bucket.is_away, bucket.fails_after = False, 2
    partial_upload = await shop.upload(product.id)
    bucket.fails_after = None

    assert (image.status, response.status_code, len(bucket.objects)) == (201, 200, 4)
    assert (failed_upload.status, failed_upload.code, failed_upload.headers["retry-after"]) == (
        503,
        "temporarily_unavailable",
        "5",
    )
    assert (failed_download.status_code, partial_upload.status) == (503, 503)
    # Files written before the failure are removed; files that could not be removed are listed in loose_files.
    assert {key.split("/")[2] for key in bucket.objects} == {image.id}
    assert await shop.count_rows() == (1, 1)
    assert not (shop.data_dir / "media").exists()
    assert not any(SECRET in line or "very" in line for line in shop.service.lines)

    deletion = await shop.machine.delete(f"/images/{image.id}")
    assert (deletion.status, bucket.objects) == (204, {})


@pytest.mark.torture
async def test_if_the_row_cannot_be_saved_the_files_are_removed(shop: S3Shop) -> None:
    bucket = shop.bucket
    product = await shop.machine.post("/products", {"product": {"name": f"Lamp {uuid4().hex}"}})
    bucket.may_put.clear()
    upload = asyncio.create_task(shop.upload(product.id))
    await asyncio.to_thread(bucket.put_requested.wait, 20)

    await shop.machine.delete(f"/products/{product.id}")
    bucket.may_put.set()
    response = await upload

    assert (response.status, set(response.json["errors"])) == (422, {"product_id"})
    assert (bucket.objects, await shop.count_rows()) == ({}, (0, 0))


@pytest.mark.torture
async def test_if_the_outcome_of_the_row_is_unknown_the_files_remain_listed_as_loose(shop: S3Shop) -> None:
    product = await shop.machine.post("/products", {"product": {"name": f"Lamp {uuid4().hex}"}})
    holder = await asyncpg.connect(shop.database_url)
    async with holder.transaction():
        await holder.execute("lock table images in share mode")
        response = await shop.upload(product.id)
    await holder.close()

    assert (response.status, len(shop.bucket.objects), await shop.count_rows()) == (503, 4, (0, 1))


@pytest.mark.torture
async def test_files_of_an_image_deleted_during_an_outage_are_removed_later(shop: S3Shop) -> None:
    bucket = shop.bucket
    product = await shop.machine.post("/products", {"product": {"name": f"Lamp {uuid4().hex}"}})
    image = await shop.upload(product.id)
    bucket.is_away = True
    deletion = await shop.machine.delete(f"/images/{image.id}")
    objects_left = dict(bucket.objects)
    bucket.is_away = False
    # The worker of the shop would also remove the files.
    shop.service.stop()
    await shop.db.execute("update loose_files set created_at = created_at - interval '2 hours'")

    settings = read_settings({"SHOP_MEDIA_URL": bucket.url, "SHOP_DATA_DIR": str(shop.data_dir)})
    database = open_database(shop.database_url, size=1)
    report = await run_housekeeping(
        Shared(database, parse_keys(KEYS), Shop(currencies=["USD"]), settings, asyncio.Event())
    )
    await database.close()

    assert report.removed["loose pictures"] == 1
    assert (deletion.status, len(objects_left), bucket.objects) == (204, 4, {})
    assert await shop.count_rows() == (0, 0)
