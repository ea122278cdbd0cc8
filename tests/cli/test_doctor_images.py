"""`shop doctor` checks the image store."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command
from tests.s3_server import KEY_ID, SECRET, bucket_server
from tests.service import KEYS


@pytest.mark.torture
def test_the_doctor_reports_whether_the_image_store_is_reachable(
    shop: Command, own_database: Any, tmp_path: Path
) -> None:
    environ = {"SHOP_DATA_DIR": str(tmp_path), "SHOP_DATABASE_URL": own_database(), "SHOP_SECRET_KEYS": KEYS}

    with bucket_server() as bucket:
        right = shop("doctor", **environ, SHOP_MAILBOX="on", SHOP_MEDIA_URL=bucket.url)
        wrong = shop("doctor", **environ, SHOP_MAILBOX="on", SHOP_MEDIA_URL=bucket.url.replace("secret", "wrong"))
        malformed = shop("doctor", **environ, SHOP_MAILBOX="on", SHOP_MEDIA_URL=bucket.url.replace("tls=0", "tls=x"))

    assert (right.returncode, "ok    images: in pictures at http://127.0.0.1:" in right.stdout) == (0, True)
    assert (wrong.returncode, "FAIL  images: pictures at http://127.0.0.1:" in wrong.stdout) == (1, True)
    assert (malformed.returncode, "SHOP_MEDIA_URL cannot be read" in malformed.stderr) == (1, True)
    for result in (right, wrong, malformed):
        assert not any(word in result.stdout + result.stderr for word in (SECRET, "+secret", "+wrong", KEY_ID))
